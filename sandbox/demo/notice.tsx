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

/** Shown once a newer version of the page has changed the stored state. */
export const Outdated = ({ why }: { why: string }) => (
  <Notice title="A newer version of this shop is open" text={`Reload this page to go on. Nothing is lost. ${why}`}>
    <p class="acts">
      <button type="button" onClick={() => location.reload()}>
        Reload
      </button>
    </p>
  </Notice>
)
