import { describe, expect, it } from 'vitest'
import { schemaHistory } from '../../src/core.js'
import { migrateState, type OlderRow } from '../../src/storage/tables/migration.js'

/** The rows of a state of the third schema, as they are today. */
async function migrated(rows: Readonly<Record<string, readonly OlderRow[]>>) {
  const state = await migrateState({ schema: 3, counters: {}, rows }, schemaHistory)
  return state.rows as Record<string, readonly OlderRow[]> // Every row has an id.
}

describe("a delegate's spending", () => {
  const at = Date.UTC(2031, 3, 1)
  const delegate = (id: string) => ({ id, spend: { dq: 'points' } })
  const call = (id: number, delegate: string | null) => ({ id, delegate, token: `run${id}` })
  const payment = (id: number, dq: string, amount: string) => ({ id, dq, amount, created_at: at + id })
  const rows = {
    delegates: [delegate('daily'), delegate('whole')],
    held_calls: [call(1, 'daily'), call(2, 'daily'), call(3, 'whole'), call(4, null)],
    payments: [
      payment(1, 'points', '5'),
      payment(2, 'dollars', '5000'),
      payment(3, 'points', '3'),
      payment(4, 'points', '7'),
    ],
    delegate_spendings: [
      { id: 'daily:2031-03-31', spent: '-4995' },
      { id: 'daily:2031-04-01', spent: '-4990' },
      { id: 'whole:all', spent: '8' },
      { id: 'other:2031-04', spent: '-1' },
    ],
  }

  it('counts at least what is held, and never less than nothing', async () => {
    const { delegate_spendings = [] } = await migrated(rows)
    expect(Object.fromEntries(delegate_spendings.map(({ id, spent }) => [id, spent]))).toEqual({
      'daily:2031-03-31': '0',
      'daily:2031-04-01': '5',
      'whole:all': '8',
      'other:2031-04': '0',
    })
  })

  it('gives nothing back for a call that was counted in another digital quantity', async () => {
    const { held_calls = [] } = await migrated(rows)
    expect(held_calls.map(({ delegate }) => delegate)).toEqual(['daily', null, 'whole', null])
  })
})

describe('what a user allows others', () => {
  const rows = {
    users: [{ id: 1, email: 'ada@example.test', made_by: null }],
    oidc_connections: [{ id: 3, user_id: 1 }],
    delegates: [
      { id: 'valid', revoked_at: null },
      { id: 'revoked', revoked_at: 5 },
    ],
    authentication_requests: [
      { id: 1, user_id: 1, status: 'pending', answered_at: null, spent_at: null },
      { id: 2, user_id: 1, status: 'approved', answered_at: 1000, spent_at: null },
      { id: 3, user_id: 1, status: 'approved', answered_at: 1000, spent_at: 1001 },
    ],
    standing_approvals: [{ id: '1:2:d', user_id: 1 }],
    twin_nonces: [{ id: 'n', twin_id: 1 }],
  }

  it('stays valid: it is of the first generation, like its user', async () => {
    const state = await migrated(rows)
    expect(state.oidc_connections).toMatchObject([{ user_generation: 0 }])
    for (const name of ['standing_approvals', 'twin_nonces']) expect(state[name]).toMatchObject([{ generation: 0 }])
    const generations = state.delegates?.map(({ id, generation }) => [id, generation])
    expect(Object.fromEntries(generations ?? [])).toEqual({ valid: 0, revoked: null })
  })

  it('and an approval can be spent for as long as before', async () => {
    const { authentication_requests = [] } = await migrated(rows)
    const ends = authentication_requests.map(({ generation, spendable_until }) => [generation, spendable_until])
    expect(ends).toEqual([
      [0, null],
      [0, 301_000],
      [0, null],
    ])
  })
})
