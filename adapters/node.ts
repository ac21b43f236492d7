import { setMaxListeners } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Response as LightResponse, sendNodeResponse } from '@whatwg-node/server'
import {
  AnswerDropped,
  checkOptions,
  consoleLog,
  type FetchSource,
  Problem,
  type WaitingRequests,
} from '../src/core.js'
import { Arrivals } from './node/arrivals.js'
import { closeServer, lingerAfterRefusals, Pipelines } from './node/closing.js'
import { NodeAnswer, NodeHeaders, requestOf } from './node/request.js'
import { checkHost } from './node/target.js'
import { UnreadAnswers } from './node/unread-answers.js'

export { type NodeFontsOptions, nodeFonts } from './node/fonts.js'
export { type NodeUpstreamOptions, nodeUpstream } from './node/upstream.js'

/** Answers requests: a service, pages in front of one, or any other fetch handler. */
export type Handler = (
  | { respond(request: Request, source: FetchSource): Response | Promise<Response> }
  | { fetch(request: Request): Response | Promise<Response> }
) & {
  /** How many requests may wait until they are passed on: `service.waiting`. Default: 1,000. */
  readonly waiting?: WaitingRequests
}

export interface ServeOptions {
  /** Default: 4242. 0 picks a free port. */
  port?: number
  /** Default: 127.0.0.1, which only this machine can reach. */
  host?: string
  /** How long closing waits for running requests, in milliseconds. Default: 10 seconds, like `limits.closeMs`. */
  closeMs?: number
  /**
   * How long a request may take to arrive, in milliseconds. Default: 2 minutes. Its head may take 10 seconds of that. A
   * slower one is answered 408, and its connection closed. A caller who takes nothing of an answer for so long loses the
   * connection too.
   */
  requestMs?: number
}

/** A server of `node:http`. With `@types/node`, `served.server as Server` has its whole type. */
export interface NodeServer {
  readonly listening: boolean
  address(): { address: string; port: number } | string | null
  /** Lets the process end while the server listens. */
  unref(): unknown
  ref(): unknown
}

export interface Served {
  /** `http://127.0.0.1:4242` */
  readonly url: string
  readonly server: NodeServer
  /**
   * Takes no new connections. Each open connection gets the answer to its running request, or to the next one that
   * arrives on it, with `Connection: close`. After `closeMs`, it closes every connection. Does not close the handler.
   */
  close(): Promise<void>
}

/**
 * Serves a handler over HTTP. Pass a function to create the handler from the server's URL: with `port: 0`, a service
 * needs that URL as its `baseUrl`. Rejects with the error of `server.listen`, for example EADDRINUSE, and with a TypeError
 * that names a wrong option.
 */
