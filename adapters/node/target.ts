import type { IncomingMessage } from 'node:http'
import { Problem } from '../../src/core.js'

/** The longest that a name can be, with a port. */
const HOST_LENGTH = 261

/** That of the request before, which most requests repeat. */
let checked = ''

/** Whether a `Host` is one host, with a port or without: two headers of that name arrive joined by a comma, which no host holds. */
function isHost(text: string): boolean {
  if (text === checked) return true
  const isOne = text.length <= HOST_LENGTH && /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.test(text)
  if (!isOne || !URL.canParse(`http://${text}/`)) return false
  checked = text
  return true
}

/** Throws `header_malformed` where the `Host` is not one host. A caller of HTTP/1.0 may send none. */
export function checkHost({ headers: { host = '' } }: IncomingMessage): void {
  if (host === '' || isHost(host)) return
  throw new Problem('header_malformed', { detail: 'Send one Host header: a host name, with or without a port.' })
}

/**
 * The address that a request asks for. Its authority is the target's where that is a whole URL, else the `Host`, else the
 * connection's own (RFC 9112 section 3.3). Throws `target_malformed`.
 */
export function addressOf({ headers, socket, url: target = '' }: IncomingMessage): string {
  const { host = '' } = headers
  if (target.startsWith('/')) return normalized(`http://${host === '' ? ownHost(socket) : host}${target}`)
  const url = URL.canParse(target) ? new URL(target) : undefined
  if (url?.protocol !== 'http:' || !/^http:\/\//i.test(target) || url.username !== '' || url.password !== '')
    throw new Problem('target_malformed')
  return url.href
}

function ownHost({ localAddress, localPort }: IncomingMessage['socket']): string {
  return `${localAddress?.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`
}

/** The one spelling of an address that browsers and `fetch` have too, where a target has backslashes or dots for steps. */
const normalized = (address: string): string => (/[\\#]|\/\.|%2e/i.test(address) ? new URL(address).href : address)
