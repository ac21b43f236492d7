import { afterEach, describe, expect, test, vi } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import {
  type CardCharge,
  type CardRefund,
  type Cards,
  createService,
  type RefundResult,
  type Service,
  type ServiceOptions,
  type Upstream,
} from '../../src/index.js'
import type { CheckoutChargeRow, CheckoutRow } from '../../src/market/checkout/checkout-row.js'
import type { Storage } from '../../src/storage/storage.js'
import { type Call, caller } from '../support/api.js'
import { gate } from '../support/scenes/card-service.js'
import {
  complete,
  guest,
  type Link,
  newCheckout,
  newShop,
  type Shop,
  settled,
  statusOf,
  withCard,
} from '../support/scenes/checkout.js'
import { expectProblem } from '../support/scenes/market.js'
import { again, DAY } from '../support/scenes/transfers.js'
import { useFileStorages } from '../support/storage/file-storages.js'

const never = () => new Promise<never>(() => {})

/** A storage that outlives the services on it. */
const keptOpen = (storage: Storage): Storage => ({ ...storage, close: async () => {} })

/** What is delivered, and how often it was asked for. */
function delivering(answer: () => Promise<Response> = async () => new Response('The story.')) {
  const port = {
    asked: 0,
    async fetch() {
      port.asked++
      return answer()
    },
  }
  return port satisfies Upstream
}

/** A processor that charges, and gives back, once for each id. */
function processor({ charge, refund }: Partial<Cards> = {}) {
  const charged = new Map<string, CardCharge>()
  const refunds: CardRefund[] = []
  const cards: Cards = {
    save: never,
    async charge(order) {
      charged.set(order.id, order)
      return charge ? charge(order) : { status: 'succeeded', charge_id: `ch_${order.id}` }
    },
    async refund(order) {
      refunds.push(order)
      return refund ? refund(order) : { status: 'refunded', refund_id: `re_${order.id}` }
    },
  }
  return { cards, charged, refunds }
}

type Ports = Pick<ServiceOptions, 'upstream' | 'cards' | 'encryptionKey'>

const started: Service[] = []
afterEach(async () => {
  for (const service of started.splice(0)) await service.close()
})

async function start(storage: Storage, ports: Ports) {
  const log = { error: () => {} }
  const service = createService({
    storage,
    sandbox: true,
    log,
    upstream: delivering(),
    cards: processor().cards,
    ...ports,
  })
  await service.ready()
  const call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
  const rows = async <R>(name: string) => ((await storage.export()).rows[name] ?? []) as unknown as R[]
  return {
    service,
    call,
    checkouts: () => rows<CheckoutRow>('checkouts'),
    charges: () => rows<CheckoutChargeRow>('checkout_charges'),
  }
}

/** A shop on a clock that stands still, a link, and a guest. */
async function prepared(storage: Storage, ports: Ports = {}) {
  const running = await start(storage, ports)
  await running.service.sandbox.setClock({ mode: 'manual' })
  const shop = await newShop(running.call, 'https://api.example.test/story')
  return { ...running, shop, link: await newCheckout(running.call, shop), reader: await guest(running.call) }
}

const paidOnce = async (call: Call, link: Link, shop: Shop, sums: object) => {
  expect(await statusOf(call, link)).toBe('paid')
  const { seller, payer } = { seller: await again(call, shop.seller), payer: await again(call, shop.payer) }
  expect(await settled(call, { ...shop, seller, payer })).toEqual(sums)
}

const files = useFileStorages()
const storages: Record<string, () => Promise<Storage>> = {
  memory: async () => memoryStorage(),
  'memory, every write run twice': async () => memoryStorage({ rerun: true }),
  file: () => files.open(),
}

describe.each(Object.entries(storages))('A process that is killed, on %s,', (_, open) => {
  test('while it delivers charges nothing, and the next attempt pays', async () => {
    const storage = keptOpen(await open())
    const first = await prepared(storage, { upstream: { fetch: never } })
    void complete(first.call, first.link, first.shop.payer)
    await vi.waitUntil(async () => (await first.checkouts())[0]?.receipt_id != null)
    const upstream = delivering()
    const { call, service } = await start(storage, { upstream })
    started.push(service)
    expect(await statusOf(call, first.link)).toBe('unpaid')
    expect((await complete(call, first.link, first.shop.payer)).status).toBe(200)
    expect(upstream.asked).toBe(1)
    await paidOnce(call, first.link, first.shop, { seller: 2, payer: 8, issued: 10 })
  })

  test('while it delivers after a card charge keeps the charged value, which pays for the next attempt', async () => {
    const storage = keptOpen(await open())
    const { cards, charged } = processor()
    const first = await prepared(storage, { cards, upstream: { fetch: never } })
    void withCard(first.call, first.link, first.reader)
    await vi.waitUntil(async () => (await first.checkouts())[0]?.receipt_id != null)
    const { call, service } = await start(storage, { cards })
    started.push(service)
    expect(await statusOf(call, first.link)).toBe('unpaid')
    expect((await withCard(call, first.link, first.reader)).status).toBe(200)
    expect(charged.size).toBe(1)
    await paidOnce(call, first.link, first.shop, { seller: 2, payer: 10, issued: 12 })
  })

  test('while it charges a card blocks other payments until the outcome is known, and that charge then pays', async () => {
    const storage = keptOpen(await open())
    const first = await prepared(storage, { cards: { ...processor().cards, charge: never } })
    void withCard(first.call, first.link, first.reader)
    await vi.waitUntil(async () => (await first.charges()).length === 1)
    const answering = gate()
    const { cards, charged } = processor({
      charge: async ({ id }) => {
        await answering.opened
        return { status: 'succeeded', charge_id: `ch_${id}` }
      },
    })
    const { call, service } = await start(storage, { cards })
    started.push(service)
    await vi.waitUntil(() => charged.size === 1)
    expect(await statusOf(call, first.link)).toBe('paying')
    expectProblem(await withCard(call, first.link, first.reader), 409, 'checkout_paying')
    expectProblem(await complete(call, first.link, first.shop.payer), 409, 'checkout_paying')
    answering.open()
    await vi.waitUntil(async () => (await statusOf(call, first.link)) === 'unpaid')
    expect((await withCard(call, first.link, first.reader)).status).toBe(200)
    expect(charged.size).toBe(1)
    await paidOnce(call, first.link, first.shop, { seller: 2, payer: 10, issued: 12 })
  })
})

