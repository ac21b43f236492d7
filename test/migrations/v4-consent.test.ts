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
