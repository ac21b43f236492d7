import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { collections } from '../../src/collections.js'
import { createService } from '../../src/index.js'
import { rates } from '../../src/jobs/rates/rate.js'
import { SWEEP_ROWS } from '../../src/jobs/retention/sweep.js'
import { SWEEP } from '../../src/jobs/retention/sweep-timer.js'
import { isSwept } from '../../src/storage/retention.js'
import type { AnyCollection, Key, Reader, Storage, Writer } from '../../src/storage/storage.js'
import { type Call, caller } from '../support/api.js'
import { howMuch } from '../support/how-much.js'
import { requestApproval } from '../support/scenes/approvals.js'
import { addItem, filledCart, newCart, payCart } from '../support/scenes/carts.js'
import { newItem, purchase } from '../support/scenes/catalog.js'
import { guest, newCheckout, withCard } from '../support/scenes/checkout.js'
import { expectSoundLedger, stopClock } from '../support/scenes/market.js'
import { newAgent, newApp, refreshWith, startInteraction } from '../support/scenes/oidc.js'
import { newDelegate, newPersona } from '../support/scenes/personas.js'
import { ask } from '../support/scenes/second-factor.js'
import { askCode, newGuest } from '../support/scenes/sign-in.js'
import {
  basic,
  newCommodity,
  newReader,
  newSeller,
  newSession,
  type Payer,
  type Seller,
  tokenFor,
} from '../support/scenes/world.js'

/**
 * How many days a row of each collection may be there at most, from its first to its last: how long it lives, how long it is
 * kept after that, and a day until the sweep comes.
 */
const longestDays: Readonly<Record<string, number>> = {
  tokens: 2,
  sessions: 32,
  sign_in_codes: 2,
  authentication_requests: 32,
  oidc_interactions: 2,
  oidc_codes: 3,
  oidc_tokens: 2,
  oidc_keys: 31,
  approvals: 32,
  account_choices: 2,
  twin_nonces: 2,
  purchase_responses: 91,
  delegate_spendings: 32,
  idempotency: 2,
  rates: 2,
  outbox: 91,
  events: 91,
}

/** Counts which rows are new each day, and what each transaction of the sweep reads and removes. */
function watched(inner: Storage) {
  const made: Map<string, Set<Key>>[] = []
  const sweeps: { read: number; removed: number }[] = []
  const madeOf = (day: number, { name }: AnyCollection) => {
    const today = (made[day] ??= new Map())
    const known = today.get(name) ?? new Set<Key>()
    today.set(name, known)
    return known
  }
  const storage: Storage = {
    ...inner,
    write: (body) =>
      inner.write(async (tx) => {
        const counted = { read: 0, removed: 0 }
        let isSweep = false
        const watching: Writer = {
          ...readerOf(tx, counted),
          nextId: (of) => tx.nextId(of),
          nextIds: (of) => tx.nextIds(of),
          put(into, row) {
            if ('kind' in row && row.kind === SWEEP) isSweep = true
            madeOf(watch.day, into).add(row.id)
            tx.put(into, row)
          },
          remove(from, id) {
            counted.removed++
            tx.remove(from, id)
          },
        }
        const value = await body(watching)
        if (isSweep) sweeps.push(counted)
        return value
      }),
  }
  const watch = { storage, sweeps, day: 0, madeIn }
  /** How many rows of a collection were first put in the last `days` days. */
  function madeIn(name: string, days: number): number {
    const recent = made.slice(Math.max(0, watch.day - days + 1))
    return new Set(recent.flatMap((day) => [...(day?.get(name) ?? [])])).size
  }
  return watch
}

function readerOf(tx: Reader, counted: { read: number }): Reader {
  const count = <T>(rows: readonly T[]) => {
    counted.read += rows.length
  }
  return {
    async get(from, id) {
      const row = await tx.get(from, id)
      if (row) counted.read++
      return row
    },
    async getMany(from, ids) {
      const rows = await tx.getMany(from, ids)
      count(rows)
      return rows
    },
    async find(from, query) {
      const rows = await tx.find(from, query)
      count(rows)
      return rows
    },
  }
}

