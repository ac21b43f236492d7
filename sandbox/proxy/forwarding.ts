import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { MOST_BODY } from './fields.js'

/** Headers of one connection (RFC 9110, section 7.6.1). `expect` was answered, and `host` is the service's. */
const ofConnection = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect', 'host'],
])

/** The headers that are passed on, in their order and spelling: name, value, name, value. */
export function passedHeaders({ rawHeaders, headers }: IncomingMessage): string[] {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()))
  const passed: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    if (!ofConnection.has(name.toLowerCase()) && !named.has(name.toLowerCase())) passed.push(name, value)
  }
  return passed
}

/** The beginning of a body. `isWhole`: there is no more. */
export interface BodyHead {
  readonly bytes: Buffer
  readonly isWhole: boolean
}

/** Reads a body as far as it is looked at. The rest stays in its stream. Rejects if the body breaks off. */
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
    const breakOff = () => reject(new Error('the body broke off'))
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

/** Sends a request on, and resolves with its answer. `rest`: what of its body is not in `head`. */
export function forward(
  { protocol, hostname, port, host, base }: Destination,
  { request, path, head }: { readonly request: IncomingMessage; readonly path: string; readonly head: BodyHead },
): Promise<IncomingMessage> {
  const { method = 'GET', headers } = request
  const passed = passedHeaders(request)
  const isSized = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
  // Node would send a body of no length in chunks, which some services refuse.
  if (!isSized && !/^(?:GET|HEAD|DELETE|OPTIONS)$/.test(method)) passed.push('content-length', '0')
  const send = protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = send({
      ...{ hostname: hostname.replace(/^\[|\]$/g, ''), port, method, path: base + path, agent: false },
      headers: [...passed, 'host', host, 'via', '1.1 farthing'] as never,
    })
    sent.on('error', reject).once('response', (answer) => {
      sent.on('error', (error) => answer.destroy(error))
      resolve(answer)
    })
    sent.write(head.bytes)
    if (head.isWhole) sent.end()
    else {
      request.once('close', () => {
        if (!request.readableEnded) sent.destroy(new Error('the request broke off'))
      })
      request.pipe(sent)
    }
  })
}
