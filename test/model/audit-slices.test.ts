import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { type Audit, audit } from '../../src/money/ledger/audit.js'
import {
  balanceOf,
  balances,
  entries,
  hold,
  type MovementOrder,
  movements,
  post,
  postHold,
  releaseSupply,
  reservations,
  reserveSupply,
  reverseHold,
} from '../../src/money/ledger/movement.js'
import type { Reader, Storage, Writer } from '../../src/storage/storage.js'
import { howMuch } from '../support/how-much.js'
import { quantities } from '../support/scenes/ledger.js'

const TWINS = 40

/** A ledger in which many twins paid each other, and many holds are open. */
async function busyLedger(payments: number, holds = 0): Promise<Storage> {
  const storage = memoryStorage()
  await storage.write(async (tx) => {
    for (let twin = 3; twin < 3 + TWINS; twin++)
      await post(tx, {
        kind: 'issue',
        dq: 'a',
        amount: 1_000_000n,
        payerTwinId: 1,
        payeeTwinId: twin,
        at: 1,
        payerIsIssuer: true,
      })
  })
  for (let done = 0; done < payments; done += 500)
    await storage.write(async (tx) => {
      for (let n = done; n < Math.min(done + 500, payments); n++) await post(tx, payment(n))
    })
  await storage.write(async (tx) => {
    for (let n = 0; n < holds; n++) await hold(tx, payment(n))
  })
  return storage
}

const payment = (n: number): MovementOrder => ({
  ...{ kind: 'payment', dq: 'a', amount: 1n, at: n },
  ...{ payerTwinId: 3 + (n % TWINS), payeeTwinId: 3 + ((n + 1) % TWINS) },
})

/** Audits, and calls `between` after each slice. Returns the most rows that one slice read, too. */
async function auditBetween(storage: Storage, between: (slice: number) => Promise<unknown>) {
  const slices: number[] = []
  const found: Audit = await audit({
    read: (body) =>
      storage.read((tx) => {
        slices.push(0)
        const count = <T>(rows: readonly T[]) => {
          slices[slices.length - 1] = (slices.at(-1) ?? 0) + rows.length
        }
        const counting: Reader = {
          get: (from, id) => tx.get(from, id),
          getMany: async (from, ids) => {
            const rows = await tx.getMany(from, ids)
            count(rows)
            return rows
          },
          find: async (from, query) => {
            const rows = await tx.find(from, query)
            count(rows)
            return rows
          },
        }
        return body(counting)
      }),
    quantities: async () => quantities,
    pause: async () => void (await between(slices.length)),
  })
  return { found, slices: slices.length, most: Math.max(...slices) }
}

test('an audit of 20,000 payments reads at most a thousand rows at once, and payments between its slices do not confuse it', async () => {
  const storage = await busyLedger(20_000, 1000)
  let paid = 0
  const { found, slices, most } = await auditBetween(storage, () => {
    const number = paid++
    return storage.write(async (tx) => {
      await post(tx, payment(number))
      await postHold(tx, (await openHolds(tx))[0] ?? 0, 5)
      await reverseHold(tx, (await openHolds(tx))[0] ?? 0, 5)
      await hold(tx, payment(paid))
    })
  })
  expect(found.broken).toBeNull()
  expect(found.ok).toBe(true)
  expect(found.digital_quantities[0]?.issued).toBe(40_000)
  const [sum] = found.digital_quantities
  expect((sum?.balances ?? 0) * 1000 + (sum?.held ?? 0) * 1000).toBeCloseTo(40_000_000)
  expect(slices).toBeGreaterThan(100)
  expect(paid).toBe(slices - 3)
  expect(most).toBeLessThanOrEqual(1000)
})

const openHolds = async (tx: Reader): Promise<number[]> =>
  (await tx.find(movements, { index: 'openHolds', prefix: [], limit: 1 })).map(({ id }) => id)

type Act = (tx: Writer) => Promise<unknown>

const twin = fc.integer({ min: 3, max: 8 })
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.tuple(twin, twin, fc.bigInt({ min: 1n, max: 50n })).map(
    ([payerTwinId, payeeTwinId, amount]): Act =>
      (tx) =>
        post(tx, { kind: 'payment', dq: 'a', amount, payerTwinId, payeeTwinId, at: 2 }),
  ),
  fc.tuple(twin, twin).map(
    ([payerTwinId, payeeTwinId]): Act =>
      (tx) =>
        hold(tx, { kind: 'purchase', dq: 'a', amount: 7n, payerTwinId, payeeTwinId, at: 3 }),
  ),
  fc.constant<Act>(async (tx) => postHold(tx, (await openHolds(tx))[0] ?? 0, 4)),
  fc.constant<Act>(async (tx) => reverseHold(tx, (await openHolds(tx))[0] ?? 0, 4)),
  // A twin that has no balance yet, and one that comes before all others.
  fc.integer({ min: 50, max: 60 }).map(
    (payeeTwinId): Act =>
      (tx) =>
        post(tx, { kind: 'issue', dq: 'b', amount: 3n, payerTwinId: 2, payeeTwinId, at: 5, payerIsIssuer: true }),
  ),
  fc.integer({ min: 1, max: 9 }).map(
    (paymentId): Act =>
      // A payment reserves once.
      async (tx) =>
        (await tx.get(reservations, paymentId)) ??
        reserveSupply(tx, { paymentId, dq: 'a', issuerTwinId: 1, amount: 5n, maker: null }),
  ),
  fc.integer({ min: 1, max: 9 }).map(
    (paymentId): Act =>
      (tx) =>
        releaseSupply(tx, paymentId),
  ),
)

test('whatever happens between the slices, the audit finds no fault', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(act, { maxLength: 6 }), { minLength: 4, maxLength: 12 }), async (between) => {
      const storage = await busyLedger(600, 900)
      const { found } = await auditBetween(storage, async (slice) => {
        // What cannot be done changes nothing.
        for (const each of between[slice % between.length] ?? []) await storage.write(each).catch(() => {})
      })
      expect(found.broken).toBeNull()
    }),
    { numRuns: howMuch(8, 40) },
  )
})

test('with payments between its slices, the audit finds what is wrong', async () => {
  const faults: Record<string, Act> = {
    "a balance equals the sum of its twin's entries": async (tx) =>
      tx.put(balances, { ...(await balanceOf(tx, 7, 'a')), amount: '5' }),
    "a balance's held amount equals its twin's open holds": async (tx) =>
      tx.put(balances, { ...(await balanceOf(tx, 7, 'a')), held: '5' }),
    'a posted movement has one entry for its payer and one for its payee': async (tx) => tx.remove(entries, 1200),
    'every entry belongs to a movement': async (tx) => tx.remove(movements, 600),
    'every entry and hold is in a balance': async (tx) => tx.remove(balances, '9:a'),
  }
  for (const [rule, spoil] of Object.entries(faults)) {
    const storage = await busyLedger(1000, 100)
    await storage.write(spoil)
    let n = 0
    const { found } = await auditBetween(storage, () =>
      storage.write((tx) => post(tx, { ...payment(0), payerTwinId: 20, payeeTwinId: 21, at: n++ })),
    )
    expect(found.broken?.rule).toBe(rule)
  }
})

test('a state that is replaced between two slices is audited as it is then', async () => {
  const [storage, other] = [await busyLedger(900), await busyLedger(300, 5)]
  let isReplaced = false
  const { found } = await auditBetween(storage, async () => {
    if (isReplaced) return
    isReplaced = true
    await storage.import(await other.export())
  })
  expect(found).toMatchObject({ ok: true, movements: TWINS + 305 })
})
