import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { type Audit, audit } from '../../src/money/ledger/audit.js'
import {
  hold,
  type MovementKind,
  post,
  postHold,
  releaseSupply,
  reserveSupply,
  reverseHold,
} from '../../src/money/ledger/movement.js'
import type { Key, Reader, State } from '../../src/storage/storage.js'
import { howMuch } from '../support/how-much.js'
import { auditOf, quantities } from '../support/scenes/ledger.js'

/** Rows as they rest, to be changed behind the ledger's back. */
type Rows = Record<string, Record<string, unknown>[]>

const TWIN = { buyer: 3, seller: 4, other: 5 }
const ids = { issue: 1, payment: 3, held: 4, posted: 5, reversed: 6 }

/** Two issues, a payment, and a hold of each state: open, posted and reversed. */
async function soundState(): Promise<State> {
  const storage = memoryStorage()
  await storage.write(async (tx) => {
    const order = (kind: MovementKind, amount: bigint, payerTwinId: number, payeeTwinId: number, at: number) => ({
      ...{ kind, dq: 'a', amount, payerTwinId, payeeTwinId, at },
    })
    await post(tx, { ...order('issue', 100n, 1, TWIN.buyer, 1), payerIsIssuer: true })
    await post(tx, { ...order('issue', 7n, 2, TWIN.buyer, 2), dq: 'b', payerIsIssuer: true })
    await post(tx, order('payment', 30n, TWIN.buyer, TWIN.seller, 3))
    await hold(tx, order('purchase', 20n, TWIN.buyer, TWIN.seller, 4))
    await hold(tx, order('purchase', 10n, TWIN.buyer, TWIN.seller, 5))
    await hold(tx, order('transfer', 5n, TWIN.buyer, TWIN.other, 6))
    await postHold(tx, ids.posted, 7)
    await reverseHold(tx, ids.reversed, 8)
    await reserveSupply(tx, { paymentId: 90, dq: 'a', issuerTwinId: 1, amount: 25n, maker: null })
    await reserveSupply(tx, { paymentId: 91, dq: 'a', issuerTwinId: 1, amount: 5n, maker: null })
    await releaseSupply(tx, 91)
  })
  return storage.export()
}

const auditState = async (state: State): Promise<Audit> => {
  const storage = memoryStorage()
  await storage.import(state)
  return auditOf(storage)
}

async function auditAfter(tamper: Tamper): Promise<Audit> {
  const state = JSON.parse(JSON.stringify(await soundState()))
  tamper(state.rows)
  return auditState(state)
}

type Tamper = (rows: Rows) => unknown

const row = (rows: Rows, collection: string, id: Key) =>
  (rows[collection] ?? []).find((each) => each.id === id) as Record<string, unknown>

/** The payer's entry of the payment, then the payee's. */
const sides = (rows: Rows) => (rows.entries ?? []).filter((each) => each.movement_id === ids.payment)

const change =
  (collection: string, id: Key, fields: object): Tamper =>
  (rows) =>
    Object.assign(row(rows, collection, id), fields)

const changeSide =
  (side: 0 | 1, fields: object): Tamper =>
  (rows) =>
    Object.assign(sides(rows)[side] as object, fields)

const drop =
  (collection: string, isGone: (row: Record<string, unknown>) => boolean): Tamper =>
  (rows) => {
    rows[collection] = (rows[collection] ?? []).filter((each) => !isGone(each))
  }

const add =
  (collection: string, fields: Record<string, unknown>): Tamper =>
  (rows) =>
    rows[collection]?.push(fields)

/** Adds to a balance's field, as a careful forger would. */
const shift =
  (id: string, by: number, field = 'amount'): Tamper =>
  (rows) => {
    const balance = row(rows, 'balances', id)
    balance[field] = String(Number(balance[field]) + by)
  }

const both =
  (...tampers: Tamper[]): Tamper =>
  (rows) =>
    tampers.map((tamper) => tamper(rows))

test("the audit finds no fault in the ledger's own records, and reports their totals", async () => {
  expect(await auditState(await soundState())).toEqual({
    ok: true,
    broken: null,
    digital_quantities: [
      { dq: 'a', issued: 0.1, balances: 0.08, held: 0.02 },
      { dq: 'b', issued: 7, balances: 7, held: 0 },
    ],
    movements: 6,
  })
})

