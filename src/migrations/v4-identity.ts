import { allRows } from '../storage/page.js'
import type { Writer } from '../storage/storage.js'
import { changeRows, type OlderRow, olderRows, withMissing } from '../storage/tables/migration.js'
import type { MigrationStep } from './step.js'

export const identitySteps: readonly MigrationStep[] = [
  { what: 'Says of each session which client credentials it was made with.', migrate: fillSessions },
  { what: 'Removes the counts of wrong client secrets, which lasted a minute.', migrate: removeFailures },
  { what: 'Gives each user and session its first generation.', migrate: fillGenerations },
  { what: 'Keeps the last 50 token pairs of each client.', migrate: keepLastPairs },
  { what: 'Gives each connection, code and token of an app its first generation.', migrate: fillConnections },
]

/** Nobody knows with which. The sessions expire within a day. */
function fillSessions(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('sessions'), (session) => withMissing(session, { client_id: null }))
}

/** They are counted like everything else that is limited over time. */
async function removeFailures(tx: Writer): Promise<void> {
  const failures = olderRows('client_failures')
  for await (const { id } of allRows(tx, failures, { index: 'id', prefix: [] })) tx.remove(failures, String(id))
}

async function fillGenerations(tx: Writer): Promise<void> {
  for (const name of ['users', 'sessions'])
    await changeRows(tx, olderRows(name), (row) => withMissing(row, { generation: 0 }))
}

const MOST_PAIRS = 50

/** A client got more before there was a limit. Without its old ones, revoking it ends few. */
async function keepLastPairs(tx: Writer): Promise<void> {
  const tokens = olderRows('tokens')
  const byClient = new Map<unknown, OlderRow[]>()
  for await (const row of allRows(tx, tokens, { index: 'id', prefix: [] })) {
    const pairs = byClient.get(row.client_id) ?? []
    pairs.push(row)
    byClient.set(row.client_id, pairs)
  }
  for (const pairs of byClient.values())
    for (const { id } of pairs.toSorted(byEnd).slice(0, -MOST_PAIRS)) tx.remove(tokens, id)
}

const byEnd = (one: OlderRow, other: OlderRow) => Number(one.access_expires_at) - Number(other.access_expires_at)

/** Families that ended before have no tokens left. */
async function fillConnections(tx: Writer): Promise<void> {
  await changeRows(tx, olderRows('oidc_connections'), (row) => withMissing(row, { generation: 0, ended_families: [] }))
  for (const name of ['oidc_codes', 'oidc_tokens'])
    await changeRows(tx, olderRows(name), (row) => withMissing(row, { generation: 0 }))
}