test('two services over one storage charge one payer once, and return the same receipt', async () => {
  const storage = { ...keptOpen(memoryStorage()), exclusive: false }
  const upstream = delivering(
    () => new Promise((resolve) => setTimeout(() => resolve(new Response('The story.')), 100)),
  )
  const { cards, charged } = processor()
  const encryptionKey = '7'.repeat(64)
  const one = await prepared(storage, { upstream, cards, encryptionKey })
  const two = await start(storage, { upstream, cards, encryptionKey })
  started.push(one.service, two.service)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => withCard((n % 2 ? one : two).call, one.link, one.reader)),
  )
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  expect([answers[0]?.status, charged.size, upstream.asked]).toEqual([200, 1, 1])
})

test('another process ends the attempt of a dead process after a while, once the purchase is reversed', async () => {
  const storage = { ...keptOpen(memoryStorage()), exclusive: false }
  const first = await prepared(storage, { upstream: { fetch: never } })
  void complete(first.call, first.link, first.shop.payer)
  await vi.waitUntil(async () => (await first.checkouts())[0]?.receipt_id != null)
  const { call, service } = await start(storage, {})
  started.push(service)
  expect(await statusOf(call, first.link)).toBe('paying')
  await service.sandbox.advance('2m')
  expect(await statusOf(call, first.link)).toBe('unpaid')
  expect((await complete(call, first.link, first.shop.payer)).status).toBe(200)
  await paidOnce(call, first.link, first.shop, { seller: 2, payer: 8, issued: 10 })
})

describe('A card charge for a link that expires', () => {
  const unavailable = delivering(async () => new Response('', { status: 503 }))

  async function expired(refund?: (order: CardRefund) => Promise<RefundResult>) {
    const ports = processor(refund && { refund })
    const running = await prepared(memoryStorage(), { cards: ports.cards, upstream: unavailable })
    started.push(running.service)
    expectProblem(await withCard(running.call, running.link, running.reader), 502, 'upstream_failed')
    await running.service.sandbox.advance(`${DAY / 1000}s`)
    return { ...running, ...ports }
  }

  const sums = async ({ service }: { service: Service }) => {
    const { ok, digital_quantities } = await service.sandbox.ledger()
    const [{ issued, held } = { issued: 0, held: 0 }] = digital_quantities
    return { ok, issued, held }
  }

  test('is refunded under the id of the charge, and its value is no longer held', async () => {
    const running = await expired()
    const { refunds } = running
    const [charge] = running.charged.values()
    await vi.waitUntil(() => refunds.length === 1)
    expect(refunds).toEqual([
      {
        id: expect.stringMatching(/^refund_[0-9a-f]{32}$/),
        charge_id: `ch_${charge?.id}`,
        amount: '2000',
        decimals: 3,
        currency: 'USD',
      },
    ])
    await expect.poll(() => sums(running)).toEqual({ ok: true, issued: 10, held: 0 })
  })

  test('stays held until the failing processor refunds it, which is asked with the same id each time', async () => {
    let asked = 0
    const running = await expired(async ({ id }) => {
      if (asked++ < 2) throw new Error('the connection broke')
      return { status: 'refunded', refund_id: `re_${id}` }
    })
    expect(await sums(running)).toEqual({ ok: true, issued: 12, held: 2 })
    await running.service.sandbox.advance('1h')
    expect(new Set(running.refunds.map(({ id }) => id)).size).toBe(1)
    expect(running.refunds).toHaveLength(3)
    expect(await sums(running)).toEqual({ ok: true, issued: 10, held: 0 })
  })

  test("stays in the checkout's twin if the processor refuses the refund, and the link's maker gets an event", async () => {
    const running = await expired(async () => ({ status: 'refused', reason: 'too long ago' }))
    await expect.poll(() => sums(running)).toEqual({ ok: true, issued: 12, held: 0 })
    const { token } = await again(running.call, running.shop.seller)
    const { events } = (await running.call('GET', '/v4/events?type=checkout.refund_refused', { token })).body
    expect(events).toMatchObject([{ subject: `checkout:${running.link.id}`, data: { reason: 'too long ago' } }])
    expect(running.refunds).toHaveLength(1)
  })
})
