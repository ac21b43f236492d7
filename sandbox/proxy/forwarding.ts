import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Fault } from '../../src/sandbox/onion/fault.js'
import { MOST_BODY } from './fields.js'
import { AnswerBroken, ServiceClosed, ServiceSilent } from './own-answers.js'
import type { ProxiedCall, ProxyRecord } from './proxy-record.js'

/** Headers of one connection (RFC 9110, section 7.6.1). `expect` was answered. */
const ofConnection = [
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect'],
]

/** The headers that are passed on, in their order and spelling: name, value, name, value. */
function passedHeaders({ rawHeaders, headers }: IncomingMessage, own: readonly string[] = []): string[] {
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

/** A call that a proxy passes on or lets fail. */
export interface Passing {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly record: ProxyRecord
  readonly call: ProxiedCall
  readonly fault: Fault | undefined
  /** Below the address of the service, with its query. */
  readonly path: string
}

const EVENTS = /^text\/event-stream\b/i
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i

/** Streams an answer to its caller. If the caller leaves, the service is still listened to. Throws `AnswerBroken`. */
export async function passOn(answer: IncomingMessage, { response, record, call }: Passing): Promise<void> {
  const status = answer.statusCode ?? 502
  const head: Buffer[] = []
  let length = 0
  // A caller that has the last piece may leave at once. Before that, the answer is recorded as seen.
  let held: Buffer | undefined
  response.sendDate = false
  response.writeHead(status, answer.statusMessage, passedHeaders(answer))
  const type = answer.headers['content-type'] ?? ''
  const isLive = EVENTS.test(type) || (call.matched.call === undefined && !JSON_TYPE.test(type))
  if (isLive) response.flushHeaders()
  for await (const piece of piecesOf(answer)) {
    length += piece.length
    if (length <= MOST_BODY) head.push(piece)
    else head.length = 0
    await writeTo(response, isLive ? piece : held)
    held = isLive ? undefined : piece
  }
  const body = length <= MOST_BODY ? Buffer.concat(head) : undefined
  const show = record.answered(call, status, { headers: answer.headers, body })
  if (response.destroyed) return
  show()
  response.end(held)
}

async function* piecesOf(answer: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* answer
  } catch (cause) {
    throw new AnswerBroken('the answer broke off', { cause })
  }
}

/** Writes as fast as the caller reads. */
async function writeTo(response: ServerResponse, piece: Buffer | undefined): Promise<void> {
  if (!piece || response.destroyed || response.write(piece)) return
  await new Promise<void>((resolve) => {
    const end = () => {
      response.off('drain', end).off('close', end)
      resolve()
    }
    response.on('drain', end).on('close', end)
  })
}

export function closedOrAfter(response: ServerResponse, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    response.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
