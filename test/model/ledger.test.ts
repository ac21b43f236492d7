import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { Problem } from '../../src/base/problem.js'
import {
  balances,
  entries,
  hold,
  type MovementOrder,
  movements,
  post,
  postHold,
  reverseHold,
} from '../../src/money/ledger/movement.js'
import type { Storage, Writer } from '../../src/storage/storage.js'
import { howMuch } from '../support/how-much.js'
import { all, auditOf, quantities } from '../support/scenes/ledger.js'

/** What the ledger must do, as plainly as can be. Value counts in smallest units. */
class Model {
  readonly #amounts = new Map<string, bigint>()
  readonly #held = new Map<string, bigint>()
  readonly moves: { order: MovementOrder; state: 'held' | 'posted' | 'reversed' }[] = []

  amount(twin: number, dq: string): bigint {
    return this.#amounts.get(`${twin}:${dq}`) ?? 0n
  }

  held(twin: number, dq: string): bigint {
    return this.#held.get(`${twin}:${dq}`) ?? 0n
  }

  /** What must be answered to an order: undefined where it goes through. */
  refusal({ payerTwinId, payeeTwinId, dq, amount, payerIsIssuer }: MovementOrder): string | undefined {
    if (amount <= 0n) return 'RangeError'
    if (payerTwinId === payeeTwinId) return 'same_twin'
    const left = this.amount(payerTwinId, dq) - this.held(payerTwinId, dq) - amount
    if (payerIsIssuer) return left < -(2n ** 53n - 1n) ? 'amount_invalid' : undefined
    return left < 0n ? 'insufficient_funds' : undefined
  }

  begin(order: MovementOrder, state: 'held' | 'posted'): void {
    this.moves.push({ order, state })
    if (state === 'held') this.#add(this.#held, order.payerTwinId, order.dq, order.amount)
    else this.#move(order)
  }

  settle(n: number, state: 'posted' | 'reversed'): void {
    const move = this.moves[n] as Model['moves'][0]
    move.state = state
    this.#add(this.#held, move.order.payerTwinId, move.order.dq, -move.order.amount)
    if (state === 'posted') this.#move(move.order)
  }

  #move({ payerTwinId, payeeTwinId, dq, amount }: MovementOrder): void {
    this.#add(this.#amounts, payerTwinId, dq, -amount)
    this.#add(this.#amounts, payeeTwinId, dq, amount)
  }

  #add(sums: Map<string, bigint>, twin: number, dq: string, amount: bigint): void {
    sums.set(`${twin}:${dq}`, (sums.get(`${twin}:${dq}`) ?? 0n) + amount)
  }
}

interface Real {
  readonly storage: Storage
  /** Of the model's moves, in their order. */
  readonly ids: number[]
}

const TWINS = [3, 4, 5, 6]

/** A step on both, after which both must hold the same. */
abstract class Step implements fc.AsyncCommand<Model, Real> {
  check(): boolean {
    return true
  }

  async run(model: Model, real: Real): Promise<void> {
    await this.take(model, real)
    const state = await real.storage.read(async (tx) => ({
      audit: await auditOf({ read: (body) => body(tx) }),
      balances: await all(tx, balances),
      movements: await all(tx, movements),
      entries: await all(tx, entries),
    }))
    expect(state.audit.broken).toBeNull()
    for (const { twin_id, dq, amount, held } of state.balances)
      expect([twin_id, dq, amount, held]).toEqual([
        twin_id,
        dq,
        `${model.amount(twin_id, dq)}`,
        `${model.held(twin_id, dq)}`,
      ])
    for (const twin of TWINS)
      for (const { dq } of quantities) {
        expect(model.amount(twin, dq) - model.held(twin, dq)).toBeGreaterThanOrEqual(0n)
        const known = state.balances.some((balance) => balance.twin_id === twin && balance.dq === dq)
        expect(known || model.amount(twin, dq) === 0n).toBe(true)
      }
    expect(state.movements.map(({ id, state }) => [id, state])).toEqual(
      model.moves.map(({ state }, n) => [real.ids[n], state]),
    )
    const posted = model.moves.filter(({ state }) => state === 'posted').length
    expect(state.entries).toHaveLength(2 * posted)
    expect(state.audit.movements).toBe(model.moves.length)
  }

  protected abstract take(model: Model, real: Real): Promise<void>
}

/** What a write answers: its value, or the name of its refusal. */
const outcomeOf = <T>(storage: Storage, body: (tx: Writer) => Promise<T>): Promise<T | string> =>
  storage.write(body).catch((error: Error) => (error instanceof Problem ? error.code : error.name))

class Begin extends Step {
  constructor(
    readonly state: 'held' | 'posted',
    readonly order: MovementOrder,
  ) {
    super()
  }

  protected override async take(model: Model, { storage, ids }: Real): Promise<void> {
    const expected = model.refusal(this.order)
    const outcome = await outcomeOf(storage, (tx) => (this.state === 'held' ? hold : post)(tx, this.order))
    if (expected !== undefined) return expect(outcome).toBe(expected)
    expect(outcome).toMatchObject({ state: this.state, amount: `${this.order.amount}`, dq: this.order.dq })
    ids.push((outcome as { id: number }).id)
    model.begin(this.order, this.state)
  }

  override toString = () =>
    `${this.state} ${JSON.stringify(this.order, (_, part) => (typeof part === 'bigint' ? `${part}` : part))}`
}

class Settle extends Step {
  constructor(
    readonly state: 'posted' | 'reversed',
    readonly pick: number,
  ) {
    super()
  }

