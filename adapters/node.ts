import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServerAdapter, Response as LightResponse } from '@whatwg-node/server'
import type { FetchSource } from '../src/index.js'

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
  const running = new Set<ServerResponse>()
  const adapter = createServerAdapter<NodeContext>(
    (request, { req }) => answer(answering as Handler, request, req),
    // Its own light classes: with Node's native ones the same handler serves a fourth as much.
    { __useSingleWriteHead: true, __useCustomAbortCtrl: true },
  )
  const server = createServer((req, res) => {
    running.add(res)
    res.once('close', () => running.delete(res))
    if (answering instanceof Promise)
      answering.then(
        () => adapter(req, res),
        () => res.writeHead(503).end(),
      )
    else adapter(req, res)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const { port: bound } = server.address() as AddressInfo
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${bound}`
  answering = typeof handler === 'function' ? Promise.resolve(handler(url)) : handler
  try {
    answering = await answering
  } catch (error) {
    server.close()
    throw error
  }
  return { url, server, close: () => closeServer(server, running) }
}

/** How long requests that run may take to finish once the server closes. */
const GRACE_MS = 10_000

interface NodeContext {
  req: IncomingMessage
  res: ServerResponse
}

/** The light Response with a Content-Length, so that a body known whole is sent in one write. */
class SizedResponse extends LightResponse {
  constructor(body: BodyInit | null | undefined, init: ResponseInit & { headers: Record<string, string> }) {
    if (typeof body === 'string') init.headers['content-length'] = String(Buffer.byteLength(body))
    super(body, init)
  }
}

async function answer(handler: Handler, request: Request, req: IncomingMessage): Promise<Response> {
  try {
    return await handler.fetch(request, sourceOf(req))
  } catch (error) {
    // The adapter's own 500 would show the stack.
    process.stderr.write(`farthing: a request failed: ${error instanceof Error ? error.stack : error}\n`)
    const body = JSON.stringify({ error: 'The service failed.', status: 500, code: 'internal_error' })
    return new LightResponse(body, { status: 500, headers: { 'content-type': 'application/json' } })
  }
}

function sourceOf(req: IncomingMessage): FetchSource {
  const source = { Response: SizedResponse as unknown as typeof Response, ...peerOf(req) }
  // A `Request` cannot carry the body of a GET, which three calls of the interface have.
  return req.method === 'GET' && hasBody(req) ? { ...source, body: (limit) => readText(req, limit) } : source
}

const peerOf = ({ socket: { remoteAddress } }: IncomingMessage) =>
  remoteAddress === undefined ? {} : { peerAddress: remoteAddress }

const hasBody = ({ headers }: IncomingMessage): boolean =>
  Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined

async function readText(req: IncomingMessage, limit: number): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of req) {
    size += (chunk as Buffer).length
    if (size > limit) return undefined
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function closeServer(server: Server, running: ReadonlySet<ServerResponse>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const finished = [...running].map((res) => new Promise<void>((resolve) => res.once('close', () => resolve())))
  await Promise.race([Promise.all(finished), sleep(GRACE_MS, undefined, { ref: false })])
  server.closeAllConnections()
  await closed
}
