import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach } from 'vitest'

export interface UpstreamRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A real little service that is paid for, on loopback. How it answers goes by the path that is called. */
export interface TestUpstream {
  readonly url: string
  /** What was asked of it, but for the preflights of browsers. */
  readonly requests: UpstreamRequest[]
  close(): Promise<void>
}

type Behaviour = (res: ServerResponse, request: UpstreamRequest) => unknown

const json = { 'content-type': 'application/json' }

const send = (res: ServerResponse, status: number, body: string, headers: Record<string, string> = json) =>
  res.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers }).end(body)

/** By the first part of the path; `/status/418` takes its status from the second. */
const behaviours: Record<string, Behaviour> = {
  ok: (res) => send(res, 200, '{"story":"The whole story."}'),
  status: (res, { path }) => send(res, Number(path.split('/')[2]), '{"status":"as asked"}'),
  empty: (res) => res.writeHead(204).end(),
  text: (res) => send(res, 200, 'Grüße', { 'content-type': 'text/plain; charset=utf-8' }),
  bytes: (res) => res.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from([0, 255, 128, 10, 13])),
  cookie: (res) =>
    send(res, 200, '{}', { ...json, 'set-cookie': 'stolen=1', 'x-secret': 'upstream', server: 'theirs' }),
  pieces: async (res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of ['one ', 'two ', 'three']) {
      res.write(piece)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    res.end()
  },
  redirect: (res) => res.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
  hang: () => undefined,
  stall: (res) => res.writeHead(200, { ...json, 'content-length': 100 }).write('{'),
  truncated: (res) => {
    res.writeHead(200, { ...json, 'content-length': 100 }).write('{"half":')
    setTimeout(() => res.destroy(), 20)
  },
  reset: (res) => res.destroy(),
  large: (res) => send(res, 200, 'x'.repeat(200_000), { 'content-type': 'text/plain' }),
  slow: (res) => setTimeout(() => send(res, 200, '{"slow":true}'), 300),
}

export async function startUpstream(): Promise<TestUpstream> {
  const requests: UpstreamRequest[] = []
  const server = createServer(async (req, res) => {
    // Services in browsers call it as any page would.
    res.setHeader('access-control-allow-origin', '*')
    if (req.method === 'OPTIONS')
      return res.writeHead(204, { 'access-control-allow-headers': '*', 'access-control-allow-methods': '*' }).end()
    let body = ''
    for await (const chunk of req) body += chunk
    const request = { method: req.method ?? '', path: req.url ?? '', headers: req.headers, body }
    requests.push(request)
    behaviours[request.path.split(/[/?]/)[1] ?? '']?.(res, request)
  })
  // Never closes a connection that its client is about to use again, however long the process of both is busy.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** One for all tests of a file: what was asked of it is forgotten before each. */
export function useUpstream(): TestUpstream {
  let upstream: TestUpstream
  beforeAll(async () => {
    upstream = await startUpstream()
  })
  afterAll(() => upstream.close())
  beforeEach(() => {
    upstream.requests.length = 0
  })
  return {
    get url() {
      return upstream.url
    },
    get requests() {
      return upstream.requests
    },
    close: () => upstream.close(),
  }
}

/** A port of loopback where nobody listens. */
export async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