test('a refund to the issuer is sound', async () => {
  const storage = memoryStorage()
  await storage.import(await soundState())
  const order = { kind: 'refund', dq: 'a', amount: 5n, payerTwinId: TWIN.buyer, payeeTwinId: 1, at: 9 } as const
  await storage.write((tx) => post(tx, order))
  expect(await auditOf(storage)).toMatchObject({ ok: true, movements: 7 })
})

test('the audit reads all reservations, also where there are many', async () => {
  const reserved = (broken: Tamper) =>
    auditAfter((rows) => {
      for (let id = 100; id < 1400; id++) add('reservations', { id, dq: 'a', issuer_twin_id: 1, amount: '1' })(rows)
      shift('1:a', 1300, 'reserved')(rows)
      broken(rows)
    })
  expect((await reserved(() => {})).ok).toBe(true)
  for (const id of [100, 1399]) {
    const { broken } = await reserved(change('reservations', id, { amount: '0' }))
    expect(broken?.rule).toBe('the amount of a reservation is above zero')
  }
})

const posted = { state: 'posted', held_at: null, settled_at: 9 }
const reversed = { ...posted, state: 'reversed' }
const of = (movement: number) => (entry: Record<string, unknown>) => entry.movement_id === movement
const stray = { twin_id: TWIN.buyer, counterpart_twin_id: TWIN.seller, dq: 'a', amount: '1', at: 3 }

