import type { ComponentChildren } from 'preact'
import type { Problem } from '../../base/problem.js'
import type { Reply } from '../reply.js'
import { cardStyle } from './card-style.js'
import { formStyle } from './form-style.js'
import { type Inline, page } from './html.js'

export interface CardPage {
  readonly title: string
  readonly body: ComponentChildren
  /** Beside those of cards and forms. */
  readonly style: Inline
  /** Why the last answer was not taken. */
  readonly refused?: Problem | undefined
  /** Whether it tells of something that is done. */
  readonly done?: boolean | undefined
  /** Whether a form may lead to another site. */
  readonly leaves?: boolean | undefined
  /** Seconds after which the page is asked for again. */
  readonly refresh?: number | undefined
}

/** A page of forms at an address that is nobody else's business: it is told to no other site, and kept out of frames. */
export const cardPage = ({ title, body, style, refused, done, leaves, refresh }: CardPage): Reply =>
  page({
    title,
    body: <main class={done ? 'done' : undefined}>{body}</main>,
    styles: [cardStyle, formStyle, style],
    ...(refused && { status: refused.status }),
    headers: {
      'referrer-policy': 'same-origin',
      ...refused?.headers,
      ...(refresh !== undefined && { refresh: String(refresh) }),
    },
    policy: { 'form-action': leaves ? "'self' https: http:" : "'self'" },
  })
