import { expect, test } from 'vitest'
import { schemaHistory } from '../../src/core.js'
import { migrateState } from '../../src/storage/tables/migration.js'

test('a reservation of the third schema counts against nobody', async () => {
  const older = { id: 7, dq: 'a', issuer_twin_id: 1, amount: '25' }
  const state = await migrateState({ schema: 3, counters: {}, rows: { reservations: [older] } }, schemaHistory)
  expect(state.rows.reservations).toEqual([{ ...older, maker: null }])
})