/** By the rule that each must be found to break. */
const faults: Record<string, Record<string, Tamper>> = {
  "a balance equals the sum of its twin's entries": {
    'a balance that was raised': shift('4:a', 1),
    'a balance that was lowered': shift('3:a', -1),
    'value shifted between two balances': both(shift('3:a', -5), shift('4:a', 5)),
    'a balance that is no number': change('balances', '4:a', { amount: 'much' }),
    'a balance that is a number instead of its digits': change('balances', '4:a', { amount: 40 }),
    'a balance out of nowhere': add('balances', { id: '9:a', twin_id: 9, dq: 'a', amount: '5', held: '0' }),
  },
  'every entry and hold is in a balance': {
    'a balance that is gone': drop('balances', ({ id }) => id === '4:a'),
  },
  'a balance belongs to one twin and one digital quantity of the service': {
    "a balance under another twin's id": change('balances', '4:a', { twin_id: TWIN.other }),
    'a balance of a twin whose id is a text': change('balances', '4:a', { twin_id: '4' }),
    'a balance in an unknown quantity': add('balances', { id: '9:x', twin_id: 9, dq: 'x', amount: '0', held: '0' }),
  },
  "a balance's held amount equals its twin's open holds": {
    'a hold that the balance forgot': shift('3:a', -20, 'held'),
    'a hold that the balance made up': shift('4:a', 1, 'held'),
    'a hold of another amount': change('movements', ids.held, { amount: '21' }),
    'a hold that is gone': drop('movements', ({ id }) => id === ids.held),
    'a hold that was flipped to reversed': change('movements', ids.held, reversed),
    'a reversed hold flipped to held': change('movements', ids.reversed, {
      state: 'held',
      held_at: 6,
      settled_at: null,
    }),
  },
  'a posted movement has one entry for its payer and one for its payee': {
    'an entry that was dropped': (rows) => drop('entries', (entry) => entry === sides(rows)[0])(rows),
    'both entries dropped': drop('entries', of(ids.payment)),
    'an entry that is there twice': (rows) => add('entries', { ...sides(rows)[1], id: 99 })(rows),
    'a movement that posted twice, balances and all': (rows) => {
      for (const [n, side] of sides(rows).entries()) add('entries', { ...side, id: 90 + n })(rows)
      both(shift('3:a', -30), shift('4:a', 30))(rows)
    },
    'an entry of another twin': changeSide(1, { twin_id: TWIN.other }),
    'a movement of another payer': change('movements', ids.payment, { payer_twin_id: TWIN.other }),
    'a movement of another payee': change('movements', ids.payment, { payee_twin_id: TWIN.other }),
    'a hold that was flipped to posted': change('movements', ids.held, posted),
    'a reversed hold flipped to posted': change('movements', ids.reversed, { state: 'posted' }),
  },
  'a posted movement has a payee': {
    'a payment to nobody': change('movements', ids.payment, { payee_twin_id: null }),
  },
  "a movement's entries cancel": {
    'an entry of another amount': changeSide(1, { amount: '31' }),
    "a payer's entry of another amount": changeSide(0, { amount: '-31' }),
    'entries on the other sides': both(changeSide(0, { amount: '30' }), changeSide(1, { amount: '-30' })),
    'a movement of another amount': change('movements', ids.payment, { amount: '31' }),
  },
  "a movement's entries are in its digital quantity": {
    'an entry in another digital quantity': changeSide(0, { dq: 'b' }),
    "a payee's entry in another digital quantity": changeSide(1, { dq: 'b' }),
    'a movement in another digital quantity': change('movements', ids.payment, { dq: 'b' }),
  },
  "a movement's entries name each other": {
    'an entry that names another counterpart': changeSide(1, { counterpart_twin_id: TWIN.other }),
  },
  "a movement's entries have the time when it was posted": {
    'an entry of another time': changeSide(1, { at: 99 }),
  },
  'every entry belongs to a movement': {
    'an entry of a movement that never was': add('entries', { ...stray, id: 99, movement_id: 99 }),
    'an entry of a movement before the first': add('entries', { ...stray, id: 99, movement_id: 0 }),
    'a posted movement that is gone': drop('movements', ({ id }) => id === ids.payment),
  },
  'the amount of a movement is above zero': {
    'a movement of nothing': change('movements', ids.reversed, { amount: '0' }),
    'a movement of less than nothing': change('movements', ids.held, { amount: '-20' }),
    'a movement of no number': change('movements', ids.payment, { amount: '3e1' }),
  },
  "a movement's digital quantity exists": {
    'a movement in an unknown digital quantity': change('movements', ids.payment, { dq: 'x' }),
  },
  'a twin does not pay itself': {
    'a movement from a twin to itself': change('movements', ids.reversed, { payee_twin_id: TWIN.buyer }),
  },
  'only the issuer of a digital quantity issues it': {
    'an issue by someone else': change('movements', ids.payment, { kind: 'issue' }),
    'a top-up by someone else': change('movements', ids.payment, { kind: 'topup' }),
  },
  'a refund goes back to the issuer of its digital quantity': {
    'a refund to someone else': change('movements', ids.payment, { kind: 'refund' }),
  },
  'a movement has the times of its state': {
    'a hold that began at no time': change('movements', ids.held, { held_at: null }),
    'a hold that was settled': change('movements', ids.held, { settled_at: 5 }),
    'a payment that is held since a time': change('movements', ids.payment, { held_at: 3 }),
    'a payment that was settled at no time': change('movements', ids.payment, { settled_at: null }),
    'a hold that was posted at no time': change('movements', ids.held, { state: 'posted' }),
    'a posted movement that is called held': change('movements', ids.payment, { state: 'held' }),
    'a state that there is not': change('movements', ids.payment, { state: 'lost' }),
  },
  'only a posted movement has entries': {
    'a posted movement flipped to reversed': change('movements', ids.payment, { state: 'reversed' }),
    'a posted movement flipped to held': change('movements', ids.payment, {
      state: 'held',
      held_at: 3,
      settled_at: null,
    }),
  },
  "a balance's reserved supply equals its open reservations": {
    'supply that is reserved for nothing': change('balances', '1:a', { reserved: '26' }),
    'supply that nobody keeps free': change('balances', '1:a', { reserved: undefined }),
    'a reservation that is gone': drop('reservations', () => true),
  },
  "a reservation names its digital quantity's issuer": {
    'a reservation with a twin that issues nothing': change('reservations', 90, { issuer_twin_id: TWIN.buyer }),
  },
  'the amount of a reservation is above zero': {
    'a reservation of nothing': change('reservations', 90, { amount: '0' }),
  },
  'the issued and reserved value is within the supply': {
    'more supply than there is': both(
      change('reservations', 90, { amount: String(2n ** 53n) }),
      change('balances', '1:a', { reserved: String(2n ** 53n) }),
    ),
  },
  'only the issuer is below zero': {
    'a twin overdrawn by a forger who kept the books': both(
      change('movements', ids.payment, { amount: '300' }),
      changeSide(0, { amount: '-300' }),
      changeSide(1, { amount: '300' }),
      shift('3:a', -270),
      shift('4:a', 270),
    ),
  },
}

