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
    expect(sessions).toMatchObject([{ id: 1, by: 'token', page: null, client_id: null }])
  })

  it('loses the counts of wrong client secrets, which lasted a minute', async () => {
    const rows = await migrated({ client_failures: [{ id: 'mid_1', count: 20, since: 5 }] })
    expect(rows.client_failures ?? []).toEqual([])
  })

  it('keeps the last 50 token pairs of each client, so that revoking it ends few', async () => {
    const pair = (client: string, n: number) => ({
      id: `${client}${n % 7}${n}`,
      client_id: client,
      access_expires_at: n,
    })
    const tokens = Array.from({ length: 500 }, (_, n) => pair('many', n))
    const state = await migrated({ tokens: [...tokens, pair('few', 1)] })
    const kept = (state.tokens ?? []) as unknown as typeof tokens
    expect(kept.filter(({ client_id }) => client_id === 'few')).toHaveLength(1)
    const ends = kept.filter(({ client_id }) => client_id === 'many').map((row) => row.access_expires_at)
    expect(ends.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => 450 + n))
  })

  it('has everything in the first generation, so that nothing ends', async () => {
    const rows = {
      users: [{ id: 1, email: 'ada@example.test' }],
      sessions: [{ id: 2, user_id: 1 }],
      oidc_connections: [{ id: 3, user_id: 1 }],
      oidc_codes: [{ id: 'c', connection_id: 3 }],
      oidc_tokens: [{ id: 't', connection_id: 3, family_id: 'f' }],
    }
    const state = await migrateState({ schema: 3, counters: {}, rows }, schemaHistory)
    for (const name of ['users', 'sessions', 'oidc_codes', 'oidc_tokens'] as const)
      expect(state.rows[name]).toMatchObject([{ generation: 0 }])
    expect(state.rows.oidc_connections).toMatchObject([{ generation: 0, ended_families: [] }])
  })
})
