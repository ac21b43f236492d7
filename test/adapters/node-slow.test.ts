import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { type Handler, type Served, serve } from '../../adapters/node.js'
import { createService, type Service } from '../../src/index.js'
import { deferred } from '../support/pieces.js'

let served: Served | undefined
let service: Service | undefined
const sockets: Socket[] = []

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await served?.close()
  await service?.close()
})

const start = async (handler: Parameters<typeof serve>[0], requestMs: number) => {
  served = await serve(handler, { port: 0, requestMs })
  return served
}

/** A connection that sends nothing by itself, and reads nothing unless someone listens. */
function open({ url }: Served): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  sockets.push(socket)
  return socket
}

/** All that comes back until the server closes the connection. */
const answerTo = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    let answer = ''
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text
    })
    socket.once('close', () => resolve(answer))
  })

test('300 connections that send byte by byte, or nothing, are closed, and others are answered meanwhile', async () => {
  const { url } = await start((baseUrl) => (service = createService({ baseUrl, sandbox: true })), 1000)
  const head =
    'POST /v4/session/code HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 900\r\n'
  const kinds = [`${head}X-Slow: ${'x'.repeat(900)}`, `${head}\r\n{"email":"${'a'.repeat(880)}`, '']
  const slow = Array.from({ length: 300 }, (_, n) => {
    const socket = open({ url } as Served)
    const text = kinds[n % kinds.length] ?? ''
    // The head of the second kind is whole from the beginning.
    const begun = n % kinds.length === 1 ? head.length + 2 : 0
    socket.write(text.slice(0, begun))
    return { socket, rest: text.slice(begun), answer: answerTo(socket) }
  })
  let sent = 0
  const drip = setInterval(() => {
    for (const { socket, rest } of slow) if (socket.writable && rest !== '') socket.write(rest[sent] ?? '')
    sent++
  }, 20)
  expect((await fetch(`${url}/v4/dq`)).status).toBe(200)
  const answers = await Promise.all(slow.map(({ answer }) => answer))
  clearInterval(drip)
  // Those who still send read why, too.
  expect(answers.filter((answer) => !answer.startsWith('HTTP/1.1 408 '))).toEqual([])
  expect((await fetch(`${url}/v4/dq`)).status).toBe(200)
})

test('a client that sends on after its late request is refused can still read why', async () => {
  const running = await start({ fetch: () => new Promise<Response>(() => {}) }, 100)
  const refused = deferred<void>()
  ;(running.server as Server).once('connection', (socket) => {
    for (const event of ['finish', 'close']) socket.once(event, () => refused.resolve())
  })
  const socket = open(running)
  socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n')
  await refused.promise
  // A closed connection answers the first byte with a reset. The next one fails, and what was not read by then is lost.
  for (let n = 0; n < 3; n++) await new Promise((resolve) => socket.write('x', resolve))
  expect(await answerTo(socket)).toMatch(/^HTTP\/1\.1 408 /)
})

const PIECE = new Uint8Array(1 << 16)

/** Streams without end, and tells how many pieces it was asked for and when the reader is given up. */
function endless(answer: (stream: ReadableStream<Uint8Array>, source: { Response?: typeof Response }) => Response) {
  const told = { pieces: 0, cancelled: 0, ended: deferred<void>() }
  const handler: Handler = {
    async respond(request, source) {
      if (!request.url.endsWith('/endless')) return new Response('short')
      const stream = new ReadableStream<Uint8Array>({
        pull(controller) {
          told.pieces++
          controller.enqueue(PIECE)
        },
        cancel() {
          told.cancelled++
          told.ended.resolve()
        },
      })
      return answer(stream, source)
    },
  }
  return { handler, told }
}

test.for([
  ['the service', (stream, { Response: Sized = Response }) => new Sized(stream, { headers: {} })],
  ['another handler', (stream) => new Response(stream)],
] as const satisfies readonly [string, Parameters<typeof endless>[0]][])(
  'a stream of %s waits for a caller who reads nothing, and ends',
  async ([, answer]) => {
    const { handler, told } = endless(answer)
    const running = await start(handler, 500)
    const socket = open(running)
    socket.write('GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await expect.poll(() => told.pieces).toBeGreaterThan(1)
    expect(await (await fetch(`${running.url}/short`)).text()).toBe('short')
    await told.ended.promise
    // What the connection itself takes is some megabytes.
    expect(told.pieces * PIECE.length).toBeLessThan(64 << 20)
    expect(told.cancelled).toBe(1)
  },
)

test('a large answer that nobody takes is dropped, and its connection closed', async () => {
  const large = new Uint8Array(32 << 20)
  const running = await start(
    { respond: async (_, { Response: Sized = Response }) => new Sized(large, { headers: {} }) },
    500,
  )
  let closed = 0
  ;(running.server as Server).on('connection', (socket) => socket.once('close', () => closed++))
  for (let n = 0; n < 3; n++) open(running).write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await expect.poll(() => closed).toBe(3)
  // One who reads gets all of it.
  expect((await (await fetch(running.url)).arrayBuffer()).byteLength).toBe(large.length)
})

test('a stream that has nothing to say stays open', async () => {
  const { promise: last, resolve: finish } = deferred<void>()
  const running = await start(
    {
      respond: async (_, { Response: Sized = Response }) =>
        new Sized(
          new ReadableStream<Uint8Array>({
            async start(controller) {
              controller.enqueue(PIECE)
              await last
              controller.enqueue(PIECE)
              controller.close()
            },
          }),
          { headers: {} },
        ),
    },
    // So long may this process keep the stream waiting for its own reader.
    500,
  )
  const response = await fetch(running.url)
  const other = open(running)
  // It is closed by the same limit, later.
  const closed = answerTo(other)
  other.write('GET')
  await closed
  finish()
  expect((await response.arrayBuffer()).byteLength).toBe(2 * PIECE.length)
})
