import type { Server } from 'node:http'
import { connect, Socket } from 'node:net'
import { promisify } from 'node:util'
import { afterEach, expect, test, vi } from 'vitest'
import { UnreadAnswers } from '../../adapters/node/unread-answers.js'
import { type Served, serve } from '../../adapters/node.js'
import { createService } from '../../src/index.js'

/** Callers who ask for large answers and read none of them. */

let served: Served | undefined
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await served?.close()
  served = undefined
})

const MB = 1 << 20

/** A connection that asks many times, and reads nothing. */
function openSilent(url: string, times: number): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => {})
  socket.pause().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(times))
  return socket
}

test('answers that nobody reads are dropped with their connection, and readers get theirs', async () => {
  const large = 'x'.repeat(8 * MB)
  let answered = 0
  served = await serve(
    {
      respond(_request, source) {
        answered++
        return new (source.Response ?? Response)(large, { headers: {} })
      },
    },
    { port: 0, closeMs: 10 },
  )
  for (let n = 1; n <= 4; n++) {
    openSilent(served.url, 8)
    await expect.poll(() => answered).toBe(8 * n)
  }
  const server = served.server as Server
  // Each leaves 64 MB, and 128 MB may be unread.
  await expect.poll(promisify(server.getConnections.bind(server))).toBeLessThanOrEqual(2)
  expect((await (await fetch(served.url)).text()).length).toBe(8 * MB)
})

test('whoever leaves most unread makes room, and what was taken or closed counts no more', () => {
  const unread = new UnreadAnswers()
  const from = (remoteAddress: string) => {
    const socket = new Socket()
    Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress })
    sockets.push(socket)
    return socket
  }
  const finishes: (() => void)[] = []
  const answer = (bytes: number) => ({
    writableLength: bytes,
    once: (_: string, listener: () => void) => void finishes.push(listener),
  })
  const hold = (socket: Socket, bytes: number) => unread.hold(socket, answer(bytes) as never)
  const honest = from('192.0.2.1')
  hold(honest, 40 * MB)
  // Addresses of one network count together.
  const others = ['2001:db8:1:2:a::1', '2001:db8:1:2:b:c:d:e', '2001:db8:1:2::5'].map(from)
  for (const socket of others) hold(socket, 30 * MB)
  expect([honest, ...others].map(({ destroyed }) => destroyed)).toEqual([false, true, false, false])
  finishes[0]?.()
  const next = from('192.0.2.2')
  hold(next, 60 * MB)
  expect([honest, ...others, next].map(({ destroyed }) => destroyed)).toEqual([false, true, false, false, false])
  next.emit('close')
  hold(honest, 60 * MB)
  expect(honest.destroyed).toBe(false)
  // What ended later than its connection is not counted twice.
  for (const finish of finishes) finish()
  hold(honest, 128 * MB)
  expect(honest.destroyed).toBe(false)
})

test('the document that anybody may ask for is written once', async () => {
  const service = createService()
  const stringify = vi.spyOn(JSON, 'stringify')
  try {
    const texts = []
    for (let n = 0; n < 3; n++) texts.push(await (await service.fetch('/v4/openapi.json')).text())
    expect(new Set(texts).size).toBe(1)
    const long = stringify.mock.results.filter(({ value }) => typeof value === 'string' && value.length > MB)
    expect(long.length).toBeLessThanOrEqual(1)
  } finally {
    stringify.mockRestore()
    await service.close()
  }
})
