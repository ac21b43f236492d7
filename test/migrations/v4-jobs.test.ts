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
