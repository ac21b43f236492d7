import type { ComponentChildren } from 'preact'
import type { Problem } from '../../base/problem.js'
import type { Reply } from '../reply.js'
import { cardStyle, formStyle } from './card-style.js'
import { page } from './html.js'
import { Coin } from './parts.js'

/** For forms whose answers redirect to any other site. */
export const ANY_SITE = ['https:', 'http:'] as const

/** What stands on a page of forms, from top to bottom. */
export interface FormPage {
  readonly title: string
  readonly kicker?: ComponentChildren
  readonly heading?: ComponentChildren
  /** What the page is about, between the heading and the alert. */
  readonly about?: ComponentChildren
  readonly alert?: string | null | undefined
  readonly body?: ComponentChildren
  /** The colour of the heading: of something that is done, or that was rejected. */
  readonly tone?: 'good' | 'bad' | undefined
  /** Schemes of other sites that a form may lead to: `https:`. */
  readonly leadsTo?: readonly string[] | undefined
  /** Seconds after which the browser asks for the page again. */
  readonly refresh?: number | undefined
  /** HTTP's; 200, or that of what was refused, where absent. */
  readonly status?: number | undefined
}

interface FormReply extends FormPage {
  /** Why the last answer, or the page itself, was refused. */
  readonly refused?: Problem | undefined
  /** The session that the reader goes on with; null signs them out. */
  readonly session?: string | null | undefined
}

/** A page of forms: one card. Its address may hold a secret, so no other site learns it, and no frame shows it. */
export const formPage = ({ title, heading, refused, status = refused?.status, session, ...parts }: FormReply): Reply =>
  page({
    title,
    body: (
      <main class={parts.tone}>
        <Coin />
        {parts.kicker && (
          <p class="kicker" dir="auto">
            {parts.kicker}
          </p>
        )}
        <h1 dir="auto">{heading ?? title}</h1>
        {parts.about}
        {parts.alert && (
          <p role="alert" id="alert">
            {parts.alert}
          </p>
        )}
        {parts.body}
      </main>
    ),
    styles: [cardStyle, formStyle],
    ...(status !== undefined && { status }),
    ...(session !== undefined && { session }),
    headers: {
      ...refused?.headers,
      ...(parts.refresh !== undefined && { refresh: String(parts.refresh) }),
    },
    formsNameOrigin: true,
    policy: { 'form-action': ["'self'", ...(parts.leadsTo ?? [])].join(' ') },
  })
