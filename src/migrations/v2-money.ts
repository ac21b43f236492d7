import { allRows } from '../storage/page.js'
import type { Writer } from '../storage/storage.js'
import { type OlderRow, olderRows } from '../storage/tables/migration.js'
import type { MigrationStep } from './step.js'

export const moneyToV2: readonly MigrationStep[] = [
  { what: 'Keeps supply free for top-ups whose card is being charged.', migrate: reserveForTopups },
]

const payments = olderRows('payments')
const balances = olderRows('balances')
const reservations = olderRows('reservations')

/** An issuer owes at most 2^53-1 units. */
const MAX_UNITS = 2n ** 53n - 1n

async function reserveForTopups(tx: Writer): Promise<void> {
  for await (const message of allRows(tx, olderRows('outbox'), { index: 'id', prefix: [] })) {
    if (message.kind !== 'card' || message.status !== 'pending' || typeof message.purpose_id !== 'number') continue
    const payment = await tx.get(payments, message.purpose_id)
    if (payment?.status !== 'pending' || (await tx.get(reservations, payment.id))) continue
    const { id, dq, payer_twin_id: issuer_twin_id, amount } = payment
    const blank = { id: `${issuer_twin_id}:${dq}`, twin_id: issuer_twin_id, dq, amount: '0', held: '0' }
    const issuer: OlderRow = (await tx.get(balances, blank.id)) ?? blank
    const taken = units(issuer.reserved) + units(amount)
    // What cannot be reserved settles as before: it waits until supply returns.
    if (units(issuer.amount) - units(issuer.held) - taken < -MAX_UNITS) continue
    tx.put(balances, { ...issuer, reserved: String(taken) })
    tx.put(reservations, { id, dq, issuer_twin_id, amount })
  }
}

const units = (stored: unknown): bigint => BigInt(String(stored ?? 0))
