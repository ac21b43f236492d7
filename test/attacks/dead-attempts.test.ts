import { expect, test, vi } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { CheckoutRow } from '../../src/market/checkout/checkout-row.js'
import type { Storage } from '../../src/storage/storage.js'
import { cardService, fastAlarm, gate, sharedStorage } from '../support/scenes/card-service.js'
import { newShop as newItemShop, purchase } from '../support/scenes/catalog.js'
import { complete, guest, newCheckout, newShop, settled, statusOf, withCard } from '../support/scenes/checkout.js'
import { expectProblem } from '../support/scenes/market.js'
import { newProcesses } from '../support/scenes/processes.js'
import { balanceOf } from '../support/scenes/world.js'
import { sharedByProcesses } from '../support/storage/presence.js'

const never = () => new Promise<never>(() => {})
const until = (isSo: () => boolean | Promise<boolean>) => vi.waitUntil(isSo)
const encryptionKey = '7'.repeat(64)

async function prepared(played: Parameters<typeof cardService>[0] = {}) {
  const running = await cardService({ encryptionKey, ...played })
  const shop = await newShop(running.call, 'https://api.example.test/story')
  return { ...running, shop, link: await newCheckout(running.call, shop), reader: await guest(running.call) }
}

const attemptOf = async (storage: Storage) => {
  const [checkout] = ((await storage.export()).rows.checkouts ?? []) as unknown as CheckoutRow[]
  return checkout
}

/** A service that died while it made a try: nothing of it runs any more, and nobody closes it. */
async function died(storage: Storage, played: Parameters<typeof cardService>[0]) {
  const running = await prepared({ storage, ...played, alarm: { set: () => () => {} } })
  running.service.close = async () => {}
  return running
}

test('the next completion ends an attempt whose process died, even while the clock stands still', async () => {
  const { storage, end } = sharedByProcesses(memoryStorage())
  const dead = await died(storage, { upstream: { fetch: never } })
  void complete(dead.call, dead.link, dead.shop.payer)
  await until(async () => (await attemptOf(storage))?.receipt_id != null)
  const next = await cardService({ storage, encryptionKey, alarm: fastAlarm })
  expect(await statusOf(next.call, dead.link)).toBe('paying')
  end()
  expect((await complete(next.call, dead.link, dead.shop.payer)).status).toBe(200)
  expect(await settled(next.call, dead.shop)).toEqual({ seller: 2, payer: 8, issued: 10 })
})

