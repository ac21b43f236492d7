import { afterAll, describe, expect, it, vi } from 'vitest'
import { createService } from '../../src/index.js'
import type { State } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { expectProblem } from '../support/scenes/market.js'
import { newSeller } from '../support/scenes/world.js'

/** States that a service takes, and cannot go on from; and states that it has, and cannot take back. */

const service = createService({ sandbox: true })
const call = caller({ url: service.baseUrl, fetch: service.fetch })
afterAll(() => service.close())

const state = async (): Promise<{
  counters: Record<string, number>
  rows: Record<string, Record<string, unknown>[]>
}> => JSON.parse(JSON.stringify(await service.sandbox.snapshot()))

function nested(levels: number, inner: unknown = 'deep'): unknown {
  let value = inner
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? { a: value } : [value]
  return value
}

const numbers: [string, (given: Awaited<ReturnType<typeof state>>) => void][] = [
  ['a counter at the last safe number', ({ counters }) => (counters.movements = Number.MAX_SAFE_INTEGER)],
  ['a counter that leaves little room', ({ counters }) => (counters.accounts = 2 ** 52)],
  ['a counter of no collection', ({ counters }) => (counters.gold = 1e14)],
  ['a fractional id', ({ rows }) => Object.assign(rows.accounts?.[0] ?? {}, { id: 0.5 })],
  ['a negative id', ({ rows }) => Object.assign(rows.accounts?.[0] ?? {}, { id: -7 })],
  ['a time beyond all dates', ({ rows }) => Object.assign(rows.accounts?.[0] ?? {}, { created_at: 9e15 })],
  ['a number without exact neighbours', ({ rows }) => Object.assign(rows.accounts?.[0] ?? {}, { created_at: 1e300 })],
  [
    'a clock beyond the last year',
    ({ rows }) => {
      rows.settings = [{ id: 'clock', value: { mode: 'manual', ms: Number.MAX_SAFE_INTEGER } }]
    },
  ],
]

describe('a snapshot', () => {
  it.each(numbers)('with %s is refused, and changes nothing', async (_, damage) => {
    await newSeller(call)
    const before = await state()
    const given = await state()
    damage(given)
    const refused = await call('PUT', '/_sandbox/snapshot', { body: given })
    expect(refused.status).toBe(refused.body.code === 'snapshot_invalid' ? 400 : 422)
    expect(refused.body.code).toMatch(/^snapshot_(invalid|refused)$/)
    await expect(service.sandbox.restore(given as unknown as State)).rejects.toMatchObject({ code: refused.body.code })
    expect(await state()).toEqual(before)
    expect((await call('POST', '/v4/account')).status).toBe(201)
  })

  it('with amounts of a million digits is refused, and no such amount is computed', async () => {
    await newSeller(call)
    const given = await state()
    const amount = '9'.repeat(1_000_000)
    for (const name of ['movements', 'entries', 'balances', 'commodities'])
      for (const row of given.rows[name] ?? []) Object.assign(row, { amount, cost: amount, held: amount })
    let longest = 0
    const Native = BigInt
    vi.stubGlobal(
      'BigInt',
      Object.assign((value: bigint | number | string) => {
        longest = Math.max(longest, String(value).length)
        return Native(String(value).slice(0, 20))
      }, Native),
    )
    try {
      await expect(service.sandbox.restore(given as unknown as State)).rejects.toMatchObject({
        code: 'snapshot_refused',
      })
    } finally {
      vi.unstubAllGlobals()
    }
    expect(longest).toBeLessThanOrEqual(41)
  })

  it('whose values nest without end is refused', async () => {
    const given = await state()
    Object.assign(given.rows.accounts?.[0] ?? {}, { name: nested(200) })
    expectProblem(await call('PUT', '/_sandbox/snapshot', { body: given }), 400, 'field_invalid')
    await expect(service.sandbox.restore(given as unknown as State)).rejects.toMatchObject({ code: 'snapshot_refused' })
    Object.assign(given.rows.accounts?.[0] ?? {}, { name: nested(200_000) })
    await expect(service.sandbox.restore(given as unknown as State)).rejects.toMatchObject({ code: 'snapshot_invalid' })
  })

  it('of a state with the deepest values that a request may bring is taken back over HTTP', async () => {
    const seller = await newSeller(call)
    let accepted = 0
    for (let levels = 40; levels > 0 && accepted === 0; levels--) {
      const body = { type: 'client.deep', data: { a: nested(levels, 1e308) } }
      const made = await call('POST', '/v4/events', { token: seller.token, body })
      if (made.status === 201) accepted = levels
      else expectProblem(made, 400, 'field_invalid')
    }
    expect(accepted).toBeGreaterThan(20)
    const { body } = await call('GET', '/_sandbox/snapshot')
    expect((await call('PUT', '/_sandbox/snapshot', { body })).status).toBe(204)
    expect((await call('GET', '/_sandbox/snapshot')).body.rows).toEqual(body.rows)
  })
})
