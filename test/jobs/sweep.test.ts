import { expect, it, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type ServiceOptions } from '../../src/index.js'
import { rates } from '../../src/jobs/rates/rate.js'
import { SWEEP_ROWS } from '../../src/jobs/retention/sweep.js'
import { SWEEP } from '../../src/jobs/retention/sweep-timer.js'
import { timers } from '../../src/jobs/schedule/timer.js'
import { sharingRefreshes } from '../../src/sandbox/scripted-agent/agent.js'
import { DAY } from '../../src/storage/retention.js'
import type { Storage } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { addItem, filledCart, newCart, newItem, readCart, TEXT_SCHEMA } from '../support/scenes/carts.js'
import { purchase } from '../support/scenes/catalog.js'
import { expectProblem } from '../support/scenes/market.js'
import { newGuest } from '../support/scenes/sign-in.js'
import { newCommodity, newPayer, newSeller, tokenFor } from '../support/scenes/world.js'
import { bound } from '../support/storage/bound.js'

const BEGIN = Date.UTC(2031, 4, 1, 12)

async function started(options: Partial<ServiceOptions> = {}, storage: Storage = memoryStorage()) {
  const upstream = {
    fetch: async () => new Response('{"sky":"clear"}', { headers: { 'content-type': 'application/json' } }),
  }
  const service = createService({ storage, upstream, sandbox: true, ...options })
  const call = caller({
    url: 'http://127.0.0.1:4242',
    fetch: (request) => service.fetch(request),
    close: () => service.close(),
  })
  await service.sandbox.setClock({ mode: 'manual' })
  await service.sandbox.setClock({ set: BEGIN })
  return { service, storage, call, advance: (duration: string) => service.sandbox.advance(duration) }
}

const fresh = async (call: ReturnType<typeof caller>, who: { clientId: string; clientSecret: string }) => ({
  token: await tokenFor(call, who.clientId, who.clientSecret),
})

it('runs in slices, as many as it needs, and leaves one timer', async () => {
  const { service, storage, advance } = await started()
  const removed: number[] = []
  const counting: Storage['write'] = storage.write
  storage.write = (body) =>
    counting(async (tx) => {
      let count = 0
      const remove: typeof tx.remove = (from, id) => {
        if (from.name === rates.name) count++
        tx.remove(from, id)
      }
      const value = await body({ ...bound(tx), remove })
      if (count > 0) removed.push(count)
      return value
    })
  await counting(async (tx) => {
    for (let i = 0; i < 1000; i++) tx.put(rates, { id: `old:${i}`, times: [], until: BEGIN })
    tx.put(rates, { id: 'new', times: [], until: BEGIN + 10 * DAY })
  })
  await advance('1d')
  const { rows } = await storage.export()
  expect(rows.rates?.map(({ id }) => id)).toEqual(['new'])
  expect(removed.length).toBeGreaterThanOrEqual(Math.floor(1000 / SWEEP_ROWS))
  expect(Math.max(...removed)).toBeLessThanOrEqual(SWEEP_ROWS)
  expect(rows.timers).toMatchObject([{ kind: SWEEP }])
  await service.close()
})

it('goes on where it stopped when the service stops between two slices', async () => {
  const { service, storage } = await started()
  await storage.write(async (tx) => {
    for (let i = 0; i < 1000; i++) tx.put(rates, { id: `old:${i}`, times: [], until: BEGIN })
  })
  const state = await storage.export()
  await service.close()
  const next = memoryStorage()
  await next.import(state)
  let left = 2
  const write: Storage['write'] = next.write
  // The second slice fails, as if the process had ended.
  next.write = (body) =>
    write(async (tx) => {
      const value = await body(tx)
      if ((await tx.find(rates, { index: 'id', prefix: [], limit: 1001 })).length < 1000 && left-- > 0)
        throw new Error('on purpose')
      return value
    })
  const again = createService({ storage: next, sandbox: true, log: { error() {} } })
  await again.sandbox.advance('1d')
  expect((await next.export()).rows.rates ?? []).toEqual([])
  await again.close()
})

