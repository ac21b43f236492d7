import type { ComponentChildren } from 'preact'
import { demo } from '../seed/demo.js'

/** Shown instead of the shop. */
export const Notice = ({ title, text, children }: { title: string; text: string; children?: ComponentChildren }) => (
  <main class="notice">
    <p class="name">{demo.account.name}</p>
    <h1>{title}</h1>
    <p role="status">{text}</p>
    {children}
  </main>
)
