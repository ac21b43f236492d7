import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { newShop, purchase, WEATHER } from '../support/scenes/catalog.js'
import { expectSoundLedger } from '../support/scenes/market.js'
import { newProcesses, type TestProcess } from '../support/scenes/processes.js'
import { balanceOf } from '../support/scenes/world.js'

const namesAt = async ({ call }: TestProcess): Promise<string[]> =>
  (await call('GET', '/_sandbox/health')).body.processes

describe.each([{ hints: true }, { hints: false }])('processes over one storage (hints: $hints)', ({ hints }) => {
  test('each lists all that are alive, itself first', async () => {
    const { start, time, rowsOf } = newProcesses({ hints })
    const [a, b, c] = [await start(), await start(), await start()]
    const all = [a, b, c].map(({ name }) => name)
    expect(new Set(all).size).toBe(3)
    await time.pass(1500)
    for (const each of [a, b, c]) {
      const names = await namesAt(each)
      expect(names[0]).toBe(each.name)
      expect([...names].sort()).toEqual([...all].sort())
    }
    expect((await rowsOf()).sort()).toEqual([...all].sort())
  })

  test('a killed process is removed after it was silent for long, and one that leaves at once', async () => {
    const { start, time, rowsOf } = newProcesses({ hints })
    const [a, b, c] = [await start(), await start(), await start()]
    await time.pass(1500)
    c.kill()
    await time.pass(8000)
    expect(await rowsOf()).toHaveLength(3)
    await time.pass(5000)
    expect((await rowsOf()).sort()).toEqual([a.name, b.name].sort())
    expect((await namesAt(a)).sort()).toEqual([a.name, b.name].sort())
    await time.during(b.service.close())
    expect(await rowsOf()).toEqual([a.name])
    await time.pass(1500)
    expect(await namesAt(a)).toEqual([a.name])
  })

  test('a process that hung for long is back when it goes on', async () => {
    const { start, time, rowsOf } = newProcesses({ hints })
    const [a, b] = [await start(), await start()]
    await time.pass(1500)
    const resume = b.hang()
    await time.pass(15_000)
    expect(await rowsOf()).toEqual([a.name])
    resume()
    await time.pass(2500)
    expect((await rowsOf()).sort()).toEqual([a.name, b.name].sort())
    expect([a.logged, b.logged]).toEqual([[], []])
  })

  test('a jump of the clock by years removes nobody', async () => {
    const { start, time, rowsOf } = newProcesses({ hints })
    const [a, b] = [await start(), await start()]
    for (const advance of ['800d', '-800d', '40d']) {
      expect((await a.call('POST', '/_sandbox/clock', { body: { advance } })).status).toBe(200)
      expect((await rowsOf()).sort()).toEqual([a.name, b.name].sort())
    }
    await time.pass(3000)
    expect((await namesAt(b)).sort()).toEqual([a.name, b.name].sort())
  })

  test('the others take over a purchase and a mail of a killed process, once', async () => {
    const { start, time } = newProcesses({ hints })
    const mails: string[] = []
    const mailerOf = (name: string, hangs = false) => ({
      send: async ({ to }: { to: string }) => {
        mails.push(`${name} ${to}`)
        if (hangs) await new Promise(() => {})
      },
    })
    const [a, b] = [await start({ mailer: mailerOf('a') }), await start({ mailer: mailerOf('b') })]
    let called = 0
    const hanging = { fetch: () => new Promise<never>(() => void called++) }
    const c = await start({ upstream: hanging, mailer: mailerOf('c', true) })
    const { payer, item } = await newShop(a.call)
    mails.length = 0
    void c.service.fetch(`${c.service.baseUrl}/v4/session/code`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'bob@example.test' }),
    })
    void c.service.fetch(`${c.service.baseUrl}/v4/catalog/items/${item.id}/purchases`, {
      method: 'POST',
      headers: { authorization: `Bearer ${payer.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ arguments: { city: 'Oslo' } }),
    })
    await time.until(() => called === 1 && mails.length === 1)
    const held = await balanceOf(a.call, payer.token, payer.hostname)
    c.kill()
    await time.until(() => mails.length > 1)
    await time.until(async () => (await balanceOf(b.call, payer.token, payer.hostname)) > held)
    await time.pass(14_000)
    expect(mails.slice(1)).toEqual([expect.stringMatching(/^[ab] bob@example\.test$/)])
    const { events } = (await b.call('GET', '/v4/events?type=purchase.reversed', { token: payer.token })).body
    expect(events).toHaveLength(1)
    await expectSoundLedger(a.call)
  })

  test('a process that was taken for dead finds its purchase gone, and changes nothing', async () => {
    const { start, time } = newProcesses({ hints })
    let answer: ((response: Response) => void) | undefined
    const upstream = { fetch: () => new Promise<Response>((resolve) => (answer = resolve)) }
    const [a, b] = [await start(), await start({ upstream })]
    const { payer, item } = await newShop(a.call)
    const headers = { 'idempotency-key': 'once' }
    const buying = purchase(b.call, { token: payer.token, headers }, item, { arguments: { city: 'Oslo' } })
    await time.until(() => answer !== undefined)
    const resume = b.hang()
    const reversed = async () => (await a.call('GET', '/v4/events?type=purchase.*', { token: payer.token })).body.events
    await time.until(async () => (await reversed()).length > 0)
    answer?.(Response.json(WEATHER))
    resume()
    expect((await buying).status).toBeGreaterThanOrEqual(400)
    await time.pass(3000)
    expect((await reversed()).map(({ type }: { type: string }) => type)).toEqual(['purchase.reversed'])
    expect(await balanceOf(b.call, payer.token, payer.hostname)).toBe(10)
    await expectSoundLedger(a.call)
  })

  test('a control does not wait for a killed process, and goes on after one that was killed during it', async () => {
    const { start, time } = newProcesses({ hints })
    const [a, b, c] = [await start(), await start(), await start()]
    await time.pass(1500)
    c.kill()
    expect((await a.call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })).status).toBe(200)
    expect(b.service.sandbox.clock()).toEqual(a.service.sandbox.clock())
    // b keeps all others at rest, and is killed then.
    const resume = b.hang()
    const stuck = a.service.sandbox.advance('1h')
    await time.pass(600)
    a.kill()
    resume()
    void stuck.catch(() => {})
    const before = Date.parse(b.service.sandbox.clock().now)
    expect((await b.call('POST', '/_sandbox/clock', { body: { advance: '2h' } })).status).toBe(200)
    expect(Date.parse(b.service.sandbox.clock().now) - before).toBe(2 * 3_600_000)
  })
})

test('a storage of one process has no rows of processes, and health names none', async () => {
  const storage = memoryStorage()
  const service = createService({ storage, sandbox: true })
  await service.ready()
  await service.sandbox.advance('1h')
  expect((await storage.export()).rows.processes ?? []).toEqual([])
  expect(service.sandbox.health()).not.toHaveProperty('processes')
  await service.close()
})

test('health and probes of a shared storage touch no storage', async () => {
  const { start } = newProcesses({ hints: false })
  const [a] = [await start(), await start()]
  // What asks the storage now gets no answer.
  const resume = a.hang()
  for (const path of ['/healthz', '/readyz', '/_sandbox/health'])
    expect((await a.service.fetch(a.service.baseUrl + path)).status).toBe(200)
  resume()
})

test('a service that closes says so at once, answers what it has begun, and leaves last', async () => {
  const { start, time, rowsOf } = newProcesses({ hints: true })
  let answer: ((response: Response) => void) | undefined
  const upstream = { fetch: () => new Promise<Response>((resolve) => (answer = resolve)) }
  const [a, b] = [await start({ upstream }), await start()]
  const { payer, item } = await newShop(a.call)
  const buying = purchase(a.call, { token: payer.token }, item, { arguments: { city: 'Oslo' } })
  await time.until(() => answer !== undefined)
  const closing = a.service.close()
  expect((await a.service.fetch(`${a.service.baseUrl}/readyz`)).status).toBe(503)
  expect((await b.service.fetch(`${b.service.baseUrl}/readyz`)).status).toBe(200)
  expect(await rowsOf()).toContain(a.name)
  answer?.(Response.json(WEATHER))
  expect((await buying).status).toBe(201)
  await time.during(closing)
  expect(await rowsOf()).toEqual([b.name])
})