it('waits an hour if it comes more than a day late, because the clock may be wrong', async () => {
  let now = BEGIN
  // It outlives the services.
  const storage: Storage = { ...memoryStorage(), close: async () => {} }
  const open = async () => {
    const service = createService({ storage, clock: { now: () => now }, alarm: { set: () => () => {} } })
    await service.ready()
    await service.fetch(new Request('http://127.0.0.1:4242/v4/dq'))
    return service
  }
  const settled = (expected: number) =>
    expect.poll(async () => (await storage.export()).rows.rates?.length ?? 0).toBe(expected)
  await (await open()).close()
  await storage.write(async (tx) => tx.put(rates, { id: 'still valid', times: [], until: BEGIN + 3 * 3_600_000 }))
  now += 2 * 3_600_000
  await (await open()).close()
  now += 365 * DAY
  const jumped = await open()
  await expect.poll(async () => (await dueOf(storage)) ?? 0).toBe(now + 3_600_000)
  await settled(1)
  await jumped.close()
  // The clock is corrected, and the sweep is planned anew.
  now -= 365 * DAY
  await (await open()).close()
  await settled(1)
  expect(await dueOf(storage)).toBe(now + 3_600_000)
  now += 4 * 3_600_000
  const right = await open()
  await settled(0)
  await right.close()
})

const dueOf = (storage: Storage) =>
  storage.read(async (tx) => (await tx.find(timers, { index: 'byKind', prefix: [SWEEP], limit: 2 })).at(-1)?.due_at)

it('of two services over one storage runs once', async () => {
  const storage = memoryStorage()
  const first = await started({}, storage)
  const second = createService({ storage, sandbox: true })
  await second.ready()
  await Promise.all([first.advance('3d'), second.sandbox.advance('3d')])
  expect((await storage.export()).rows.timers).toMatchObject([{ kind: SWEEP }])
  await first.service.close()
  await second.close()
})

test("a guest's cart ends a day after its last change, even before the sweep comes", async () => {
  const { service, storage, call, advance } = await started()
  const seller = await newSeller(call)
  const item = await newItem(call, seller, {
    external_endpoint: 'https://api.example.test/',
    service_schema: TEXT_SCHEMA,
  })
  const session = await newGuest(call)
  const cart = await filledCart(call, { session }, [item])
  const id = typeof cart === 'number' ? cart : (cart as { id: number }).id
  await advance('23h')
  expect((await addItem(call, { session }, id, { catalog_item_id: item.id })).status).toBe(201)
  await advance('23h')
  expect((await readCart(call, { session }, id)).status).toBe(200)
  await advance('1h')
  expectProblem(await readCart(call, { session }, id), 404, 'not_found')
  expectProblem(await addItem(call, { session }, id, { catalog_item_id: item.id }), 404, 'not_found')
  await advance('2h')
  const { rows } = await storage.export()
  expect([rows.carts ?? [], rows.cart_lines ?? []]).toEqual([[], []])
  await service.close()
})

test('the cart of a token lasts 30 days, and a session cannot take over a cart that has ended', async () => {
  const { service, call, advance } = await started()
  const seller = await newSeller(call)
  const id = await newCart(call, { token: seller.token })
  await advance('30m')
  expect((await readCart(call, { token: seller.token }, id)).status).toBe(200)
  await advance('31d')
  expectProblem(await readCart(call, await fresh(call, seller), id), 404, 'not_found')
  await service.close()
})

test('a receipt stays, and its response is null when the answer is no longer stored', async () => {
  const { service, call, advance } = await started({ limits: { answerDays: 5 } })
  const seller = await newSeller(call)
  const item = await newItem(call, seller, {
    external_endpoint: 'https://api.example.test/',
    service_schema: TEXT_SCHEMA,
  })
  const payer = await newPayer(call, seller, { balance: 5 })
  const { body: bought } = await purchase(call, { token: payer.token }, item, { arguments: {} })
  const read = async () => (await call('GET', `/v4/purchases/${bought.transaction_id}`, await fresh(call, payer))).body
  await advance('4d')
  expect(await read()).toMatchObject({ status: 'paid', response: { status: 200, body: '{"sky":"clear"}' } })
  await advance('2d')
  expect(await read()).toEqual({ ...bought, response: null })
  await service.close()
})

