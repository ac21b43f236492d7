import type { ComponentChildren } from 'preact'
import { cardStyle } from '../../../http/pages/card-style.js'
import { formStyle } from '../../../http/pages/form-style.js'
import { page } from '../../../http/pages/html.js'
import type { Reply } from '../../../http/reply.js'
import { pageStyle } from './page-style.js'

/** Addresses hold what is nobody else's business. */
const headers = { 'referrer-policy': 'same-origin' }

/**
 * Forms lead back here, and on to wherever the client is: an answer redirects there, perhaps to be redirected again.
 * `scheme` is that of a client's private-use address.
 */
const formPolicy = (scheme?: string) => `'self' https: http:${scheme === undefined ? '' : ` ${scheme}`}`

export interface PageParts {
  readonly title: string
  readonly body: ComponentChildren
  readonly status?: number | undefined
  readonly scheme?: string | undefined
  /** Seconds after which the page is asked for again. */
  readonly refresh?: number
}

export const show = ({ title, body, status, scheme, refresh }: PageParts): Reply =>
  page({
    title,
    body: <main>{body}</main>,
    styles: [cardStyle, formStyle, pageStyle],
    ...(status !== undefined && { status }),
    headers: { ...headers, ...(refresh !== undefined && { refresh: String(refresh) }) },
    policy: { 'form-action': formPolicy(scheme) },
  })

/** Leads to an address that a client registered. Anybody can register a client, so the link names the place. */
export const Onward = ({ location, place }: { location: string; place: string }) => (
  <p class="onward">
    <a href={location} rel="noreferrer">
      Continue to {place}
    </a>
  </p>
)
