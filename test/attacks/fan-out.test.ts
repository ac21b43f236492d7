import { afterEach, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { routeList } from '../../scripts/route-table.js'
import { createService, type Service, type ServiceOptions } from '../../src/index.js'
import type { Storage } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { addItem, newCart, newItem, payCart } from '../support/scenes/carts.js'
import { guest, newCheckout, withCard } from '../support/scenes/checkout.js'
import { expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { paywall } from '../support/scenes/paywall.js'
import { newPayer, newReader, newSeller, newTwin, type Payer, type Seller } from '../support/scenes/world.js'

const started: Service[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.close()))
})

const VICTIM = 'https://victim.example.test/'

type Started = Pick<ServiceOptions, 'storage' | 'clock' | 'limits'> & {
  /** What the host answers. */
  readonly status?: number
}

async function start({ limits, status = 200, ...options }: Started = {}) {
  const called: string[] = []
  const upstream = {
    async fetch({ url }: { url: string }) {
      called.push(url)
      return new Response('ok', { status })
    },
  }
  const service = createService({ sandbox: true, upstream, limits: { closeMs: 20, ...limits }, ...options })
  started.push(service)
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const payer = await newReader(call, seller, { balance: 1000 })
  const item = (by: Seller, price: number, host = VICTIM) => newItem(call, by, { price, external_endpoint: host })
  /** A paid cart with these quantities of an item, one in each line. */
  const pay = async ({ token }: Payer, { id }: { id: number }, quantities: readonly number[]) => {
    const cart = await newCart(call, { token })
    for (const quantity of quantities)
      expect((await addItem(call, { token }, cart, { catalog_item_id: id, quantity })).status).toBe(201)
    return payCart(call, { token }, cart)
  }
  return { service, call, called, seller, payer, item, pay }
}

const FULL = Array<number>(50).fill(99)

test('one payment of a free cart of 50 lines of 99 makes no call to the server of someone else', async () => {
  const { called, seller, payer, item, pay } = await start()
  const answer = await pay(payer, await item(seller, 0), FULL)
  expectProblem(answer, 429, 'too_many_calls')
  expect([answer.body.limit, called.length]).toEqual([500, 0])
})

test('a cart that costs next to nothing makes 500 calls and no more, and what it refuses costs nothing', async () => {
  const { service, called, seller, payer, item, pay, call } = await start()
  const cheap = await item(seller, 0.01)
  expectProblem(await pay(payer, cheap, FULL), 429, 'too_many_calls')
  expect(called).toEqual([])
  const { status, body } = await pay(payer, cheap, [99])
  expect([status, body.status, called.length]).toEqual([200, 'paid', 99])
  await expectSoundLedger(call)
  expect(service).toBeDefined()
})

test('free calls of one payer to one host are limited, whoever sells them, and by whichever user of an account', async () => {
  const { call, called, seller, payer, item, pay } = await start()
  const items = [await item(seller, 0), await item(await newSeller(call), 0), await item(await newSeller(call), 0)]
  for (const each of items) expect((await pay(payer, each, [99])).status).toBe(200)
  const refused = await pay(payer, await item(seller, 0), [4])
  expectProblem(refused, 429, 'too_many_calls')
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(800)
  expect(called.length).toBe(297)
  // Another payer is not refused, nor is the payer at another host, or for what costs something.
  const other = await newPayer(call, await newSeller(call), { balance: 1 })
  expect((await pay(other, items[0] ?? { id: 0 }, [3])).status).toBe(200)
  expect((await pay(payer, await item(seller, 0, 'https://other.example.test/'), [4])).status).toBe(200)
  expect((await pay(payer, await item(seller, 0.01), [4])).status).toBe(200)
  // Single purchases count too.
  const buy = (id: number) =>
    call('POST', `/v4/catalog/items/${id}/purchases`, { token: payer.token, body: { arguments: {} } })
  const statuses = []
  for (let n = 0; n < 4; n++) statuses.push((await buy(items[0]?.id ?? 0)).status)
  expect(statuses).toEqual([201, 201, 201, 429])
})

test('unproven users of one account share its free calls', async () => {
  const { call, called, seller, item, pay } = await start()
  const free = await item(seller, 0)
  const statuses = []
  for (let n = 0; n < 4; n++) statuses.push((await pay(await newPayer(call, seller), free, [99])).status)
  expect([statuses, called.length]).toEqual([[200, 200, 200, 429], 297])
})

