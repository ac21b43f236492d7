import { allRows } from '../storage/page.js'
import type { Reader, Writer } from '../storage/storage.js'
import { changeRows, type OlderRow, olderRows } from '../storage/tables/migration.js'
import type { MigrationStep } from './step.js'

export const consentSteps: readonly MigrationStep[] = [
  { what: 'Gives nothing back for a held call that counted in another digital quantity.', migrate: keepCounted },
  { what: 'Counts at least what is held against the limit of each delegate.', migrate: countHeld },
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
