import { expect, test } from 'vitest'
import { schemaHistory } from '../../src/core.js'
import { migrateState } from '../../src/storage/tables/migration.js'

const migrated = async (rows: Record<string, { id: number | string }[]>) =>
  (await migrateState({ schema: 3, counters: {}, rows }, schemaHistory)).rows

test('a message of the third schema keeps its place in a queue, or its turn', async () => {
  const outbox = [
    { id: 1, queue: 'a', taken_in: 'a' },
    { id: 2, queue: 'a', waits_in: 'a', waits_since: 5 },
    { id: 3, kind: 'mail' },
  ]
  expect((await migrated({ outbox })).outbox).toMatchObject([
    { id: 1, queue: 'a', slot_of: 'a' },
    { id: 2, queue: 'a', queued_in: 'a', waits_since: 5 },
    { id: 3, kind: 'mail' },
  ])
})

test('rows of processes of the third schema are gone', async () => {
  const leases = [{ id: 'process:one', holder: 'one:1', fence: 1, until: 9e15 }]
  const rows = await migrated({ leases })
  expect([rows.leases ?? [], rows.processes ?? []]).toEqual([[], []])
})

test('the hand-out of events waits for none below the last one', async () => {
  const webhook_progress = [{ id: 'events', after: 7, missing: [{ id: 5, since: 1 }], due_at: 2 }]
  expect((await migrated({ webhook_progress })).webhook_progress).toEqual([{ id: 'events', after: 7, due_at: 2 }])
})

test('a claim of the third schema becomes its holder', async () => {
  const older = {
    outbox: [
      { id: 1, claim: { holder: 'one:a', until: 5 } },
      { id: 2, claim: null },
    ],
    idempotency: [{ id: 'a', claim: 'one:b', claimed_until: 5, attended: true }],
    checkouts: [{ id: 1, attempt: 'one:c', attempt_beat: 3 }],
    account_changes: [{ id: 'x', instance: 'one:d', taken_until: 5 }],
  }
  const rows = await migrated(older)
  expect(rows.outbox).toEqual([
    { id: 1, claim: 'one:a' },
    { id: 2, claim: null },
  ])
  expect(rows.idempotency).toEqual([{ id: 'a', claim: 'one:b' }])
  expect(rows.checkouts).toEqual([{ id: 1, attempt: 'one:c' }])
  expect(rows.account_changes).toEqual([{ id: 'x', claim: 'one:d', last_step_at: 5 }])
})
