import type { Server } from 'node:http'
import { connect, Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { type Arrival, Arrivals } from '../../adapters/node/arrivals.js'
import { type Served, serve } from '../../adapters/node.js'
import { readFields } from '../../src/http/fields/body.js'
import { HeldBodies, type HeldBody } from '../../src/http/fields/intake.js'
import { createService, type Service } from '../../src/index.js'
import { caller } from '../support/api.js'
import { newSeller } from '../support/scenes/world.js'

/** Bodies and requests that fill the memory of a server before anybody is known. */

let served: Served | undefined
let service: Service | undefined
const sockets: Socket[] = []

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await served?.close()
  await service?.close()
  served = service = undefined
})

async function start(bodiesBytes: number) {
  const running = await serve(
    (baseUrl) => (service = createService({ baseUrl, sandbox: true, limits: { bodiesBytes } })),
    {
      port: 0,
    },
  )
  served = running
  return { url: running.url, call: caller({ url: running.url, fetch }) }
}

/** A connection that sends bytes, and takes what comes back. */
function open(url: string, text: string): { socket: Socket; answer: Promise<string> } {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  sockets.push(socket)
  socket.on('error', () => {})
  const answer = new Promise<string>((resolve) => {
    let taken = ''
    socket.setEncoding('utf8').on('data', (part: string) => {
      taken += part
      if (/\r\n\r\n.*\}/s.test(taken)) resolve(taken)
    })
    socket.once('close', () => resolve(taken))
  })
  socket.write(text)
  return { socket, answer }
}

const post = (path: string, ...headers: string[]): string =>
  `${[`POST ${path} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json', ...headers].join('\r\n')}\r\n\r\n`

const KB = 1024

describe('uploads that never end', () => {
  test('take no more memory than all bodies may, and the first of them make room for others', {
    timeout: 60_000,
  }, async () => {
    const { url, call } = await start(1 << 20)
    const half = `${post('/v4/session/code', `Content-Length: ${200 * KB}`)}{"email":"${'a'.repeat(100 * KB)}`
    const uploads = Array.from({ length: 40 }, () => open(url, half))
    const cut = await Promise.all(uploads.slice(0, 10).map(({ answer }) => answer))
    for (const answer of cut) {
      expect(answer).toMatch(/^HTTP\/1\.1 503 /)
      expect(answer.toLowerCase()).toContain('retry-after: 1\r\n')
      expect(answer).toContain('"code":"overloaded"')
    }
    const made = await call('POST', '/v4/account', { body: { name: 'b'.repeat(50) } })
    expect(made.status).toBe(201)
  })

  test('of callers without a valid credential are refused before they are read', async () => {
    const { url, call } = await start(1 << 22)
    const seller = await newSeller(call)
    const large = `Content-Length: ${900 * KB}`
    const path = '/v4/commodity'
    expect(await open(url, post(path, large)).answer).toMatch(/^HTTP\/1\.1 401 /)
    expect(await open(url, post(path, large, `Authorization: Bearer tqmt_${'0'.repeat(32)}`)).answer).toMatch(
      /^HTTP\/1\.1 401 /,
    )
    const piece = 'a'.repeat(40 * KB)
    const chunked = `${post(path, 'Transfer-Encoding: chunked')}${piece.length.toString(16)}\r\n${piece}\r\n`
    expect(await open(url, chunked).answer).toMatch(/^HTTP\/1\.1 401 /)
    const known = await call('POST', path, { token: seller.token, body: { descriptor: 'x', padding: piece } })
    expect(known.status).not.toBe(401)
  })
})

