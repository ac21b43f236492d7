import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { isLoopbackAddress, isLoopbackHost, isLoopbackOrigin } from '../../src/base/loopback.js'
import { messageOf } from '../../src/storage/unknown.js'
import type { Destination } from './forwarding.js'

/** What a proxy says itself. `error`: a name of RFC 9209, section 2.3. */
export interface OwnAnswer {
  readonly status: 400 | 403 | 502 | 504
  readonly error: string
  readonly sentence: string
}

/** No service answers so: it is plain text that names its author, and `Proxy-Status` says what went wrong. */
const headersOf = ({ error }: OwnAnswer) => ({
  'content-type': 'text/plain; charset=utf-8',
  'proxy-status': `farthing; error=${error}`,
  connection: 'close',
})

const textOf = ({ sentence }: OwnAnswer): string => `farthing proxy: ${sentence}\n`

export function answerOwn(response: ServerResponse, own: OwnAnswer): void {
  response.writeHead(own.status, headersOf(own))
  response.end(textOf(own))
}

/** Answers what Node could not read as a request. Nothing of it was sent on. */
export function answerUnreadable(socket: Duplex): void {
  if (!socket.writable) return
  const own = { status: 400, error: 'http_request_error', sentence: 'This is no request of HTTP/1.1.' } as const
  const headers = Object.entries(headersOf(own)).map((header) => header.join(': '))
  socket.end(['HTTP/1.1 400 Bad Request', ...headers, '', textOf(own)].join('\r\n'))
}

/** A service that was silent for so long. */
export class ServiceSilent extends Error {
  constructor(readonly ms: number) {
    super(`silent for ${ms / 1000} seconds`)
  }
}

/** The connection ended without an answer. */
export class ServiceClosed extends Error {}

/** An answer that ended before its end. */
export class AnswerBroken extends Error {}

interface Reason {
  readonly error: string
  sentence(host: string, said: string): string
}

const closed: Reason = {
  error: 'connection_terminated',
  sentence: (host) => `${host} closed the connection before it had answered.`,
}
const noName: Reason = { error: 'dns_error', sentence: (host) => `No address is known for ${host}.` }
const notReached: Reason = { error: 'destination_ip_unroutable', sentence: (host) => `${host} cannot be reached.` }
const noTls: Reason = {
  error: 'tls_protocol_error',
  sentence: (host) => `${host} does not speak TLS as this proxy does. Is it at http://?`,
}

const reasons: Readonly<Record<string, Reason>> = {
  ECONNREFUSED: { error: 'connection_refused', sentence: (host) => `Nothing listens at ${host}.` },
  ...{ ECONNRESET: closed, EPIPE: closed, ENOTFOUND: noName, EAI_AGAIN: noName },
  ...{ EHOSTUNREACH: notReached, ENETUNREACH: notReached, EADDRNOTAVAIL: notReached },
  ETIMEDOUT: { error: 'connection_timeout', sentence: (host) => `${host} cannot be reached in time.` },
  EPROTO: {
    error: 'tls_protocol_error',
    sentence: (host) => `${host} does not speak TLS. Does it begin with http://?`,
  },
}

const ofCertificate = (advice: string): Reason => ({
  error: 'tls_certificate_error',
  sentence: (host, said) => `The certificate of ${host} is not trusted: ${said}.${advice}`,
})
const untrusted = ofCertificate(' To trust the authority that signed it, set NODE_EXTRA_CA_CERTS.')
const invalid = ofCertificate('')

const unread: Reason = {
  error: 'http_protocol_error',
  sentence: (host) => `${host} answers with something that is not HTTP/1.1.`,
}
const other: Reason = { error: 'proxy_internal_error', sentence: (host, said) => `${host} did not answer: ${said}.` }

/** Codes of OpenSSL and Node for certificates, such as `DEPTH_ZERO_SELF_SIGNED_CERT`. */
const OF_CERTIFICATE = /CERT|SIGNATURE|ISSUER|CRL|_CA$|ALTNAME/

/** What to say when a service has not answered, or not to the end. It quotes nothing of a message. */
export function whyNoAnswer(error: unknown, { host }: Destination): OwnAnswer {
  if (error instanceof ServiceSilent) {
    const sentence = `${host} has not answered: it was ${error.message}.`
    return { status: 504, error: 'http_response_timeout', sentence }
  }
  if (error instanceof AnswerBroken)
    return { status: 502, error: 'http_response_incomplete', sentence: `The answer of ${host} broke off.` }
  const reason = reasonOf(error)
  return { status: 502, error: reason.error, sentence: reason.sentence(host, messageOf(error).replace(/\.$/, '')) }
}

function reasonOf(error: unknown): Reason {
  if (error instanceof ServiceClosed) return closed
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (Object.hasOwn(reasons, code)) return reasons[code] ?? other
  if (code.startsWith('HPE_')) return unread
  if (code.startsWith('ERR_SSL_')) return noTls
  if (/SELF_SIGNED|UNABLE_TO/.test(code)) return untrusted
  return OF_CERTIFICATE.test(code) ? invalid : other
}

/** `.` or `..` as a part of a path, in each spelling that a service may read so. */
const DOTS = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:[/\\;#]|%2f|%5c|$)/i

/**
 * Why a request is not passed on. A service gets plain paths below its address only. Programs may call the proxy, and pages
 * of this machine; pages of others may not, nor by a name that leads here (DNS rebinding). `listensAt`: the proxy's address.
 */
export function whyRefused({ url = '', headers }: IncomingMessage, listensAt: string): OwnAnswer | undefined {
  const sentence = pathFault(url) ?? hostFault(nameOf(headers.host), listensAt) ?? pageFault(headers)
  return sentence === undefined ? undefined : { status: 403, error: 'http_request_denied', sentence }
}

const pathFault = (url: string): string | undefined =>
  url.startsWith('/') && !DOTS.test(url.replace(/\?.*/s, ''))
    ? undefined
    : 'It speaks to one service. Send it a plain path.'

const nameOf = (host = ''): string => host.replace(/:\d+$/, '')

/** Beyond this machine, a name without a dot is one of a local network, such as that of a container. */
function hostFault(name: string, listensAt: string): string | undefined {
  if (isLoopbackHost(name)) return undefined
  if (isLoopbackAddress(listensAt)) return 'It serves this machine only.'
  const isLocal = isIP(name.replace(/^\[|\]$/g, '')) !== 0 || /^[\w-]+$/.test(name) || name.endsWith('.internal')
  return isLocal ? undefined : `It is not known by the name of this Host. Use its address.`
}

function pageFault({ host, origin, 'sec-fetch-site': site }: IncomingMessage['headers']): string | undefined {
  const isOwn =
    origin === undefined ? site !== 'cross-site' : isLoopbackOrigin(origin) || hostOf(origin) === nameOf(host)
  return isOwn ? undefined : 'It serves no pages of other origins.'
}

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).hostname : undefined)