for (const [rule, tampers] of Object.entries(faults))
  for (const [what, tamper] of Object.entries(tampers))
    test(`the audit finds ${what}`, async () => {
      const { ok, broken } = await auditAfter(tamper)
      expect({ ok, rule: broken?.rule }).toEqual({ ok: false, rule })
      expect(broken?.rows.length).toBeGreaterThan(0)
    })

test('the audit finds any one change to a posted movement, an entry or a balance', async () => {
  const sound = await soundState()
  const watched: Record<string, string[]> = {
    movements: ['amount', 'payer_twin_id', 'payee_twin_id', 'dq', 'state', 'settled_at'],
    entries: ['amount', 'twin_id', 'counterpart_twin_id', 'dq', 'movement_id', 'at'],
    balances: ['amount', 'held', 'twin_id', 'dq'],
  }
  const places = Object.entries(watched).flatMap(([collection, fields]) =>
    (sound.rows[collection] ?? []).flatMap((each) =>
      collection === 'movements' && (each as unknown as { state: string }).state !== 'posted'
        ? []
        : fields.map((field) => ({ collection, id: each.id, field })),
    ),
  )
  const values = fc.oneof(
    fc.constantFrom<unknown>('0', '1', '-1', '30', 'a', 'b', 'held', 'posted', 'reversed', null, ''),
    fc.integer({ min: 0, max: 9 }),
    fc.bigInt({ min: -(2n ** 60n), max: 2n ** 60n }).map(String),
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...places), values, async ({ collection, id, field }, value) => {
      const state = JSON.parse(JSON.stringify(sound))
      const changed = row(state.rows, collection, id)
      fc.pre(changed[field] !== value)
      changed[field] = value
      expect((await auditState(state)).ok).toBe(false)
    }),
    { numRuns: howMuch(300, 1000) },
  )
})

test('the audit also reports the totals of a broken ledger', async () => {
  const tamper = both(change('movements', ids.issue, { amount: 'much' }), shift('4:a', 1))
  const { ok, digital_quantities, movements } = await auditAfter(tamper)
  expect(ok).toBe(false)
  expect(movements).toBe(6)
  expect(digital_quantities[0]).toEqual({ dq: 'a', issued: 0.1, balances: 0.081, held: 0.02 })
})

test('the audit reads each row once, however many there are', async () => {
  const storage = memoryStorage()
  await storage.write(async (tx) => {
    const parties = { dq: 'a', payerTwinId: 1, payeeTwinId: 3, at: 1 }
    await post(tx, { ...parties, kind: 'issue', amount: 5000n, payerIsIssuer: true })
    for (let n = 0; n < 1200; n++)
      await post(tx, { ...parties, kind: 'payment', amount: 1n, payerTwinId: 3, payeeTwinId: 4 + (n % 600) })
  })
  const read = { rows: 0, questions: 0, quantities: 0 }
  const counting = (tx: Reader): Reader => ({
    get(from, id) {
      read.questions++
      return tx.get(from, id)
    },
    async getMany(from, ids) {
      const rows = await tx.getMany(from, ids)
      read.questions++
      read.rows += rows.length
      return rows
    },
    async find(from, query) {
      const rows = await tx.find(from, query)
      read.questions++
      read.rows += rows.length
      return rows
    },
  })
  const many = Array.from({ length: 50 }, (_, n) => ({ dq: `other ${n}`, decimals: 3, issuerTwinId: 9000 + n }))
  const { ok } = await audit({
    read: (body) => storage.read((tx) => body(counting(tx))),
    async quantities() {
      read.quantities++
      return [...quantities, ...many]
    },
  })
  const { rows } = await storage.export()
  expect([ok, read.quantities]).toEqual([true, 1])
  expect(read.rows).toBe((rows.movements?.length ?? 0) + (rows.entries?.length ?? 0) + (rows.balances?.length ?? 0))
  expect(read.questions).toBeLessThan(40)
})
