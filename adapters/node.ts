import { setMaxListeners } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream as WebStream } from 'node:stream/web'
import { Response as LightResponse, sendNodeResponse } from '@whatwg-node/server'
import { type FetchSource, Problem } from '../src/core.js'
import { NodeHeaders, requestOf } from './node/request.js'
import { checkHost } from './node/target.js'

export { type NodeFontsOptions, nodeFonts } from './node/fonts.js'
export { type NodeUpstreamOptions, nodeUpstream } from './node/upstream.js'

/** Whatever answers requests: a service, or pages in front of one. */
export interface Handler {
  fetch(request: Request, source?: FetchSource): Response | Promise<Response>
}

export interface ServeOptions {
  /** Default 4242; 0 picks a free one. */
  port?: number
  /** Default 127.0.0.1: this machine alone. */
  host?: string
}

export interface Served {
  /** `http://127.0.0.1:4242` */
  readonly url: string
  readonly server: Server
  /** Takes no more requests, lets those that run finish, and closes every connection. The handler stays open. */
  close(): Promise<void>
}

/**
 * Serves a handler over HTTP. Given a function, it is called with the address once that is known,
 * which a service on a port that was picked needs for its `baseUrl`.
 * Rejects as `server.listen` does, for example with EADDRINUSE.
 */
