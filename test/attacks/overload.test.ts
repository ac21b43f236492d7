import type { Server } from 'node:http'
import { connect } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { serve } from '../../adapters/node.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Service } from '../../src/index.js'
import { storageOver } from '../../src/storage/service-storage.js'
import { type Call, caller } from '../support/api.js'
import { deferred } from '../support/pieces.js'
import { expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { balanceOf, newCommodity, newPayer, newSeller } from '../support/scenes/world.js'

/** Waits without a timer, which a test may stop. */
async function until(check: () => boolean): Promise<void> {
  while (!check()) await new Promise((resolve) => setImmediate(resolve))
}

/** Serves a service, and counts the requests that the server has read. */
async function counted(service: Service) {
  let asked = 0
  const served = await serve(service, { port: 0 })
  ;(served.server as Server).on('request', () => asked++)
  return { served, asked: () => asked }
}

/** A shop over a storage that can be held up: what is asked of it then waits. */
async function shop(queue: number) {
  const storage = memoryStorage()
  let gate: Promise<void> | undefined
  const inTime = async <T>(job: () => Promise<T>): Promise<T> => {
    await gate
    return job()
  }
  const slow = storageOver(storage, {
    read: (body) => inTime(() => storage.read(body)),
    write: (body) => inTime(() => storage.write(body)),
  })
  const service = createService({ sandbox: true, storage: slow, limits: { queue } })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const { hash } = await newCommodity(call, seller)
  const payer = await newPayer(call, seller, { balance: 100 })
  const hold = () => {
    const { promise, resolve } = deferred<void>()
    gate = promise
    return () => {
      gate = undefined
      resolve()
    }
  }
  const pay = (key: string) =>
    call('POST', `/v4/payment/${hash}`, { token: payer.token, headers: { 'idempotency-key': key } })
  return { service, call, payer, hold, pay, hash }
}

afterEach(() => void vi.useRealTimers())

describe('a service that gets more than it can answer', () => {
  test('lets as many wait as its queue holds, and each payment happens once in the end', async () => {
    const { service, call, payer, hold, pay } = await shop(10)
    const release = hold()
    const sent = Array.from({ length: 25 }, (_, n) => pay(`key-${n}`))
    const turnedAway = await Promise.all(sent.slice(10))
    for (const answer of turnedAway) expectProblem(answer, 503, 'overloaded')
    expect((await call('GET', '/healthz')).status).toBe(200)
    expectProblem(await call('GET', '/readyz'), 503, 'not_ready')
    release()
    for (const answer of await Promise.all(sent.slice(0, 10))) expect(answer.status).toBe(202)
    expect((await call('GET', '/readyz')).body).toMatchObject({ ready: true, queue: 10 })
    for (let n = 0; n < 25; n++) expect((await pay(`key-${n}`)).status).toBe(202)
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(100 - 25 * 0.25)
    await expectSoundLedger(call)
    await service.close()
  })

  test('behind a server, turns a few away at a time, and serves the others as soon as it has room', async () => {
    const { service, call, payer, hash } = await shop(10)
    const { served, asked } = await counted(service)
    const over = caller({ url: served.url, fetch })
    const answers: Awaited<ReturnType<Call>>[] = []
    const send = async (n: number) => {
      const headers = { 'idempotency-key': `key-${n}`, origin: 'http://localhost:3000' }
      answers.push(await over('POST', `/v4/payment/${hash}`, { token: payer.token, headers }))
    }
    const answered = (count: number) => until(() => answers.length === count)
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    while (service.waiting.enter());
    const sent = Array.from({ length: 25 }, (_, n) => send(n))
    await until(() => asked() === 25)
    for (const turnedAway of [10, 20]) {
      vi.advanceTimersByTime(10)
      await answered(turnedAway)
      // A whole round trip later, there is no further answer.
      expect((await over('GET', '/healthz')).status).toBe(200)
      expect((await over('GET', '/_sandbox/clock')).status).toBe(200)
      const unready = await over('GET', '/readyz')
      expectProblem(unready, 503, 'not_ready')
      expect([unready.body.waiting, answers.length]).toEqual([10, turnedAway])
    }
    for (const answer of answers) {
      expectProblem(answer, 503, 'overloaded')
      expect(answer.body).toMatchObject({ waiting: 10, queue: 10, docs: expect.stringContaining('overloaded') })
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
      expect(answer.headers.get('access-control-allow-origin')).toBe('http://localhost:3000')
    }
    while (service.waiting.count > 0) service.waiting.leave()
    vi.advanceTimersByTime(10)
    await Promise.all(sent)
    expect(answers.map(({ status }) => status)).toEqual([...Array(20).fill(503), ...Array(5).fill(202)])
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(100 - 5 * 0.25)
    await expectSoundLedger(call)
    expect(service.waiting.count).toBe(0)
    vi.useRealTimers()
    await served.close()
    await service.close()
  })

  test('behind a server, stops reading a connection that sends on without waiting for its answers', async () => {
    const { service, hold, pay } = await shop(1)
    const { served, asked } = await counted(service)
    const release = hold()
    const paid = pay('key')
    await until(() => service.waiting.count === 1)
    const socket = connect(Number(new URL(served.url).port), '127.0.0.1')
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
    const answers = () => text.split('HTTP/1.1 ').length - 1
    const request = `GET /v4/dq HTTP/1.1\r\nHost: localhost\r\nX-Padding: ${'x'.repeat(2000)}\r\n\r\n`
    socket.write(request.repeat(600))
    await until(() => answers() >= 20)
    // It has sent a megabyte. One read takes at most 64 kB.
    expect(asked()).toBeLessThan(100)
    release()
    expect((await paid).status).toBe(202)
    await until(() => answers() === 600)
    socket.destroy()
    await served.close()
    await service.close()
  })
})
