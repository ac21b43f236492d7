import { allRows } from '../storage/page.js'
import type { Reader, Writer } from '../storage/storage.js'
import { changeRows, type OlderRow, olderRows, withMissing } from '../storage/tables/migration.js'
import type { MigrationStep } from './step.js'

export const consentSteps: readonly MigrationStep[] = [
  { what: 'Gives nothing back for a held call that counted in another digital quantity.', migrate: keepCounted },
  { what: 'Counts at least what is held against the limit of each delegate.', migrate: countHeld },
  { what: 'Gives what a user allows others the first generation of its user.', migrate: fillGenerations },
]

const heldCalls = olderRows('held_calls')

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
  for await (const { id, delegate } of allRows(tx, heldCalls, { index: 'id', prefix: [] })) {
    const payment = await tx.get(olderRows('payments'), id)
    if (typeof delegate !== 'string' || typeof payment?.created_at !== 'number') continue
    const day = new Date(payment.created_at).toISOString().slice(0, 10)
    held.push({ delegate, amount: BigInt(String(payment.amount)), day })
  }
  return held
}

/** What a user made and nobody revoked stays valid until the user's generation rises. */
async function fillGenerations(tx: Writer): Promise<void> {
  await changeRows(tx, olderRows('oidc_connections'), (row) => withMissing(row, { user_generation: 0 }))
  for (const name of ['standing_approvals', 'twin_nonces'])
    await changeRows(tx, olderRows(name), (row) => withMissing(row, { generation: 0 }))
  await changeRows(tx, olderRows('authentication_requests'), (row) =>
    withMissing(row, { generation: 0, spendable_until: spendableUntil(row) }),
  )
  await changeRows(tx, olderRows('delegates'), (row) =>
    withMissing(row, { generation: row.revoked_at === null ? 0 : null }),
  )
}

/** An approval could be spent for five minutes. */
const spendableUntil = ({ status, spent_at, answered_at }: OlderRow): number | null =>
  status === 'approved' && spent_at === null && typeof answered_at === 'number' ? answered_at + 5 * 60_000 : null
