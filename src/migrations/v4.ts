import { allRows } from '../storage/page.js'
import type { Reader, Writer } from '../storage/storage.js'
import { changeRows, type Migration, type OlderRow, olderRows, withMissing } from '../storage/tables/migration.js'
import { isObject } from '../storage/unknown.js'
import { filling, type MigrationStep } from './step.js'

const ALL = { index: 'id', prefix: [] as [] } as const
const FIRST = { generation: 0 }
const heldCalls = olderRows('held_calls')

const steps: readonly MigrationStep[] = [
  filling('Says of each reservation of supply whose limits it counts against.', {
    // It is unknown who caused an older one. It ends within days.
    reservations: { maker: null },
  }),
  filling('Says of each session which client credentials it was made with.', {
    // Nobody knows with which. The sessions expire within a day.
    sessions: { client_id: null },
  }),
  { what: 'Removes the counts of wrong client secrets, which lasted a minute.', migrate: removeFailures },
  filling('Gives each user and session its first generation.', { users: FIRST, sessions: FIRST }),
  { what: 'Keeps the last 50 token pairs of each client.', migrate: keepLastPairs },
  filling('Gives each connection, code and token of an app its first generation.', {
    // Families that ended before have no tokens left.
    oidc_connections: { ...FIRST, ended_families: [] },
    oidc_codes: FIRST,
    oidc_tokens: FIRST,
  }),
  { what: 'Gives nothing back for a held call that counted in another digital quantity.', migrate: keepCounted },
  { what: 'Counts at least what is held against the limit of each delegate.', migrate: countHeld },
  // What a user made and nobody revoked stays valid until the user's generation rises.
  filling('Gives what a user allows others the first generation of its user.', {
    oidc_connections: { user_generation: 0 },
    standing_approvals: FIRST,
    twin_nonces: FIRST,
    authentication_requests: (row) => ({ ...FIRST, spendable_until: spendableUntil(row) }),
    delegates: ({ revoked_at }) => ({ generation: revoked_at === null ? 0 : null }),
  }),
  { what: 'Names the queue in which each message has a place, or waits for one.', migrate: renameQueues },
  { what: 'Lets each process write its row anew.', migrate: removeLeases },
  { what: 'Waits for no event below the last one that webhooks got.', migrate: forgetMissing },
  { what: 'Keeps of each claim who holds it, which decides alone whether it is free.', migrate: keepHolders },
]

/** From the third schema to the fourth, which limits what each caller may store. */
export const toV4: readonly Migration[] = steps.map((step) => ({ to: 4, ...step }))

/** They are counted like everything else that is limited over time. */
async function removeFailures(tx: Writer): Promise<void> {
  const failures = olderRows('client_failures')
  for await (const { id } of allRows(tx, failures, ALL)) tx.remove(failures, String(id))
}

const MOST_PAIRS = 50

/** A client got more before there was a limit. Without its old ones, revoking it ends few. */
async function keepLastPairs(tx: Writer): Promise<void> {
  const tokens = olderRows('tokens')
  const byClient = new Map<unknown, OlderRow[]>()
  for await (const row of allRows(tx, tokens, ALL)) {
    const pairs = byClient.get(row.client_id) ?? []
    pairs.push(row)
    byClient.set(row.client_id, pairs)
  }
  for (const pairs of byClient.values())
    for (const { id } of pairs.toSorted(byEnd).slice(0, -MOST_PAIRS)) tx.remove(tokens, id)
}

const byEnd = (one: OlderRow, other: OlderRow) => Number(one.access_expires_at) - Number(other.access_expires_at)

/** Earlier releases could count points for a call that held dollars. What such a call counted stays counted. */
function keepCounted(tx: Writer): Promise<void> {
  return changeRows(tx, heldCalls, async (call) => {
    if (typeof call.delegate !== 'string') return call
    const spend: unknown = (await tx.get(olderRows('delegates'), call.delegate))?.spend
    const payment = await tx.get(olderRows('payments'), call.id)
    const isSame = typeof spend === 'object' && spend !== null && 'dq' in spend && spend.dq === payment?.dq
    return isSame ? call : { ...call, delegate: null }
  })
}

/** Earlier releases could give more back than was counted, also below zero. */
async function countHeld(tx: Writer): Promise<void> {
  const held = await heldByDelegates(tx)
  return changeRows(tx, olderRows('delegate_spendings'), (counter) => {
    const [delegate, period = ''] = String(counter.id).split(':')
    const amounts = held
      .filter((call) => call.delegate === delegate && (period === 'all' || call.day.startsWith(period)))
      .map(({ amount }) => amount)
    const least = amounts.reduce((sum, amount) => sum + amount, 0n)
    return BigInt(String(counter.spent)) < least ? { ...counter, spent: String(least) } : counter
  })
}

/** What open calls of delegates hold, with the day on which it was counted. */
async function heldByDelegates(tx: Reader) {
  const held: { delegate: OlderRow['id']; amount: bigint; day: string }[] = []
  for await (const { id, delegate } of allRows(tx, heldCalls, ALL)) {
    const payment = await tx.get(olderRows('payments'), id)
    if (typeof delegate !== 'string' || typeof payment?.created_at !== 'number') continue
    const day = new Date(payment.created_at).toISOString().slice(0, 10)
    held.push({ delegate, amount: BigInt(String(payment.amount)), day })
  }
  return held
}

/** An approval could be spent for five minutes. */
const spendableUntil = ({ status, spent_at, answered_at }: OlderRow): number | null =>
  status === 'approved' && spent_at === null && typeof answered_at === 'number' ? answered_at + 5 * 60_000 : null

function renameQueues(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('outbox'), (message) => {
    const { taken_in, waits_in, ...rest } = message
    if (taken_in === undefined && waits_in === undefined) return message
    return {
      ...(rest as OlderRow),
      ...(taken_in !== undefined && { slot_of: taken_in }),
      ...(waits_in !== undefined && { queued_in: waits_in }),
    }
  })
}

/** They said which processes were alive. */
async function removeLeases(tx: Writer): Promise<void> {
  const leases = olderRows('leases')
  for await (const { id } of allRows(tx, leases, ALL)) tx.remove(leases, id)
}

/** Events land in the order of their ids. */
function forgetMissing(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('webhook_progress'), ({ missing: _, ...progress }) => progress as OlderRow)
}

async function keepHolders(tx: Writer): Promise<void> {
  await changeRows(tx, olderRows('outbox'), (message) =>
    isObject(message.claim) ? { ...message, claim: message.claim.holder } : message,
  )
  await changeRows(tx, olderRows('idempotency'), ({ claimed_until, attended, ...row }) => row as OlderRow)
  await changeRows(tx, olderRows('checkouts'), ({ attempt_beat, ...row }) => row as OlderRow)
  await changeRows(tx, olderRows('account_changes'), ({ instance, taken_until, ...row }) =>
    withMissing(row as OlderRow, { claim: instance, last_step_at: taken_until }),
  )
}
