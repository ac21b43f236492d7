import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import type { VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { Problem } from '../../base/problem.js'
import { revealInvisible } from '../../base/text/invisible-characters.js'
import { type Refusal, type Reply, reply } from '../reply.js'
import { coinIcon } from './coin.js'

/** A style sheet or script that stands in a page, and the hash by which the page's policy lets it. */
export interface Inline {
  readonly text: string
  readonly source: string
}

export const inline = (text: string): Inline => ({
  text,
  source: `'sha256-${btoa(String.fromCharCode(...sha256(utf8ToBytes(text))))}'`,
})

export interface HtmlPage {
  readonly title: string
  readonly body: VNode
  readonly styles: readonly Inline[]
  /** Modules of the page's own origin, run in this order before `script`. */
  readonly modules?: readonly string[]
  /** Run as a module, once the page is read. */
  readonly script?: Inline
  /** Sets the page's colours; where absent they are those that the reader prefers. */
  readonly theme?: 'light' | 'dark' | undefined
  readonly status?: number
  /** Directives of the Content-Security-Policy beside the strict default. */
  readonly policy?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** The session that the reader goes on with; null signs them out. */
  readonly session?: string | null
  /** Whether its forms send `Origin`, without which the service takes no cookie. Browsers send none with `no-referrer`. */
  readonly formsNameOrigin?: boolean
}

/** A whole HTML document. Text in it is escaped; it runs and loads only what it names itself. */
export function page(given: HtmlPage): Reply {
  const { title, body, styles, modules = [], script, theme, formsNameOrigin = false } = given
  const { status, session, policy, headers } = given
  const scripts = [...(modules.length > 0 ? ["'self'"] : []), ...(script ? [script.source] : [])]
  // Earlier versions took names with such characters: nobody's text hides or turns around a part of a page.
  const shown = revealInvisible(renderToString(body))
  const document = (
    <html lang="en" data-theme={theme}>
      <head>
        <meta charset="utf-8" />
        <title>{revealInvisible(title)}</title>
        {formsNameOrigin && <meta name="referrer" content="strict-origin" />}
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <link rel="icon" href={coinIcon} />
        {styles.map(({ text }) => (
          <style dangerouslySetInnerHTML={{ __html: text }} />
        ))}
        {modules.map((src) => (
          <script type="module" crossorigin="anonymous" src={src} />
        ))}
        {script && <script type="module" dangerouslySetInnerHTML={{ __html: script.text }} />}
      </head>
      <body dangerouslySetInnerHTML={{ __html: shown }} />
    </html>
  )
  return reply({
    ...(status !== undefined && { status }),
    ...(session !== undefined && { session }),
    headers: {
      'content-type': 'text/html; charset=utf-8',
      // An address may hold a token.
      'referrer-policy': 'no-referrer',
      'content-security-policy': policyText({
        'default-src': "'none'",
        'base-uri': "'none'",
        'form-action': "'none'",
        'frame-ancestors': "'none'",
        'img-src': 'data:',
        'style-src': styles.map(({ source }) => source).join(' ') || "'none'",
        ...(scripts.length > 0 && { 'script-src': scripts.join(' ') }),
        ...policy,
      }),
      ...headers,
    },
    body: `<!doctype html>\n${renderToString(document)}`,
  })
}

const policyText = (directives: Record<string, string>): string =>
  Object.entries(directives)
    .map(([name, value]) => `${name} ${value}`)
    .join('; ')

/** Programs that ask for JSON get a refusal as every other; everybody else gets a page. */
export function wantsJson(headers: Pick<Headers, 'get'>): boolean {
  const accept = headers.get('accept') ?? ''
  return accept.includes('application/json') && !accept.includes('text/html')
}

/** True of browsers that open an address: they ask for HTML by name. */
export const wantsPage = (headers: Pick<Headers, 'get'>): boolean =>
  headers.get('accept')?.includes('text/html') ?? false

/** People are refused with a page, programs as everywhere. */
export const refusedBy = (show: (refused: Problem) => Reply): Refusal =>
  Object.assign(
    (...[refused, headers, service]: Parameters<Refusal>): Reply<object> =>
      wantsPage(headers) ? show(refused) : reply({ value: refused.bodyAt(service) }),
    { isPage: true },
  )
