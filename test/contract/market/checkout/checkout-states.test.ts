import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Call, CallOptions } from '../../../support/api.js'
import { contract, type Start } from '../../../support/contract/contract.js'
import {
  changeItem,
  complete,
  type Gate,
  type Link,
  type Made,
  newCheckout,
  newItem,
  newLink,
  newLinkAt,
  readCheckout,
  type Shop,
  settled,
  startGate,
  statusOf,
} from '../../../support/scenes/checkout.js'
import { expectProblem, setClock } from '../../../support/scenes/market.js'
import { again, DAY } from '../../../support/scenes/transfers.js'
import { useUpstream } from '../../../support/scenes/upstream.js'
import { newPayer } from '../../../support/scenes/world.js'

const upstream = useUpstream()
let gate: Gate
beforeAll(async () => {
  gate = await startGate()
})
beforeEach(() => gate.shut())
afterAll(async () => {
  await gate.close()
})

const prepared = (start: Start, made?: Parameters<typeof newLink>[2]) => newLink(start, upstream, made)
const preparedAt = (start: Start) => newLinkAt(start, upstream)

/** Brings a link into a state. */
const states: Readonly<Record<string, (made: Made) => Promise<void>>> = {
  unpaid: async () => {},
  paying: async ({ call, shop, link }) => {
    await changeItem(call, shop, { external_endpoint: gate.url })
    void complete(call, link, shop.payer)
    await expect.poll(() => statusOf(call, link), { interval: 20 }).toBe('paying')
  },
  paid: async ({ call, shop, link }) => {
    expect((await complete(call, link, shop.payer)).status).toBe(200)
  },
  expired: async ({ call, at }) => {
    await setClock(call, at + DAY)
  },
}

contract('The state of a checkout', (start) => {
  /** By state: how reading it, paying it as who paid or would, and as another, ends. */
  const table: readonly [keyof typeof states, read: number, own: number, other: number][] = [
    ['unpaid', 200, 200, 200],
    ['paying', 200, 200, 409],
    ['paid', 200, 200, 409],
    ['expired', 410, 410, 410],
  ]

  it.each(table)('%s: reading is %i, paying %i for who pays, %i for another', async (state, read, own, other) => {
    for (const who of ['own', 'other'] as const) {
      const made = await preparedAt(start)
      const { call, link, seller } = made
      const stranger = await newPayer(call, seller, { balance: 10 })
      await (states[state] as (made: Made) => Promise<void>)(made)
      expect((await readCheckout(call, link)).status).toBe(read)
      const caller = await again(call, who === 'own' ? made.payer : stranger)
      const answering = complete(call, link, caller)
      gate.open()
      expect((await answering).status).toBe(who === 'own' ? own : other)
      gate.shut()
    }
  })

  it('stays paid after it expires', async () => {
    const { call, at, link, shop } = await preparedAt(start)
    const paid = await complete(call, link, shop.payer)
    await setClock(call, at + 2 * DAY)
    expect(await statusOf(call, link)).toBe('paid')
    expect((await complete(call, link, await again(call, shop.payer))).body).toEqual(paid.body)
  })

  it('is expired or paid by the outcome of an attempt that outlasts it', async () => {
    for (const [paid, status] of [
      [200, 200],
      [502, 410],
    ]) {
      const { call, at, link, shop } = await preparedAt(start)
      await changeItem(call, shop, { external_endpoint: gate.url })
      await setClock(call, at + DAY - 1000)
      const trying = complete(call, link, await again(call, shop.payer))
      await expect.poll(() => gate.waiting(), { interval: 20 }).toBe(1)
      expect(await statusOf(call, link)).toBe('paying')
      await setClock(call, at + DAY)
      // Else the time that it may take runs out.
      if (paid === 200) gate.open()
      expect((await trying).status).toBe(paid)
      expect((await readCheckout(call, link)).status).toBe(status)
      gate.shut()
    }
  })
})

contract('At the same moment', (start) => {
  const all = (call: Call, link: Link, callers: readonly CallOptions[]) =>
    Promise.all(callers.map((caller) => complete(call, link, caller)))

  it('50 completions by the same payer charge once, and return 50 equal receipts', async () => {
    const { call, shop, link } = await prepared(start, { path: 'slow' })
    upstream.requests.length = 0
    const answers = await all(
      call,
      link,
      Array.from({ length: 50 }, () => shop.payer),
    )
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
    expect(upstream.requests).toHaveLength(1)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 8, issued: 10 })
  })

  it('one of 10 payers pays, and the others learn that it is paid', async () => {
    const { call, shop, seller, link } = await prepared(start, { path: 'slow' })
    const payers = await Promise.all(Array.from({ length: 10 }, () => newPayer(call, seller, { balance: 5 })))
    upstream.requests.length = 0
    const answers = await all(call, link, payers)
    const refused = answers.filter(({ status }) => status !== 200)
    expect(refused).toHaveLength(9)
    for (const each of refused) expectProblem(each, 409, 'checkout_paid')
    expect(upstream.requests).toHaveLength(1)
    expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 60 })
  })

  it('10 payers are refused one after the other if nothing is delivered, and nobody is charged', async () => {
    const { call, shop, seller, link } = await prepared(start, { path: 'status/500/x' })
    const payers = await Promise.all(Array.from({ length: 10 }, () => newPayer(call, seller, { balance: 5 })))
    for (const answer of await all(call, link, payers)) expectProblem(answer, 502, 'upstream_failed')
    expect(await settled(call, shop)).toEqual({ seller: 0, payer: 10, issued: 60 })
    expect(await statusOf(call, link)).toBe('unpaid')
  })

  it('several links for one item are paid separately', async () => {
    const { call, shop, seller } = await prepared(start)
    const item = await newItem(call, seller, `${upstream.url}/ok`, { price: 1 })
    const links = await Promise.all(Array.from({ length: 10 }, () => newCheckout(call, { seller, item })))
    const answers = await Promise.all(links.map((link) => complete(call, link, shop.payer)))
    expect(answers.map(({ status }) => status)).toEqual(links.map(() => 200))
    expect(await settled(call, { ...shop, item } as Shop)).toMatchObject({ seller: 10, payer: 0 })
  })
})
