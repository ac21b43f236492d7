import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { closeServer, lingerAfterRefusals, Pipelines } from '../../adapters/node/closing.js'

/** How the Node server closes and refuses, without a server. */

class FakeServer extends EventEmitter {
  readonly calls: string[] = []
  /** All connections have ended. */
  finish = (): void => {}

  close(finish?: () => void): void {
    this.calls.push('close')
    if (finish) this.finish = finish
  }

  closeIdleConnections(): void {
    this.calls.push('close idle')
  }

  closeAllConnections(): void {
    this.calls.push('close all')
    this.finish()
  }

  get server(): Server {
    return this as unknown as Server // Closing uses no more of it.
  }
}

class FakeSocket extends EventEmitter {
  readonly calls: unknown[] = []
  writable = true
  bytesRead = 0
  _httpMessage: { headersSent: boolean } | null = null

  constructor(readonly remoteAddress?: string) {
    super()
  }

  end(text = ''): this {
    this.calls.push(text)
    return this
  }

  resume(): this {
    this.calls.push('resume')
    return this
  }

  destroy(error: Error): this {
    this.calls.push(error)
    this.emit('close')
    return this
  }

  get socket(): Socket {
    return this as unknown as Socket // Closing uses no more of it.
  }
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Turns of the event loop are real. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

describe('a server that closes', () => {
  const closing = (fakes: readonly FakeSocket[] = [], pipelines = new Pipelines()) => {
    const fake = new FakeServer()
    const sockets = new Set(fakes.map(({ socket }) => socket))
    const close = () => closeServer({ server: fake.server, sockets, pipelines, closeMs: 1000 })
    return { fake, close }
  }

  test.each([
    [0, 0],
    [1, 1],
    [40, 40],
    [2000, 511],
  ])('of %i connections that wait, one in each turn, accepts %i', async (waiting, wanted) => {
    const { fake, close } = closing()
    let accepted = 0
    const accept = () => {
      if (accepted === waiting || fake.calls.includes('close')) return
      accepted++
      fake.emit('connection')
      setImmediate(accept)
    }
    setImmediate(accept)
    const closed = close()
    for (let turn = 0; turn < 2100 && !fake.calls.includes('close'); turn++) await turns(1)
    fake.finish()
    await closed
    expect([accepted, fake.listenerCount('connection')]).toEqual([wanted, 0])
  })

  test.each<[addresses: (string | undefined)[], idleMs: number]>([
    [[], 30],
    [['127.0.0.1', '::1', '::ffff:127.0.0.2'], 30],
    [['127.0.0.1', '10.0.0.1'], 200],
    [['::ffff:10.127.0.1'], 200],
    [['2001:db8::1'], 200],
    [['::1', undefined], 200],
  ])(
    'with connections from %j, ends idle ones after %i ms, and reads what has arrived first',
    async (addresses, idleMs) => {
      const { fake, close } = closing(addresses.map((address) => new FakeSocket(address)))
      const closed = close()
      await turns(2)
      vi.advanceTimersByTime(idleMs - 1)
      await turns(4)
      expect(fake.calls).toEqual(['close'])
      vi.advanceTimersByTime(1)
      await turns(2)
      expect(fake.calls).toEqual(['close'])
      await turns(1)
      expect(fake.calls).toEqual(['close', 'close idle'])
      vi.advanceTimersByTime(20)
      await turns(3)
      expect(fake.calls).toEqual(['close', 'close idle', 'close idle'])
      fake.finish()
      await closed
      expect([fake.calls.at(-1), vi.getTimerCount()]).toEqual(['close', 0])
    },
  )

  test('ends the connections that never asked anything, and no others', async () => {
    const [unused, asked, busy] = [new FakeSocket('::1'), new FakeSocket('::1'), new FakeSocket('::1')]
    asked.bytesRead = 1
    const pipelines = new Pipelines()
    pipelines.enter(busy.socket)
    const { fake, close } = closing([unused, asked, busy], pipelines)
    const closed = close()
    await turns(2)
    vi.advanceTimersByTime(30)
    await turns(3)
    expect([unused, asked, busy].map(({ calls }) => calls)).toEqual([[''], [], []])
    fake.finish()
    await closed
  })

  test('closes every connection after closeMs', async () => {
    const { fake, close } = closing()
    const closed = close()
    await turns(2)
    vi.advanceTimersByTime(999)
    expect(fake.calls).not.toContain('close all')
    vi.advanceTimersByTime(1)
    expect(fake.calls).toContain('close all')
    await closed
  })
})

describe('a connection that sends no request', () => {
  /** Refuses one after the other. */
  const refusing = () => {
    const server = new FakeServer()
    lingerAfterRefusals(server.server)
    return (socket: FakeSocket, code?: string): Error => {
      const error = Object.assign(new Error('refused'), { code })
      server.emit('clientError', error, socket)
      return error
    }
  }

  test.each([
    ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
    ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '413 Payload Too Large'],
    ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
    ['HPE_INVALID_METHOD', '400 Bad Request'],
    [undefined, '400 Bad Request'],
  ])('(%s) is answered %s, and read on for two seconds', (code, status) => {
    const socket = new FakeSocket()
    const read = vi.fn()
    socket.on('data', read).on('end', read)
    const error = refusing()(socket, code)
    const answered = [`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`, 'resume']
    socket.emit('data', 'more')
    socket.emit('end')
    expect([read.mock.calls, socket.listenerCount('data')]).toEqual([[], 1])
    vi.advanceTimersByTime(1999)
    expect(socket.calls).toEqual(answered)
    vi.advanceTimersByTime(1)
    expect(socket.calls).toEqual([...answered, error])
  })

  test('is closed without an answer if it takes none, or has the head of one', () => {
    const [ended, answered, begun] = [new FakeSocket(), new FakeSocket(), new FakeSocket()]
    ended.writable = false
    answered._httpMessage = { headersSent: true }
    begun._httpMessage = { headersSent: false }
    const refuse = refusing()
    for (const socket of [ended, answered]) expect(socket.calls).toEqual([refuse(socket)])
    refuse(begun)
    expect(begun.calls).toEqual([expect.stringMatching(/^HTTP\/1\.1 400 /), 'resume'])
  })

  test('is not read on while a thousand others are', () => {
    const refuse = refusing()
    const isReadOn = (socket: FakeSocket) => {
      const error = refuse(socket)
      return !socket.calls.includes(error)
    }
    const many = Array.from({ length: 1000 }, () => new FakeSocket())
    expect(many.every(isReadOn)).toBe(true)
    const next = new FakeSocket()
    expect([isReadOn(next), next.calls[0]]).toEqual([false, expect.stringMatching(/^HTTP\/1\.1 400 /)])
    for (const socket of many.slice(0, 2)) socket.emit('close')
    expect(vi.getTimerCount()).toBe(998)
    expect([1, 2, 3].map(() => isReadOn(new FakeSocket()))).toEqual([true, true, false])
  })
})
