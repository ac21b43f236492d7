import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { ServiceContext } from '../../src/http/context.js'
import { sweepOver } from '../../src/jobs/retention/sweep.js'
import { ensureSweep, SWEEP } from '../../src/jobs/retention/sweep-timer.js'
import { timers } from '../../src/jobs/schedule/timer.js'
import { DAY } from '../../src/storage/retention.js'
import { collection } from '../../src/storage/storage.js'

const AT = Date.UTC(2031, 4, 1)
const HOUR = 3_600_000
const growth = { by: 'a test', bound: 'Few.' }
const indexes = { byEnd: { fields: ['ends'] } } as const

interface Lasting {
  readonly id: number
  readonly ends: number
}

const plain = collection<Lasting>()('plain', indexes, { growth, retention: { after: '', keepMs: 0, index: 'byEnd' } })
const newest = collection<Lasting>()('newest', indexes, {
  growth,
  retention: { after: '', keepMs: 0, index: 'byEnd', keepsNewest: true },
})

/** Sweeps once, from the planned timer on. Returns what is left, how many transactions it took, and when the next sweep is. */
async function swept(from: typeof plain, ends: readonly number[]) {
  const storage = memoryStorage()
  await storage.write(async (tx) => {
    for (const [at, end] of ends.entries()) tx.put(from, { id: at + 1, ends: end })
    await ensureSweep(tx, AT - HOUR)
    await ensureSweep(tx, AT - HOUR)
  })
  const context = { storage, instance: 'a', ongoing: new Map(), limits: {}, clock: { now: () => AT } }
  const sweep = sweepOver([from])
  for (let transactions = 1; ; transactions++) {
    const next = await storage.write(async (tx) => {
      const planned = await tx.find(timers, { index: 'byKind', prefix: [SWEEP], limit: 9 })
      const [timer] = planned
      if (!timer || planned.length !== 1) throw new Error(`${planned.length} sweeps are planned`)
      tx.remove(timers, timer.id)
      await sweep(tx, timer.subject, context as unknown as ServiceContext) // As much of it as a sweep needs.
      const [again] = await tx.find(timers, { index: 'byKind', prefix: [SWEEP], limit: 9 })
      return (again?.due_at ?? 0) - AT
    })
    const left = ((await storage.export()).rows[from.name] ?? []).map(({ id }) => id)
    if (next > 0 || transactions > 9) return { left, transactions, next }
  }
}

const over = (count: number) => Array.from({ length: count }, (_, n) => AT - n)

test.each([
  ['nothing', [], { left: [], transactions: 1, next: DAY }],
  ['what is over', over(3), { left: [], transactions: 1, next: DAY }],
  ['what stays for five hours', [AT + 5 * HOUR], { left: [1], transactions: 1, next: 5 * HOUR }],
  ['what stays for a minute', [AT + 60_000, AT, AT + 2 * HOUR], { left: [1, 3], transactions: 1, next: HOUR }],
  ['what stays for a month', [AT + 30 * DAY], { left: [1], transactions: 1, next: DAY }],
  [
    '299 that are over, and one that is not',
    [AT + 2 * HOUR, ...over(299)],
    { left: [1], transactions: 1, next: 2 * HOUR },
  ],
  ['300 that are over', over(300), { left: [], transactions: 2, next: DAY }],
  [
    '700 that are over, and more that are not',
    [...Array(400).fill(AT + 2 * HOUR), ...over(700)],
    {
      ...{ left: Array.from({ length: 400 }, (_, n) => n + 1), transactions: 3, next: 2 * HOUR },
    },
  ],
])(
  'a sweep of %s removes that alone, in as few transactions as it can, and plans the next one',
  async (_, ends, expected) => {
    expect(await swept(plain, ends)).toEqual(expected)
  },
)

test('the newest of a collection that keeps it stays, though it is over', async () => {
  expect(await swept(newest, over(3))).toMatchObject({ left: [3] })
  expect(await swept(newest, [AT, AT, AT + HOUR])).toMatchObject({ left: [3] })
})
