import { describe, expect, it } from 'vitest'
import { schemaHistory } from '../../src/core.js'
import { migrateState, type OlderRow } from '../../src/storage/tables/migration.js'

/** The rows of a state of the third schema, as they are today. */
async function migrated(rows: Readonly<Record<string, readonly OlderRow[]>>) {
  return (await migrateState({ schema: 3, counters: {}, rows }, schemaHistory)).rows
}

describe('a state of the third schema', () => {
  it('says of no session with which client credentials it was made', async () => {
    const { sessions } = await migrated({ sessions: [{ id: 1, by: 'token', page: null }] })
    expect(sessions).toEqual([{ id: 1, by: 'token', page: null, client_id: null }])
  })

  it('loses the counts of wrong client secrets, which lasted a minute', async () => {
    const rows = await migrated({ client_failures: [{ id: 'mid_1', count: 20, since: 5 }] })
    expect(rows.client_failures ?? []).toEqual([])
  })
})