test('the outbox keeps only the newest messages, and all that are pending', async () => {
  const { service, storage, call, advance } = await started({ limits: { outboxMessages: 5 } })
  for (let i = 0; i < 12; i++)
    await call('POST', '/v4/session/code', { session: await newGuest(call), body: { email: `u${i}@example.test` } })
  await advance('3h')
  const kept = (await service.sandbox.outbox({ limit: 100 })).messages.map(({ to }) => to)
  expect(kept).toEqual([11, 10, 9, 8, 7].map((i) => `u${i}@example.test`))
  expect((await storage.export()).rows.outbox).toHaveLength(5)
  await service.close()
})

test('a client that follows events after one that is gone learns where events may be missing', async () => {
  const { service, call, advance } = await started({ limits: { eventDays: 10 } })
  const seller = await newSeller(call)
  const { hash } = await newCommodity(call, seller)
  const payer = await newPayer(call, seller, { balance: 5 })
  await call('POST', `/v4/payment/${hash}`, { token: payer.token })
  const old = (await call('GET', '/v4/events', { token: payer.token })).body.events
  await advance('20d')
  const { id } = (await call('POST', `/v4/payment/${hash}`, await fresh(call, payer))).body
  await advance('25h')
  const { token } = await fresh(call, payer)
  const { events } = (await call('GET', '/v4/events', { token })).body
  expect(events.map(({ type }: { type: string }) => type)).toEqual(['token.issued', 'payment.created', 'token.issued'])
  const after = old[0].id
  expect((await call('GET', `/v4/events?after=${after}`, { token })).body).toEqual({ events: [], next: null })
  expectProblem(await call('GET', '/v4/events?after=999999', { token }), 400, 'cursor_invalid')
  expectProblem(await call('GET', `/v4/events/${after}`, { token }), 404, 'not_found')

  const headers = { accept: 'text/event-stream', authorization: `Bearer ${token}`, 'last-event-id': String(after - 1) }
  const stream = (await service.fetch(new Request('http://127.0.0.1:4242/v4/events', { headers }))).body
  const reader = stream?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes(`payment:${id}`)) text += (await reader?.read())?.value ?? ''
  const [gap] = text.split('\n\n')
  const until = Number(/^id: (\d+)$/m.exec(gap ?? '')?.[1])
  const data = JSON.stringify({ after: after - 1, until })
  expect(gap).toBe(`: following\nevent: events.removed\ndata: ${data}\nid: ${until}`)
  expect(until).toBeGreaterThanOrEqual(after)
  expect(text.indexOf('events.removed')).toBeLessThan(text.indexOf('payment.created'))
  await reader?.cancel()
  await service.close()
})

test('an answer under an Idempotency-Key whose call still runs stays, however far the clock leaps', async () => {
  let release = (_: Response) => {}
  let asked = 0
  const upstream = {
    fetch: () => {
      asked++
      return new Promise<Response>((resolve) => {
        release = resolve
      })
    },
  }
  const { service, call, advance } = await started({ upstream })
  const seller = await newSeller(call)
  const item = await newItem(call, seller, {
    external_endpoint: 'https://api.example.test/',
    service_schema: TEXT_SCHEMA,
  })
  const payer = await newPayer(call, seller, { balance: 5 })
  const headers = { 'idempotency-key': 'once' }
  const bought = purchase(call, { token: payer.token, headers } as never, item, { arguments: {} })
  await expect.poll(() => asked).toBe(1)
  await advance('3d')
  release(new Response('{}'))
  expect((await bought).status).toBe(201)
  await service.close()
})

test('a map of what was handed out or shared has a limit', async () => {
  let refreshed = 0
  const fetch = sharingRefreshes(async () => {
    refreshed++
    return new Response('{}')
  })
  const refresh = (token: string) =>
    fetch('https://example.test/', { body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: token }) })
  for (let i = 0; i < 200; i++) await refresh(`token ${i}`)
  await refresh('token 199')
  expect(refreshed).toBe(200)
  await refresh('token 0')
  expect(refreshed).toBe(201)
})
