import { expect, test, vi } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { systemAlarm } from '../../src/base/ports.js'
import { testProcessor } from '../../src/money/cards/test-values.js'
import type { Storage } from '../../src/storage/storage.js'
import type { Answer, Call, CallOptions } from '../support/api.js'
import { applyChange, approvedChange, newBusiness } from '../support/scenes/account-changes.js'
import { Subscriber, VISA } from '../support/scenes/billing.js'
import { cardService, gate } from '../support/scenes/card-service.js'
import { filledCart, payCart } from '../support/scenes/carts.js'
import { newShop as newItemShop, purchase, WEATHER } from '../support/scenes/catalog.js'
import { complete, guest, newCheckout, newShop, settled, withCard } from '../support/scenes/checkout.js'
import { newMarket, paywall, settledBalances } from '../support/scenes/paywall.js'
import { balanceOf, newSeller } from '../support/scenes/world.js'
import { sharedByProcesses } from '../support/storage/presence.js'

/**
 * Every flow, killed after each of its steps: whenever a transaction has landed, and whenever a port has done what it
 * was asked and not answered yet. Another service takes the storage over, and the client repeats its call.
 */

const ENDPOINT = 'https://api.example.test/story'
const CITY = { city: 'Oslo' }
const KEYED = { 'idempotency-key': 'once' }

const never = () => new Promise<never>(() => {})

/** The process of a service. After a number of steps nothing in it goes on until it is woken, or the last one fails. */
class Life {
  steps = 0
  fails: 'never' | 'before it happens' | 'after it happened' = 'never'
  last = Number.POSITIVE_INFINITY
  readonly #stopped = gate()
  readonly #woken = gate()
  readonly stopped = this.#stopped.opened.then(() => 'stopped' as const)

  async step<T>(act: () => Promise<T>): Promise<T> {
    const isLast = ++this.steps === this.last
    if (isLast && this.fails === 'before it happens') throw new Error('it broke')
    const value = await act()
    if (isLast && this.fails === 'after it happened') throw new Error('it broke')
    if (isLast) this.#stopped.open()
    await this.#goesOn()
    return value
  }

  async #goesOn(): Promise<void> {
    if (this.steps >= this.last && this.fails === 'never') await this.#woken.opened
  }

  wake(): void {
    this.#woken.open()
  }

  storage(inner: Storage): Storage {
    return {
      ...inner,
      read: (body) => this.#goesOn().then(() => inner.read(body)),
      write: (body) => this.#goesOn().then(() => this.step(() => inner.write(body))),
      close: async () => {
        this.last = this.steps
      },
    }
  }
}

/** What all services of one world share: the storage, the card processor and the endpoints. */
function newWorld(exclusive: boolean) {
  const { storage: shared, end } = sharedByProcesses(memoryStorage())
  const storage: Storage = exclusive ? { ...shared, exclusive } : shared
  const processor = testProcessor({ alarm: systemAlarm })
  const world = { storage, end, charged: new Set<string>(), called: 0, declines: false, hangs: false }
  const start = async (life: Life) => {
    return cardService({
      storage: life.storage(storage),
      encryptionKey: '7'.repeat(64),
      limits: { closeMs: 20 },
      charge(order) {
        if (world.declines) return Promise.resolve({ status: 'declined', reason: 'no' })
        return life.step(() => {
          world.charged.add(order.id)
          return world.hangs ? never() : processor.charge(order)
        })
      },
      save: (card) => life.step(() => processor.save(card)),
      upstream: {
        fetch: () =>
          life.step(async () => {
            world.called++
            return world.hangs ? never() : new Response('The story.')
          }),
      },
    })
  }
  return Object.assign(world, { start })
}

type World = Pick<ReturnType<typeof newWorld>, 'charged' | 'called'>

interface Scene {
  /** The call that runs the flow. The client repeats it as it is. */
  run(call: Call): Promise<Answer>
  /** Checks how it all ended, by the last answer. */
  check(call: Call, answer: Answer, world: World): Promise<void>
}

const keyed = (caller: CallOptions): CallOptions => ({ ...caller, headers: KEYED })