interface Town {
  readonly call: Call
  readonly seller: Seller
  readonly payer: Payer
  readonly item: Awaited<ReturnType<typeof newItem>>
  readonly commodity: Awaited<ReturnType<typeof newCommodity>>
  readonly delegate: string
}

async function newTown(call: Call): Promise<Town> {
  const seller = await newSeller(call)
  const commodity = await newCommodity(call, seller)
  const payer = await newReader(call, seller, { balance: 1000 })
  const { dq, hostname } = commodity
  const { hash: persona } = await newPersona(call, payer)
  const spend = { party: { client_id: seller.clientId }, dq, limit: 1, period: 'day' }
  const { hash: delegate } = await newDelegate(call, payer, { persona, hostname, spend })
  const item = await newItem(call, seller, { price: 0.5 })
  return { call, seller, payer, commodity, delegate, item }
}

const OSLO = { arguments: { city: 'Oslo' } }

/** A day of every kind of traffic: what ends well, what is abandoned, what is refused. */
async function spendDay({ call, commodity, delegate, item, ...people }: Town, day: number): Promise<void> {
  const payer = { ...people.payer, token: await tokenFor(call, people.payer.clientId, people.payer.clientSecret) }
  const seller = { ...people.seller, token: await tokenFor(call, people.seller.clientId, people.seller.clientSecret) }
  const { hash } = commodity
  const expectStatus = async (answering: Promise<{ status: number; text: string }>, status: number) => {
    const answer = await answering
    expect(answer.status, answer.text).toBe(status)
  }
  const session = await newSession(call, payer.email)
  await expectStatus(askCode(call, await newGuest(call), `nobody-${day}@example.test`), 202)
  await expectStatus(call('POST', '/v4/account/oauth/token', { headers: basic(seller.clientId, 'mc_wrong') }), 401)
  await expectStatus(
    call('POST', `/v4/payment/${hash}`, { ...payer, headers: { 'idempotency-key': `day ${day}` } }),
    202,
  )
  await expectStatus(call('POST', `/v4/payment/${hash}`, { ...seller, body: { persona_delegate: delegate } }), 202)
  await expectStatus(
    call('POST', '/v4/transfer', { ...payer, body: { address: commodity.hostname, amount: 0.01 } }),
    201,
  )
  const invitation = { address: `guest-${day}@example.test`, amount: 0.01 }
  await expectStatus(call('POST', '/v4/transfer', { ...payer, body: invitation }), 201)
  const { body: regretted } = await call('POST', '/v4/transfer', { ...payer, body: invitation })
  await expectStatus(call('POST', `/v4/transfers/${regretted.id}/cancel`, { ...payer }), 200)
  await expectStatus(call('POST', '/v2/twin/nonce', { token: payer.token, body: { hostname: payer.hostname } }), 201)
  await expectStatus(purchase(call, { token: payer.token }, item, OSLO), 201)
  await filledCart(call, await guest(call), [])
  const abandoned = await newCart(call, { token: payer.token })
  await expectStatus(addItem(call, { token: payer.token }, abandoned, { catalog_item_id: item.id, ...OSLO }), 201)
  const cart = await newCart(call, { session })
  await expectStatus(addItem(call, { session }, cart, { catalog_item_id: item.id, ...OSLO }), 201)
  await expectStatus(payCart(call, { session }, cart), 200)
  const order = { arguments: OSLO.arguments }
  await newCheckout(call, { seller, item } as never, order)
  const paid = await newCheckout(call, { seller, item } as never, order)
  await expectStatus(withCard(call, paid, await guest(call)), 200)
  const declined = await newCheckout(call, { seller, item } as never, order)
  await expectStatus(withCard(call, declined, await guest(call), 'pm_card_chargeDeclined'), 402)
  await expectStatus(ask(call, { token: payer.token }), 201)
  await startInteraction(call, await newApp(call))
  if (day % AGENTS !== 0) return
  const agent = await newAgent(call, { session })
  await refreshWith(call, agent.app, agent.refreshToken)
  const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
  await expectStatus(requestApproval(call, { token: agent.accessToken }, wish), 201)
  await call('POST', '/_sandbox/keys/rotate')
}