  protected override async take(model: Model, { storage, ids }: Real): Promise<void> {
    const n = model.moves.length === 0 ? 0 : this.pick % model.moves.length
    const settle = this.state === 'posted' ? postHold : reverseHold
    const outcome = await outcomeOf(storage, (tx) => settle(tx, ids[n] ?? 999, 5))
    if (model.moves[n]?.state !== 'held') return expect(outcome).toBe('Error')
    expect(outcome).toMatchObject({ id: ids[n], state: this.state, settled_at: 5 })
    model.settle(n, this.state)
  }

  override toString = () => `settle ${this.pick} as ${this.state}`
}

/** Orders of one write: all of them, or, when one is refused, none. */
class Together extends Step {
  constructor(readonly orders: MovementOrder[]) {
    super()
  }

  protected override async take(model: Model, { storage, ids }: Real): Promise<void> {
    const draft = new Model()
    for (const { order, state } of model.moves) {
      draft.begin(order, state === 'posted' ? 'posted' : 'held')
      if (state === 'reversed') draft.settle(draft.moves.length - 1, 'reversed')
    }
    let expected: string | undefined
    for (const order of this.orders) {
      expected ??= draft.refusal(order)
      if (expected === undefined) draft.begin(order, 'posted')
    }
    const made = await outcomeOf(storage, async (tx) => {
      const done = []
      for (const order of this.orders) done.push((await post(tx, order)).id)
      return done
    })
    if (expected !== undefined) return expect(made).toBe(expected)
    ids.push(...(made as number[]))
    for (const order of this.orders) model.begin(order, 'posted')
  }

  override toString = () => `together ${this.orders.length}`
}

const amounts = fc.oneof(
  { weight: 8, arbitrary: fc.bigInt({ min: 1n, max: 20n }) },
  { weight: 1, arbitrary: fc.constantFrom(0n, -1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 52n) },
)
const twins = fc.constantFrom(...TWINS)
const dqs = fc.constantFrom(...quantities)
const orders = fc.record({ dq: dqs, payer: twins, payee: twins, amount: amounts }).map(
  ({ dq: { dq }, payer, payee, amount }): MovementOrder => ({
    kind: 'payment',
    dq,
    amount,
    payerTwinId: payer,
    payeeTwinId: payee,
    at: 1,
  }),
)
const issues = fc.record({ quantity: dqs, payee: twins, amount: amounts }).map(
  ({ quantity: { dq, issuerTwinId }, payee, amount }): MovementOrder => ({
    kind: 'issue',
    dq,
    amount,
    payerTwinId: issuerTwinId,
    payeeTwinId: payee,
    payerIsIssuer: true,
    at: 1,
  }),
)
const pick = fc.nat({ max: 50 })

test('the ledger agrees with a plain model, and its audit finds nothing, after any steps', async () => {
  const commands = [
    issues.map((order) => new Begin('posted', order)),
    orders.map((order) => new Begin('posted', order)),
    orders.map((order) => new Begin('held', order)),
    pick.map((n) => new Settle('posted', n)),
    pick.map((n) => new Settle('reversed', n)),
    fc.array(orders, { minLength: 2, maxLength: 4 }).map((several) => new Together(several)),
  ]
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: 'max' }), async (steps) => {
      const storage = memoryStorage({ rerun: true })
      await fc.asyncModelRun(() => ({ model: new Model(), real: { storage, ids: [] } }), steps)
    }),
    { numRuns: howMuch(50, 300) },
  )
})

test('a hold posts or reverses once, however many try at once', async () => {
  const storage = memoryStorage({ rerun: true })
  const parties = { dq: 'a', payerTwinId: 1, payeeTwinId: 3, at: 1 }
  await storage.write((tx) => post(tx, { ...parties, kind: 'issue', amount: 10n, payerIsIssuer: true }))
  const { id } = await storage.write((tx) =>
    hold(tx, { ...parties, kind: 'purchase', amount: 4n, payerTwinId: 3, payeeTwinId: 4 }),
  )
  const tries = Array.from({ length: 20 }, (_, n) => storage.write((tx) => (n % 2 ? reverseHold : postHold)(tx, id, 2)))
  const settled = await Promise.allSettled(tries)
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect((await auditOf(storage)).broken).toBeNull()
})

test('a hold without a payee is posted to whoever claims it, never to the payer', async () => {
  const storage = memoryStorage({ rerun: true })
  const parties = { dq: 'a', payerTwinId: 1, payeeTwinId: 3, at: 1 }
  await storage.write((tx) => post(tx, { ...parties, kind: 'issue', amount: 10n, payerIsIssuer: true }))
  const order = { ...parties, kind: 'transfer', amount: 4n, payerTwinId: 3, payeeTwinId: null } as const
  const { id } = await storage.write((tx) => hold(tx, order))
  await expect(storage.write((tx) => postHold(tx, id, 2))).rejects.toThrow('has no payee')
  await expect(storage.write((tx) => postHold(tx, id, 2, 3))).rejects.toThrow('A twin cannot pay itself')
  const posted = await storage.write((tx) => postHold(tx, id, 2, 4))
  expect(posted).toMatchObject({ payee_twin_id: 4, state: 'posted' })
  await expect(storage.write((tx) => postHold(tx, id, 2, 5))).rejects.toThrow('not held')
  const back = await storage.write(async (tx) => reverseHold(tx, (await hold(tx, order)).id, 3))
  expect(back).toMatchObject({ payee_twin_id: null, state: 'reversed' })
  expect((await auditOf(storage)).broken).toBeNull()
})