const flows: Record<string, (call: Call, world: { declines: boolean }) => Promise<Scene>> = {
  async purchase(call) {
    const shop = await newItemShop(call, { price: 1, external_endpoint: ENDPOINT })
    return {
      run: (call) => purchase(call, keyed({ token: shop.payer.token }), shop.item, { arguments: CITY }),
      async check(call, { status }, { called }) {
        const left = await balanceOf(call, shop.payer.token, shop.payer.hostname)
        expect([status, left]).toEqual(left === 9 ? [201, 9] : [502, 10])
        expect(called).toBeLessThanOrEqual(1)
      },
    }
  },

  async paywall(call) {
    const market = await newMarket(call)
    const order = { amount: 4, destination: market.shop, serviceUrl: ENDPOINT }
    return {
      run: (call) => paywall(call, keyed({ token: market.payer.token }), order),
      async check(call, { status }, { called }) {
        expect([status, ...(await settledBalances(call, market))]).toEqual(status === 200 ? [200, 6, 4] : [502, 10, 0])
        expect(called).toBeLessThanOrEqual(1)
      },
    }
  },

  async cart(call) {
    const { payer, item } = await newItemShop(call, { price: 1, external_endpoint: ENDPOINT })
    const user = { token: payer.token }
    const cart = await filledCart(call, user, [item], { quantity: 3, arguments: CITY })
    return {
      run: (call) => payCart(call, keyed(user), cart),
      async check(call, { status, body }, { called }) {
        expect(status).toBe(200)
        const ends: string[] = body.items[0].receipts.map(({ status }: { status: string }) => status)
        const paid = ends.filter((each) => each === 'paid').length
        expect(ends.filter((each) => each === 'reversed')).toHaveLength(3 - paid)
        expect(await balanceOf(call, payer.token, payer.hostname)).toBe(10 - paid)
        expect(called).toBeLessThanOrEqual(3)
      },
    }
  },

  async 'checkout from a wallet'(call) {
    const shop = await newShop(call, ENDPOINT)
    const link = await newCheckout(call, shop)
    return {
      run: (call) => complete(call, link, keyed({ token: shop.payer.token })),
      async check(call, { status }) {
        expect(status).toBe(200)
        expect(await settled(call, shop)).toEqual({ seller: 2, payer: 8, issued: 10 })
      },
    }
  },

  async 'checkout by card'(call) {
    const shop = await newShop(call, ENDPOINT)
    const link = await newCheckout(call, shop)
    const reader = await guest(call)
    return {
      run: (call) => withCard(call, link, keyed(reader)),
      async check(call, { status }, { charged }) {
        expect([status, charged.size]).toEqual([200, 1])
        expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
      },
    }
  },

  async 'top-up'(call) {
    const { payer } = await newItemShop(call)
    const body = { amount: 5, payment_method_id: VISA }
    return {
      run: (call) => call('POST', `/v4/twin/${payer.hostname}/topup`, { ...keyed({ token: payer.token }), body }),
      async check(call, { status, body }, { charged }) {
        expect(status === 201 || body.outcome === 'unknown').toBe(true)
        expect(charged.size).toBe(1)
        expect(await balanceOf(call, payer.token, payer.hostname)).toBe(15)
      },
    }
  },

  async 'change of plan'(call) {
    const { token } = await newSeller(call)
    const body = { plan: 'growth', payment_method_id: VISA }
    return {
      run: (call) => call('PUT', '/v4/billing/plan', { ...keyed({ token }), body }),
      async check(call, _, { charged }) {
        const billing = (await call('GET', '/v4/billing', { token })).body
        expect([billing.plan, billing.unpaid_invoice_id, charged.size]).toEqual(['growth', null, 1])
      },
    }
  },

  async 'payment of an invoice'(call, world) {
    const account = new Subscriber(call, await newSeller(call))
    await account.chosen('growth', VISA)
    world.declines = true
    await call('POST', '/_sandbox/clock', { body: { advance: '31d' } })
    const { unpaid_invoice_id: id } = await account.billing()
    world.declines = false
    const { token } = account.seller
    return {
      run: (call) =>
        call('POST', `/v4/billing/invoices/${id}/pay`, { ...keyed({ token }), body: { payment_method_id: VISA } }),
      async check(call, _, { charged }) {
        const { body } = await call('GET', `/v4/billing/invoices/${id}`, { token })
        // One for the first month, and one for this one.
        expect([body.status, body.charging, charged.size]).toEqual(['paid', false, 2])
      },
    }
  },

  async 'account change'(call) {
    const business = await newBusiness(call)
    const change = { kind: 'create_item', ...WEATHER, external_endpoint: ENDPOINT }
    const id = await approvedChange(call, business, change)
    return {
      run: (call) => applyChange(call, keyed(business.agent), id),
      async check(call, { status }) {
        expect(status).toBe(200)
        expect((await call('GET', '/v4/twins', business.seller)).body.twins).toHaveLength(2)
        expect((await call('GET', '/v4/catalog/mine', business.seller)).body.items).toHaveLength(1)
      },
    }
  },
}