/** Every so many days an agent comes, and keys change. */
const AGENTS = howMuch(9, 10)
/** Longer than all but what is kept for 90 days, which the end of the test waits for. */
const DAYS = howMuch(35, 90)
/** Every so many days there is traffic. */
const EVERY = howMuch(3, 1)
const SPENT = Math.ceil(DAYS / EVERY)

test('months of traffic leave only what the rules of retention allow, and in the end only records of value', async () => {
  const watch = watched(memoryStorage())
  const upstream = {
    fetch: async () => new Response('{"sky":"clear"}', { headers: { 'content-type': 'application/json' } }),
  }
  const service = createService({ storage: watch.storage, upstream, sandbox: true })
  const call = caller({
    url: 'http://127.0.0.1:4242',
    fetch: (request) => service.fetch(request),
    close: () => service.close(),
  })
  await stopClock(call)
  const town = await newTown(call)
  const rowsOf = async () => (await service.sandbox.snapshot()).rows
  for (; watch.day < DAYS; watch.day++) {
    if (watch.day % EVERY === 0) await spendDay(town, watch.day)
    if (watch.day === 25)
      await watch.storage.write(async (tx) => {
        for (let i = 0; i < 2000; i++) tx.put(rates, { id: `burst:${i}`, times: [], until: 0 })
      })
    await service.sandbox.advance('1d')
    if (watch.day % 15 !== 14 && watch.day !== DAYS - 1) continue
    const rows = await rowsOf()
    for (const [name, days] of Object.entries(longestDays))
      expect(rows[name]?.length ?? 0, `${name} on day ${watch.day}`).toBeLessThanOrEqual(watch.madeIn(name, days))
  }
  await expectSoundLedger(call)
  const inTheEnd = await rowsOf()
  // Of the apps, those that a user connected stay.
  expect(inTheEnd.oidc_clients?.length).toBeLessThan(31 + DAYS / AGENTS + 1)
  expect(inTheEnd.carts?.length).toBeLessThan(watch.madeIn('carts', DAYS))

  // Guests' things last a day. Everything that ends is gone when its longest time is over.
  await service.sandbox.advance('1d')
  await service.sandbox.advance('130d')
  const left = await rowsOf()
  const swept = collections.filter(({ retention }) => isSwept(retention)).map(({ name }) => name)
  const rest = swept.flatMap((name): [string, number][] => (left[name]?.length ? [[name, left[name].length]] : []))
  expect(Object.fromEntries(rest)).toEqual({
    clients: 2, // Not revoked.
    oidc_clients: Math.ceil(DAYS / AGENTS), // A user has them connected.
    oidc_keys: 2, // RS256 and ES256.
    transfers: SPENT, // Completed.
    checkouts: SPENT, // Paid: they are the receipts of guests.
    events: 1, // The newest.
  })
  expect(left.transfers).toEqual(left.transfers?.map((row) => ({ ...row, status: 'completed' })))
  expect(left.checkouts).toEqual(left.checkouts?.map((row) => ({ ...row, status: 'paid' })))
  for (const name of ['movements', 'entries', 'payments', 'purchases'])
    expect(left[name]?.length, name).toBeGreaterThanOrEqual(inTheEnd[name]?.length ?? 0)
  expect(watch.sweeps.reduce((sum, { removed }) => sum + removed, 0)).toBeGreaterThan(2000)
  expect(Math.max(...watch.sweeps.map(({ read }) => read))).toBeLessThan(2 * SWEEP_ROWS)
  expect(Math.max(...watch.sweeps.map(({ removed }) => removed))).toBeLessThan(2 * SWEEP_ROWS)
  await expectSoundLedger(call)
  await service.close()
})