export async function serve(
  handler: Handler | ((url: string) => Handler | Promise<Handler>),
  options: ServeOptions = {},
): Promise<Served> {
  checkOptions('serve', options)
  checkHandler(handler)
  const { port = 4242, host = '127.0.0.1', closeMs = 10_000, requestMs = 120_000 } = options
  let answering: Promise<Handler> | Handler | undefined
  const ending = new AbortController()
  // Every event stream listens to this signal.
  setMaxListeners(0, ending.signal)
  const arrivals = new Arrivals<HandledArrival>(async ({ req, res, handler }) => {
    try {
      checkHost(req)
      if (req.url === '*' && req.method === 'OPTIONS') return res.writeHead(204, { allow: METHODS }).end()
      const response = await answer(handler, requestOf(req, res), sourceOf(req, ending.signal))
      await nextBurst()
      if (ending.signal.aborted) res.shouldKeepAlive = false
      await send(response, { req, res, unread, unreadMs: requestMs })
    } catch (error) {
      if (error instanceof Problem) return refuse(res, error)
      if (error instanceof AnswerDropped) return res.destroy()
      logFailure(error)
      res.destroy()
    }
  })
  const pipelines = new Pipelines()
  const unread = new UnreadAnswers()
  // As in fetch: a header that is sent twice has two values. Without this, Node takes only the first.
  const server = createServer({ joinDuplicateHeaders: true, ...arrivalTimes(requestMs) }, (req, res) => {
    const { socket } = req
    if (!pipelines.enter(socket)) return
    res.once('close', () => pipelines.leave(socket))
    if (answering instanceof Promise)
      answering.then(
        (handler) => arrivals.add({ req, res, handler }),
        () => res.writeHead(503).end(),
      )
    else if (answering) arrivals.add({ req, res, handler: answering })
    else res.writeHead(503).end()
  })
  lingerAfterRefusals(server)
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${portOf(server)}`
  answering = typeof handler === 'function' ? Promise.resolve(handler(url)) : handler
  try {
    answering = await answering
    checkHandler(answering)
  } catch (error) {
    server.close()
    throw error
  }
  return {
    url,
    server,
    close() {
      ending.abort()
      return closeServer({ server, sockets, pipelines, closeMs })
    },
  }
}

/** A request, where to answer it, and who does. */
interface HandledArrival {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly handler: Handler
}

/** Throws a TypeError unless it answers requests, or is a function that creates what does. */
function checkHandler(handler: unknown): void {
  const { respond, fetch } = (handler ?? {}) as Partial<Record<'respond' | 'fetch', unknown>>
  if ([handler, respond, fetch].some((each) => typeof each === 'function')) return
  throw new TypeError('serve needs a service: serve(createService({ sandbox: true })). If it is a promise, await it.')
}

/** The longest time for the head of a request, in milliseconds. It is a few kilobytes, on any connection. */
const HEAD_MS = 10_000

const arrivalTimes = (requestMs: number) => ({
  requestTimeout: requestMs,
  headersTimeout: Math.min(requestMs, HEAD_MS),
  connectionsCheckingInterval: Math.min(requestMs, 1000),
})

function portOf(server: Server): number {
  const address = server.address()
  // A server has no port only if it listens on a pipe or not at all.
  if (typeof address !== 'object' || address === null) throw new TypeError('the server does not listen on a port')
  return address.port
}

/** The answer to `OPTIONS *`, which is about the server as a whole. */
const METHODS = 'GET, HEAD, POST, PUT, DELETE, OPTIONS'

/** Answers with a problem and closes the connection: what follows on it may not be a request, or not for this server. */
function refuse(res: ServerResponse, { status, body }: Problem): void {
  const text = JSON.stringify(body)
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), connection: 'close' }
  res.writeHead(status, headers).end(text)
}

async function answer(handler: Handler, request: Request, source: FetchSource): Promise<Response> {
  try {
    return await ('respond' in handler ? handler.respond(request, source) : handler.fetch(request))
  } catch (error) {
    if (error instanceof AnswerDropped) throw error
    logFailure(error)
    const body = JSON.stringify({ error: 'The service failed.', status: 500, code: 'internal_error' })
    return new LightResponse(body, { status: 500, headers: { 'content-type': 'application/json' } })
  }
}

let burst: Promise<void> | undefined

/**
 * Resolves when all requests that began together have got as far as they can, so that their answers are sent together.
 * Sending them one by one wakes the reader for each, which takes a fifth of the cost of a payment.
 */
function nextBurst(): Promise<void> {
  burst ??= new Promise<void>((resolve) => {
    process.nextTick(() => {
      burst = undefined
      resolve()
    })
  })
  return burst
}

interface Sending {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly unread: UnreadAnswers
  readonly unreadMs: number
}

async function send(response: Response, { req, res, unread, unreadMs }: Sending): Promise<void> {
  const { whole, fields, stream }: Partial<NodeAnswer> = response instanceof NodeAnswer ? response : {}
  if (whole !== undefined && !res.destroyed) {
    // This writes head and body at once. `sendNodeResponse` needs two writes.
    res.writeHead(response.status, fields).end(whole)
    if (res.writableLength === 0) return
    unread.hold(req.socket, res)
    dropIfUnread(res, unreadMs)
    return
  }
  // Without a listener, a stream's error ends the process. The caller must see that the answer is incomplete.
  stream?.once('error', (error) => {
    // A fault sends a part of the answer first.
    if (error instanceof AnswerDropped) return res.socket?.destroySoon()
    logFailure(error)
    res.destroy()
  })
  const sent = sendNodeResponse(response instanceof NodeAnswer ? response.light : response, res, req, true)
  // Sending sets the time limit of the connection too, to none.
  dropIfUnread(res, unreadMs)
  await sent
}

/** Closes the connection if the caller takes nothing of the answer for so long: what waits for them is in memory. */
function dropIfUnread(res: ServerResponse, unreadMs: number): void {
  res.setTimeout(unreadMs, () => {
    // Without this, a stream that has nothing to say would end too.
    if (res.writableLength > 0) res.destroy()
  })
}

const logFailure = (error: unknown): void => consoleLog.error('a request failed', error)

const sourceOf = (req: IncomingMessage, ending: AbortSignal): FetchSource => ({
  // The service calls only its constructor, with arguments that it accepts, and no static method.
  Response: NodeAnswer as unknown as typeof Response,
  headers: new NodeHeaders(req),
  // A closed connection has no address any more.
  peerAddress: req.socket.remoteAddress ?? '',
  body: bodyOf(req),
  takesGetBody: true,
  ...(hasBody(req) && { chunks: () => chunksOf(req) }),
  ending,
})

/** Reads the body from the connection itself. This is faster, and a `Request` cannot have a body for GET. */
function bodyOf(req: IncomingMessage): FetchSource['body'] {
  if (hasBody(req)) return (limit) => readBytes(req, limit)
  return req.method === 'GET' ? undefined : noBytes
}

const noBytes = async () => new Uint8Array()

const hasBody = ({ headers }: IncomingMessage): boolean =>
  (headers['content-length'] ?? '0') !== '0' || headers['transfer-encoding'] !== undefined

/** Reads the body. Resolves with undefined if it is larger than the limit, and ignores the rest. */
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
    // Node emits this too when the caller disconnects early.
    req.once('error', reject)
  })
}

/** Reads the body in pieces. If the reader stops, the rest is ignored, so that the answer reaches the caller. */
async function* chunksOf(req: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    yield* req.iterator({ destroyOnReturn: false })
  } finally {
    req.resume()
  }
}