/** Adds to the calls that each payer has paid for today. */
async function addPaidCalls(storage: Storage, more: number): Promise<void> {
  const state = await storage.export()
  const counts = (state.rows.daily_counts ?? []).map((row) => {
    const { id, count } = row as { id: string; count: number }
    return id.startsWith('paid_calls:') ? { ...row, count: count + more } : row
  })
  await storage.import({ ...state, rows: { ...state.rows, daily_counts: counts as never } })
}

test('calls that cost next to nothing are limited in a day too, because the price may come back', async () => {
  const storage = memoryStorage()
  const { call, called, seller, payer, item, pay } = await start({ storage })
  const cheap = await item(seller, 0.01)
  expect((await pay(payer, cheap, [99])).status).toBe(200)
  await addPaidCalls(storage, 20_000 - 100)
  expect((await pay(payer, cheap, [1])).status).toBe(200)
  const refused = await pay(payer, cheap, [1])
  expectProblem(refused, 429, 'too_many_calls')
  expect([refused.body.limit, called.length]).toEqual([20_000, 100])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(86_000)
  // Another host, and another payer, are not refused.
  expect((await pay(payer, await item(seller, 0.01, 'https://other.example.test/'), [1])).status).toBe(200)
  const other = await newReader(call, await newSeller(call), { balance: 1 })
  expect((await pay(other, cheap, [1])).status).toBe(200)
})

test('calls of the paywall are limited in a day too, because a payer may pay themselves', async () => {
  const storage = memoryStorage()
  const { call, called, seller, payer, item, pay } = await start({ storage, status: 500 })
  const { hostname: destination } = await newTwin(call, payer.token)
  const relay = (serviceUrl: string) =>
    paywall(call, { token: payer.token }, { amount: 0.001, destination, serviceUrl })
  expect((await relay(`${VICTIM}one`)).status).toBe(500)
  await addPaidCalls(storage, 20_000 - 2)
  expect((await relay(`${VICTIM}two`)).status).toBe(500)
  const refused = await relay(`${VICTIM}three`)
  expectProblem(refused, 429, 'too_many_calls')
  expect([refused.body.limit, called.length]).toEqual([20_000, 2])
  // Purchases count with them. Another host, and what calls nobody, are not refused.
  expectProblem(await pay(payer, await item(seller, 0.01), [1]), 429, 'too_many_calls')
  expect((await relay('https://other.example.test/')).status).toBe(500)
  expect((await paywall(call, { token: payer.token }, { amount: 0.001, destination })).status).toBe(200)
  await expectSoundLedger(call)
})

test('a card that was charged once makes free calls, as often as its payer tries again', async () => {
  const { call, called, seller } = await start({ status: 500, limits: { freeCalls: 3 } })
  const { body: sold } = await call('POST', '/v4/catalog/items', {
    token: seller.token,
    body: {
      ...{ name: 'A story', description: 'Told once.', price: 2, descriptor: 'STORY', service_method: 'GET' },
      ...{ external_endpoint: VICTIM, service_schema: { type: 'object', properties: { topic: { type: 'string' } } } },
    },
  })
  const link = await newCheckout(call, { seller, item: sold })
  const payer = await guest(call)
  const tries = []
  for (let n = 0; n < 6; n++) tries.push((await withCard(call, link, payer)).body.code)
  // The card paid for the first call.
  expect(tries).toEqual([...Array<string>(4).fill('upstream_failed'), 'too_many_calls', 'too_many_calls'])
  expect(called.length).toBe(4)
  // Nobody is charged again, and others pay the same seller.
  const other = await newCheckout(call, { seller, item: sold })
  expect((await withCard(call, other, await guest(call))).body.code).toBe('upstream_failed')
  await expectSoundLedger(call)
})

test('every operation that calls an endpoint says that its calls are limited', () => {
  const calling = routeList.filter(({ errors = [] }) => errors.some((code) => code === 'too_many_hops'))
  const unlimited = calling.filter(({ errors = [] }) => !errors.some((code) => code === 'too_many_calls'))
  expect(unlimited.map(({ id }) => id)).toEqual([])
  expect(calling.map(({ id }) => id)).toContain('callPaywall')
})