describe('the memory of all bodies', () => {
  const limits = { bodiesBytes: 1000, bodyBytes: 100 }
  const begun = (bodies: HeldBodies, address: string | undefined, bytes: number) => {
    const body = bodies.begin(address)
    const state = { body, isCut: false }
    body.whole(() => new Promise(() => {})).catch(() => {})
    void body.whole((untilCut) => untilCut(new Promise(() => {}))).catch(() => (state.isCut = true))
    body.take(bytes)
    return state
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve))

  test('is never more than it may be, and a network leaves half of it to others', async () => {
    for (const networkAddress of [() => '192.0.2.1', (n: number) => `2001:db8:0:7::${n.toString(16)}`]) {
      const bodies = new HeldBodies(limits)
      const one = Array.from({ length: 50 }, (_, n) => begun(bodies, networkAddress(n), 50))
      expect(bodies.bytes).toBe(500)
      await settled()
      expect(one.map(({ isCut }) => isCut)).toEqual([...Array(40).fill(true), ...Array(10).fill(false)])
    }
  })

  test('has room for eight whole bodies of one network, whatever others hold', async () => {
    const bodies = new HeldBodies({ bodiesBytes: 3200, bodyBytes: 100 })
    for (let n = 0; n < 1200; n++) begun(bodies, `198.51.100.${n % 200}`, 2)
    const own = Array.from({ length: 8 }, () => begun(bodies, '192.0.2.1', 100))
    await settled()
    expect(own.filter(({ isCut }) => isCut)).toEqual([])
    expect(bodies.bytes).toBe(3200)
  })

  test('counts what a runtime reads that says no length', async () => {
    const bodies = new HeldBodies({ bodiesBytes: 1000, bodyBytes: 400 })
    const held = bodies.begin('192.0.2.1')
    const source = { body: async () => new TextEncoder().encode(`{"a":"${'a'.repeat(300)}"}`) }
    const request = new Request('http://localhost/')
    await readFields(
      { request, headers: new Headers({ 'content-type': 'application/json' }), source },
      {
        ...{ limit: 400, isSnapshot: false, held },
      },
    )
    expect(bodies.bytes).toBe(308)
  })

  test('is taken from whoever holds most, and never from who holds less', async () => {
    const bodies = new HeldBodies(limits)
    const many = Array.from({ length: 20 }, (_, n) => begun(bodies, `192.0.2.${n % 4}`, 50))
    expect(bodies.bytes).toBe(1000)
    const small = Array.from({ length: 100 }, (_, n) => begun(bodies, `198.51.100.${n}`, 2))
    await settled()
    expect(small.filter(({ isCut }) => isCut)).toEqual([])
    expect(many.filter(({ isCut }) => isCut).length).toBe(4)
    expect(bodies.bytes).toBeLessThanOrEqual(1000)
  })

  test('is free again when requests are answered, and whole bodies are not cut', async () => {
    const bodies = new HeldBodies(limits)
    const held: HeldBody[] = []
    for (let n = 0; n < 8; n++) {
      const body = bodies.begin('192.0.2.1')
      await body.whole(async () => body.take(60))
      held.push(body)
    }
    expect(() => bodies.begin('192.0.2.1').take(60)).toThrow(expect.objectContaining({ code: 'overloaded' }))
    for (const body of held) {
      body.release()
      body.release()
    }
    expect(bodies.bytes).toBe(0)
  })
})

describe('one connection that sends on without waiting for answers', () => {
  const silent = async () => {
    const counts = { asked: 0, begun: 0 }
    const fetch = () => {
      counts.begun++
      return new Promise<Response>(() => {})
    }
    served = await serve({ fetch }, { port: 0, closeMs: 10 })
    ;(served.server as Server).on('request', () => counts.asked++)
    return { url: served.url, asked: () => counts.asked, begun: () => counts.begun }
  }

  test('is not read while many of its requests are under way', async () => {
    const { url, asked } = await silent()
    const request = `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Padding: ${'x'.repeat(2000)}\r\n\r\n`
    open(url, request.repeat(1000))
    await expect.poll(asked).toBeGreaterThanOrEqual(16)
    for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
    // It has sent two megabytes. One read takes at most 64 kB.
    expect(asked()).toBeLessThan(100)
  })

  test('is closed when one read of it brings too many', async () => {
    const { url, begun } = await silent()
    const { socket } = open(url, 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(50_000))
    await expect.poll(() => socket.closed).toBe(true)
    // A connection whose head never ends is closed too, after ten seconds, and by then all would have begun.
    expect(begun()).toBeLessThanOrEqual(256)
  })
})

test('urgent requests are no more in line than others may be', () => {
  const arrivals = new Arrivals<Arrival>(() => {})
  const all = Array.from({ length: 15_000 }, () => new Socket())
  for (const socket of all) arrivals.add({ req: { url: '/healthz', socket }, handler: {} })
  expect(all.filter(({ destroyed }) => destroyed).length).toBe(3000)
})
