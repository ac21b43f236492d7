import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { MOST_BODY } from './fields.js'
import { AnswerBroken, ServiceClosed, ServiceSilent } from './own-answers.js'

/** Headers of one connection (RFC 9110, section 7.6.1). `expect` was answered. */
const ofConnection = [
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect'],
]

/** The headers that are passed on, in their order and spelling: name, value, name, value. */
export function passedHeaders({ rawHeaders, headers }: IncomingMessage, own: readonly string[] = []): string[] {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase())
  const dropped = new Set([...ofConnection, ...named, ...own])
  const passed: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    if (!dropped.has(name.toLowerCase())) passed.push(name, value)
  }
  return passed
}

/** The beginning of a body. `isWhole`: there is no more. */
export interface BodyHead {
  readonly bytes: Buffer
  readonly isWhole: boolean
}

/** Reads a body as far as it is looked at. The rest stays in its stream. Throws `AnswerBroken` if the body breaks off. */
export function readHead(stream: IncomingMessage, limit = MOST_BODY): Promise<BodyHead> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const end = (isWhole: boolean) => {
      stream.off('data', take).off('end', finish).off('close', breakOff).pause()
      resolve({ bytes: Buffer.concat(chunks), isWhole })
    }
    const take = (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (length > limit) end(false)
    }
    const finish = () => end(true)
    const breakOff = () => reject(new AnswerBroken('the body broke off'))
    stream.on('data', take).once('end', finish).once('close', breakOff)
  })
}

/** Lets the rest of a body pass, unread. */
export async function drain(stream: IncomingMessage): Promise<void> {
  if (stream.readableEnded || stream.destroyed) return
  stream.resume()
  await Promise.race([once(stream, 'end'), once(stream, 'close')]).catch(() => {})
}

/** Where a proxy sends everything, and nothing elsewhere. */
export interface Destination {
  readonly protocol: 'http:' | 'https:'
  readonly hostname: string
  readonly port: string
  readonly host: string
  /** Without a slash at its end. */
  readonly base: string
}

interface Forwarded {
  readonly request: IncomingMessage
  readonly path: string
  /** What of the body was read. */
  readonly head: BodyHead
  /** How long the service may be silent before it answers. */
  readonly silentMs: number
  /** Ends it. */
  readonly signal: AbortSignal
}

/** As long as headers may be, in bytes. Signed payments make them long. */
export const MOST_HEADERS = 256 * 1024

/** Sends a request on, and resolves with its answer. Throws `ServiceSilent` or `ServiceClosed`. */
export function forward(
  { protocol, hostname, port, host, base }: Destination,
  { request, path, head, silentMs, signal }: Forwarded,
): Promise<IncomingMessage> {
  const { method = 'GET' } = request
  const send = protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = send({
      ...{ hostname: hostname.replace(/^\[|\]$/g, ''), port, method, path: base + path, agent: false, signal },
      ...{ timeout: silentMs, maxHeaderSize: MOST_HEADERS, insecureHTTPParser: false },
      headers: [
        ...passedHeaders(request, ['host', 'content-length']),
        ...framing(request, head),
        'host',
        host,
      ] as never,
    })
    sent.once('timeout', () => sent.destroy(new ServiceSilent(silentMs)))
    // Of an answer that switches protocols, nothing else tells.
    sent.once('close', () => reject(new ServiceClosed()))
    // After an answer, an error only means that the service did not want the rest. An answer that breaks off says so itself.
    sent.on('error', reject).once('response', (answer) => {
      sent.setTimeout(0)
      resolve(answer)
    })
    if (head.isWhole) sent.end(head.bytes)
    else {
      sent.write(head.bytes)
      request.once('close', () => {
        if (!request.readableEnded) sent.destroy(new Error('the request broke off'))
      })
      sent.once('close', () => void request.unpipe(sent).resume())
      request.pipe(sent)
    }
  })
}

/** How the service finds the end of the body. Always said, so that no part of a body is read as another request. */
function framing({ method = 'GET', headers }: IncomingMessage, { bytes, isWhole }: BodyHead): string[] {
  const length = headers['transfer-encoding'] === undefined ? headers['content-length'] : undefined
  if (!isWhole) return length === undefined ? ['transfer-encoding', 'chunked'] : ['content-length', length]
  const isEmpty = bytes.length === 0 && length === undefined && /^(?:GET|HEAD|DELETE|OPTIONS|TRACE)$/.test(method)
  return isEmpty ? [] : ['content-length', String(bytes.length)]
}