/** What flows have left on the way. Only a repeated call continues an account change. */
async function leftIn({ storage }: { storage: Storage }, except = 'nothing'): Promise<unknown[]> {
  const { rows } = await storage.export()
  const of = (name: string) => (rows[name] ?? []) as unknown as { status?: string; charge?: unknown }[]
  const onTheWay = ['payments', 'checkouts', 'account_changes']
    .filter((name) => name !== except)
    .flatMap(of)
    .filter(({ status = '' }) => ['held', 'pending', 'paying', 'making'].includes(status))
  return [...of('held_calls'), ...onTheWay, ...of('invoices').filter(({ charge }) => charge !== null)]
}

async function expectSettledState(world: { storage: Storage }, call: Call): Promise<void> {
  expect(await leftIn(world)).toEqual([])
  const audit = (await call('GET', '/_sandbox/ledger')).body
  expect([audit.broken, audit.digital_quantities.map(({ held }: { held: number }) => held)]).toEqual([null, [0]])
}

const names = Object.keys(flows)

/**
 * Stops the process of a flow after each of its steps in turn, until the flow gets through. Each time, another service
 * takes over and the client repeats its call.
 */
async function stopAfterEachStep(
  flow: string,
  exclusive: boolean,
  then?: (taken: { life: Life; lost: Promise<Answer>; check(): Promise<void> }) => Promise<void>,
): Promise<number> {
  for (let last = 1; ; last++) {
    const world = newWorld(exclusive)
    const life = new Life()
    const first = await world.start(life)
    const scene = await (flows[flow] as (typeof flows)[string])(first.call, world)
    Object.assign(world, { called: 0 })
    Object.assign(life, { steps: 0, last })
    // Nobody closes a process that is killed.
    first.service.close = async () => {}
    const lost = scene.run(first.call)
    if ((await Promise.race([lost, life.stopped])) !== 'stopped') return last - 1
    world.end()
    const next = await world.start(new Life())
    if (exclusive) await vi.waitUntil(async () => (await leftIn(world, 'account_changes')).length === 0)
    else await next.service.sandbox.advance('6m')
    const answer = await scene.run(next.call)
    await next.service.sandbox.advance('2m')
    const check = async () => {
      await scene.check(next.call, answer, world)
      await expectSettledState(world, next.call)
    }
    await check()
    await then?.({ life, lost, check })
  }
}

test.each(names)(
  '%s: killed after any step, it is taken over at the next start, on a clock that stands still',
  async (flow) => {
    expect(await stopAfterEachStep(flow, true)).toBeGreaterThan(2)
  },
)

test.each(names)(
  '%s: killed after any step, it is taken over by a service that shares the storage, and changes nothing if it goes on',
  async (flow) => {
    const stops = await stopAfterEachStep(flow, false, async ({ life, lost, check }) => {
      life.wake()
      await lost
      await check()
    })
    expect(stops).toBeGreaterThan(2)
  },
)

test.each(names.filter((flow) => flow !== 'account change'))(
  '%s: a service that closes while a port hangs leaves it to the next start',
  async (flow) => {
    const world = newWorld(true)
    const first = await world.start(new Life())
    const scene = await (flows[flow] as (typeof flows)[string])(first.call, world)
    const charged = world.charged.size
    Object.assign(world, { called: 0, hangs: true })
    void scene.run(first.call)
    await vi.waitUntil(() => world.called + world.charged.size > charged)
    await first.service.close()
    world.hangs = false
    const next = await world.start(new Life())
    await vi.waitUntil(async () => (await leftIn(world)).length === 0)
    await scene.run(next.call)
    expect(world.charged.size - charged).toBeLessThanOrEqual(1)
    await expectSettledState(world, next.call)
  },
)

test.each(
  names.flatMap((flow) => (['before it happens', 'after it happened'] as const).map((fails) => [flow, fails] as const)),
)('%s: any step may fail %s, and nothing stays on the way once the client repeats its call', async (flow, fails) => {
  for (let last = 1; ; last++) {
    const world = newWorld(true)
    const life = new Life()
    const { call, service } = await world.start(life)
    const scene = await (flows[flow] as (typeof flows)[string])(call, world)
    Object.assign(world, { called: 0 })
    Object.assign(life, { steps: 0, last, fails })
    await scene.run(call)
    if (life.steps < last) {
      expect(last).toBeGreaterThan(3)
      return
    }
    await service.sandbox.advance('6m')
    await scene.run(call)
    await service.sandbox.advance('2m')
    expect(world.charged.size).toBeLessThanOrEqual(flow === 'payment of an invoice' ? 2 : 1)
    await expectSettledState(world, call)
  }
})
