import type { IncomingMessage } from 'node:http'
import { Problem } from '../../src/core.js'

/** The longest host name with a port, in characters. */
const HOST_LENGTH = 261

/** The last valid `Host`. Most requests send the same one again. */
let checked = ''

/** Whether a `Host` is one host, with or without a port. Node joins two headers with a comma, which no host contains. */
function isHost(text: string): boolean {
  if (text === checked) return true
  const isOne = text.length <= HOST_LENGTH && /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i.test(text)
  if (!isOne || !URL.canParse(`http://${text}/`)) return false
  checked = text
  return true
}

/** Throws `header_malformed` if the `Host` is not one host. A caller that uses HTTP/1.0 may leave it out. */
export function checkHost({ headers: { host = '' } }: IncomingMessage): void {
  if (host === '' || isHost(host)) return
  throw new Problem('header_malformed', { detail: 'Send one Host header: a host name, with or without a port.' })
}

/**
 * Returns the URL of a request. Its authority comes from the target if that is a whole URL, else from the `Host`, else from
 * the connection (RFC 9112, section 3.3). Throws `target_malformed`.
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

/** Spells an address as browsers and `fetch` do: they resolve backslashes and dot segments. */
const normalized = (address: string): string => (/[\\#]|\/\.|%2e/i.test(address) ? new URL(address).href : address)
