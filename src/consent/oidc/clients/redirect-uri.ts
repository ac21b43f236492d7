import { parsedUrl } from '../../../base/text/foreign-url.js'

/** Schemes of apps are reversed domain names (RFC 8252 section 7.1). Browsers use most schemes without a dot themselves. */
const PRIVATE_USE = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/

const EDITORS: readonly string[] = [
  ...['cursor:', 'kiro:', 'trae:', 'vscode:', 'vscode-insiders:', 'vscodium:', 'windsurf:', 'zed:'],
]

const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|(?:[a-z0-9-]+\.)*localhost))(?::\d{1,5})?(?=[/?]|$)/

/** Whether a client can register a URI: https, http on this computer, or its own scheme, without fragment, user, wildcard or dot segment. */
export function isRedirectUri(uri: string): boolean {
  const url = /^[\x21-\x7e]{1,2048}$/.test(uri) && !uri.includes('#') ? parsedUrl(uri) : undefined
  if (!url) return false
  const { protocol, username, password } = url
  if (username || password || /[\\"<>`{}^|*]/.test(uri) || changesPath(uri)) return false
  if (protocol === 'https:') return /^https:\/\/[^/?]/.test(uri)
  return protocol === 'http:' ? LOOPBACK.test(uri) : PRIVATE_USE.test(protocol) || EDITORS.includes(protocol)
}

function changesPath(uri: string): boolean {
  const [path = ''] = uri.replace(/^[^:]*:(\/\/[^/?]*)?/, '').split('?')
  return /(^|\/)(\.|%2e){1,2}(;|\/|$)/i.test(path) || /%(2f|5c|00)/i.test(path)
}

/** Compares every character. Only an app on this computer may use any port (RFC 8252 section 7.3). */
export const sameRedirectUri = (registered: string, asked: string): boolean =>
  registered === asked ||
  (LOOPBACK.test(registered) &&
    LOOPBACK.test(asked) &&
    parsedUrl(asked) !== undefined &&
    withoutPort(registered) === withoutPort(asked))

const withoutPort = (uri: string): string => uri.replace(LOOPBACK, '$1')

/** Adds parameters to the query of a URI. Skips undefined values. */
export function withParameters(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const added = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) added.append(name, value)
  const text = added.toString()
  if (text === '') return uri
  return `${uri}${uri.includes('?') ? (/[?&]$/.test(uri) ? '' : '&') : '?'}${text}`
}

/** The target of a redirect in text for people: a host, this computer, or an app's scheme. */
export function redirectOrigin(uri: string): string {
  if (LOOPBACK.test(uri)) return 'this computer'
  const { protocol, host } = new URL(uri)
  return protocol === 'https:' ? host : `an app on this device (${protocol.slice(0, -1)})`
}