export async function serve(
  handler: Handler | ((url: string) => Handler | Promise<Handler>),
  { port = 4242, host = '127.0.0.1' }: ServeOptions = {},
): Promise<Served> {
  let answering: Promise<Handler> | Handler | undefined
  const ending = new AbortController()
  // Each answer that goes on and on listens to it.
  setMaxListeners(0, ending.signal)
  const begin = inBursts(async (ready: Handler, req: IncomingMessage, res: ServerResponse) => {
    try {
      checkHost(req)
      if (req.url === '*' && req.method === 'OPTIONS') return res.writeHead(204, { allow: METHODS }).end()
      await send(await answer(ready, requestOf(req, res), sourceOf(req, ending.signal)), req, res)
    } catch (error) {
      if (error instanceof Problem) return refuse(res, error)
      logFailure(error)
      res.destroy()
    }
  })
  // As fetch has it: a header that is sent twice is one with two values, not its first.
  const server = createServer({ joinDuplicateHeaders: true }, (req, res) => {
    if (answering instanceof Promise)
      answering.then(
        (ready) => begin(ready, req, res),
        () => res.writeHead(503).end(),
      )
    else if (answering) begin(answering, req, res)
    else res.writeHead(503).end()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${portOf(server)}`
  answering = typeof handler === 'function' ? Promise.resolve(handler(url)) : handler
  try {
    answering = await answering
  } catch (error) {
    server.close()
    throw error
  }
  return {
    url,
    server,
    close() {
      ending.abort()
      return closeServer(server)
    },
  }
}

function portOf(server: Server): number {
  const address = server.address()
  // Only a server that listens on a pipe, or not at all, has no port.
  if (typeof address !== 'object' || address === null) throw new TypeError('the server listens on no port')
  return address.port
}

/** What is answered to `OPTIONS *`, which asks of the server as a whole. */
const METHODS = 'GET, HEAD, POST, PUT, DELETE, OPTIONS'

/** The end of a connection whose requests cannot be told apart, or are not for this server. */
function refuse(res: ServerResponse, { status, body }: Problem): void {
  const text = JSON.stringify(body)
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), connection: 'close' }
  res.writeHead(status, headers).end(text)
}

/**
 * Begins what was read from the network in one turn of the loop at once, after the last of it.
 * Thirty-two payments at a time cost a quarter less processor time each so than begun one by one between the reads.
 */
function inBursts<A extends unknown[]>(act: (...each: A) => unknown): (...each: A) => void {
  let waiting: A[] = []
  const beginAll = () => {
    const all = waiting
    waiting = []
    for (const each of all) act(...each)
  }
  return (...each) => {
    if (waiting.push(each) === 1) setImmediate(beginAll)
  }
}

/** How long requests that run may take to finish once the server closes. */
const GRACE_MS = 10_000

/** The light Response, cheaper to make than Node's own, that knows whether its body is whole, and so its Content-Length. */
class SizedResponse extends LightResponse {
  readonly fields: Record<string, string>
  /** A body that is there already. */
  readonly whole: string | Uint8Array | undefined
  /** A body that comes piece by piece. */
  readonly stream: Readable | undefined

  constructor(body: BodyInit | null | undefined, init: ResponseInit & { headers: Record<string, string> }) {
    const whole = typeof body === 'string' || body instanceof Uint8Array ? body : undefined
    if (whole !== undefined) init.headers['content-length'] = String(Buffer.byteLength(whole))
    const stream = body instanceof ReadableStream ? Readable.fromWeb(body as WebStream) : undefined // Node's type of the same class
    // The light Response takes Node's streams as well, which its type leaves out.
    super((stream as BodyInit | undefined) ?? body, init)
    this.fields = init.headers
    this.whole = whole
    this.stream = stream
  }
}

async function answer(handler: Handler, request: Request, source: FetchSource): Promise<Response> {
  try {
    return await handler.fetch(request, source)
  } catch (error) {
    logFailure(error)
    const body = JSON.stringify({ error: 'The service failed.', status: 500, code: 'internal_error' })
    return new LightResponse(body, { status: 500, headers: { 'content-type': 'application/json' } })
  }
}

let burst: Promise<void> | undefined

/**
 * Resolves once all that was begun together has come as far as it can.
 * Each answer sent for itself would wake its reader for itself: a fifth of what a payment costs, all but gone in one burst.
 */
const nextBurst = () =>
  new Promise<void>((resolve) => {
    process.nextTick(() => {
      burst = undefined
      resolve()
    })
  })

async function send(response: Response, req: IncomingMessage, res: ServerResponse): Promise<void> {
  await (burst ??= nextBurst())
  const { whole, fields, stream }: Partial<SizedResponse> = response instanceof SizedResponse ? response : {}
  if (whole !== undefined && !res.destroyed) {
    // Head and body in one write, where the adapter makes two.
    res.writeHead(response.status, fields).end(whole)
    return
  }
  // Unheard, the failure of a stream would end the process; and the caller must not take the half for the whole.
  stream?.once('error', (error) => {
    logFailure(error)
    res.destroy()
  })
  await sendNodeResponse(response, res, req, true)
}

function logFailure(error: unknown): void {
  process.stderr.write(`farthing: a request failed: ${error instanceof Error ? error.stack : error}\n`)
}

const sourceOf = (req: IncomingMessage, ending: AbortSignal): FetchSource => ({
  // The service gives it what its constructor takes, and uses no static method.
  Response: SizedResponse as unknown as typeof Response,
  headers: new NodeHeaders(req),
  // Of a connection that is gone already, nobody knows whose it was.
  peerAddress: req.socket.remoteAddress ?? '',
  body: bodyOf(req),
  ending,
})

/** Read from the connection itself: it is quicker, and a `Request` cannot carry the body of a GET. */
function bodyOf(req: IncomingMessage): FetchSource['body'] {
  if (hasBody(req)) return (limit) => readBytes(req, limit)
  return req.method === 'GET' ? undefined : noBytes
}

const noBytes = async () => new Uint8Array()

const hasBody = ({ headers }: IncomingMessage): boolean =>
  (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined

/** The body, or undefined once it is larger than the limit; what follows of it is thrown away unread. */
function readBytes(req: IncomingMessage, limit: number): Promise<Uint8Array | undefined> {
  if (Number(req.headers['content-length'] ?? 0) > limit) return Promise.resolve(undefined)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    req.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) resolve(undefined)
      else chunks.push(chunk)
    })
    req.once('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
    // Also when the caller goes away before the end.
    req.once('error', reject)
  })
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // A connection is idle once its answer is out. To look now and then costs each request less than to note its end.
  const sweeping = setInterval(() => server.closeIdleConnections(), 20)
  const grace = setTimeout(() => server.closeAllConnections(), GRACE_MS)
  await closed
  clearInterval(sweeping)
  clearTimeout(grace)
}