test('a completion answers for a dead attempt that may have charged a card, and charges nobody twice', async () => {
  const { storage, end } = sharedByProcesses(memoryStorage())
  const dead = await died(storage, { charge: never })
  void withCard(dead.call, dead.link, dead.reader)
  await until(() => dead.asked.length === 1)
  const answering = gate()
  const next = await cardService({
    ...{ storage, encryptionKey, alarm: fastAlarm },
    charge: async ({ id }) => {
      await answering.opened
      return { status: 'succeeded', charge_id: `ch_${id}` }
    },
  })
  end()
  const refused = await withCard(next.call, dead.link, dead.reader)
  expectProblem(refused, 409, 'checkout_paying')
  expect([refused.headers.get('retry-after'), refused.body.error]).toEqual([
    '5',
    expect.stringContaining('Send the same request again'),
  ])
  answering.open()
  await next.service.sandbox.advance('1m')
  expect((await withCard(next.call, dead.link, dead.reader)).status).toBe(200)
  expect(next.asked).toEqual(dead.asked)
  expect(await settled(next.call, dead.shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
})

test('an attempt is not dead while the heart of its process beats, however long it takes', async () => {
  const { start, time } = newProcesses({ hints: true })
  const let_ = gate()
  const fetched = vi.fn()
  const upstream = {
    async fetch() {
      fetched()
      await let_.opened
      return new Response('The story.')
    },
  }
  const [one, two] = [await start({ upstream }), await start({ upstream })]
  const shop = await newShop(one.call, 'https://api.example.test/story')
  const link = await newCheckout(one.call, shop)
  const first = complete(one.call, link, shop.payer)
  await time.until(() => fetched.mock.calls.length === 1)
  const second = complete(two.call, link, shop.payer)
  await time.pass(15_000)
  expect(await statusOf(two.call, link)).toBe('paying')
  let_.open()
  const [paid, again] = await time.during(Promise.all([first, second]))
  expect([paid.status, again.body, fetched.mock.calls.length]).toEqual([200, paid.body, 1])
})

test('an attempt that was declared dead charges nothing if it lives after all', async () => {
  const storage = sharedStorage(false)
  const let_ = gate()
  let calls = 0
  const fetch = async () => {
    if (calls++ === 0) await let_.opened
    return new Response('The story.')
  }
  const sleeping = await prepared({ storage, upstream: { fetch }, alarm: { set: () => () => {} } })
  const late = complete(sleeping.call, sleeping.link, sleeping.shop.payer)
  await until(() => calls === 1)
  const next = await cardService({ storage, encryptionKey, upstream: { fetch }, alarm: fastAlarm })
  const paid = await complete(next.call, sleeping.link, sleeping.shop.payer)
  expect(paid.status).toBe(200)
  let_.open()
  expect((await late).status).toBe(502)
  expect(await settled(next.call, sleeping.shop)).toEqual({ seller: 2, payer: 8, issued: 10 })
  expect((await complete(next.call, sleeping.link, sleeping.shop.payer)).body).toEqual(paid.body)
})

/** A storage whose next writes fail, as many as it is told. */
function breaking() {
  const inner = memoryStorage()
  const storage: Storage & { failures: number } = {
    ...inner,
    failures: 0,
    write(body) {
      if (storage.failures === 0) return inner.write(body)
      storage.failures--
      return Promise.reject(new Error('the disk is full'))
    },
  }
  return storage
}

test('an attempt whose end could not be written does not delay the next completion', async () => {
  const storage = breaking()
  let calls = 0
  const { call, link, shop } = await prepared({
    storage,
    upstream: {
      async fetch() {
        if (calls++ === 0) storage.failures = 1
        return new Response('The story.')
      },
    },
  })
  expect((await complete(call, link, shop.payer)).status).toBeGreaterThanOrEqual(500)
  expect((await complete(call, link, shop.payer)).status).toBe(200)
  expect(await settled(call, shop)).toEqual({ seller: 2, payer: 8, issued: 10 })
})

test.each([
  ['that is kept for the next try', 1, 1],
  ['that is lost', 2, 2],
])('a card is charged once and pays although its answer could not be recorded, %s', async (_, failures, times) => {
  const storage = breaking()
  const { call, service, link, shop, reader, asked } = await prepared({
    storage,
    async charge({ id }) {
      if (asked.length === 1) storage.failures = failures
      return { status: 'succeeded', charge_id: `ch_${id}` }
    },
  })
  expectProblem(await withCard(call, link, reader), 502, 'processor_failed')
  expectProblem(await withCard(call, link, reader), 409, 'checkout_paying')
  await service.sandbox.advance('1m')
  expect((await withCard(call, link, reader)).status).toBe(200)
  expect([asked.length, new Set(asked).size]).toEqual([times, 1])
  expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
})

test('a completion waits no longer than an attempt may take', async () => {
  const storage = breaking()
  const fetched = vi.fn()
  const let_ = gate()
  // The call has no deadline of its own here: the alarm of the service never rings for it.
  const { call, link, shop } = await prepared({
    storage,
    upstream: {
      async fetch() {
        fetched()
        await let_.opened
        return new Response('The story.')
      },
    },
    limits: { cardMs: 10, upstreamMs: 3_600_000 },
    alarm: { set: (ms, ring) => fastAlarm.set(ms === 3_640_010 ? 100 : ms, ring) },
  })
  const first = complete(call, link, shop.payer)
  await until(() => fetched.mock.calls.length === 1)
  const refused = await complete(call, link, shop.payer)
  expectProblem(refused, 409, 'checkout_paying')
  expect(refused.headers.get('retry-after')).toBe('5')
  let_.open()
  expect((await first).status).toBe(200)
})

test('an answer from before a restore settles no purchase that has the same id since', async () => {
  const answers: ((response: Response) => void)[] = []
  const upstream = { fetch: () => new Promise<Response>((resolve) => answers.push(resolve)) }
  const { service, call } = await cardService({ upstream })
  const { payer, item } = await newItemShop(call, { price: 1, external_endpoint: 'https://api.example.test/story' })
  const buy = () => purchase(call, { token: payer.token }, item, { arguments: { city: 'Oslo' } })
  const state = await service.sandbox.snapshot()
  const former = buy()
  await until(() => answers.length === 1)
  await service.sandbox.restore(state)
  const later = buy()
  await until(() => answers.length === 2)
  answers[0]?.(new Response('The story.'))
  expect((await former).status).toBeGreaterThanOrEqual(400)
  answers[1]?.(new Response('', { status: 503 }))
  expectProblem(await later, 502, 'upstream_failed')
  expect(await balanceOf(call, payer.token, payer.hostname)).toBe(10)
})
