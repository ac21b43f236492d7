import { contentHash } from '../../base/hash.js'
import { delegatesHeld, hasValidHash } from '../../consent/personas/delegate.js'
import { personaOf } from '../../consent/personas/persona.js'
import { type DigitalQuantityRow, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { type BalanceRow, balances, spendable } from '../../money/ledger/balance.js'
import { entries } from '../../money/ledger/movement.js'
import { type TwinRow, twins } from '../../money/twins/twin.js'
import { allRows } from '../../storage/page.js'
import type { Reader } from '../../storage/storage.js'

/** One thing that a twin holds now. */
export interface InventoryRecord {
  readonly fileIdentity: string
  /** Hostname of the digital quantity's issuer, or of the persona that gave the delegate. */
  readonly issuer: string
  /** The digital quantity. Empty for a delegate. */
  readonly fileType: string
  /** Null for a delegate. */
  readonly amount: number | null
  /** `valid` if the entries add up to the balance, or the delegate matches its hash. */
  readonly integrity: 'valid' | 'broken'
  /** Time of the last entry or the delegate. Without entries, when the twin was created. */
  readonly timestamp: string
}

export const inventoryColumns = [
  'fileIdentity',
  'issuer',
  'fileType',
  'amount',
  'integrity',
  'timestamp',
] as const satisfies readonly (keyof InventoryRecord)[]

export async function inventoryOf(tx: Reader, twin: TwinRow): Promise<InventoryRecord[]> {
  const held = await tx.find(balances, { index: 'byTwin', prefix: [twin.id], limit: 1000 })
  const sums = await sumEntries(tx, twin)
  const records: InventoryRecord[] = []
  for (const balance of held) records.push(await describe(tx, twin, balance, sums.get(balance.dq)))
  for await (const delegate of delegatesHeld(tx, twin))
    records.push({
      fileIdentity: delegate.id,
      issuer: (await personaOf(tx, delegate.persona)).hostname,
      fileType: '',
      amount: null,
      integrity: hasValidHash(delegate, twin) ? 'valid' : 'broken',
      timestamp: new Date(delegate.created_at).toISOString(),
    })
  return records
}

interface Sum {
  amount: bigint
  lastAt: number
}

async function sumEntries(tx: Reader, twin: TwinRow): Promise<Map<string, Sum>> {
  const sums = new Map<string, Sum>()
  for await (const entry of allRows(tx, entries, { index: 'byTwin', prefix: [twin.id] })) {
    const sum = sums.get(entry.dq) ?? { amount: 0n, lastAt: entry.at }
    sums.set(entry.dq, { amount: sum.amount + BigInt(entry.amount), lastAt: Math.max(sum.lastAt, entry.at) })
  }
  return sums
}

async function describe(tx: Reader, twin: TwinRow, balance: BalanceRow, sum?: Sum): Promise<InventoryRecord> {
  const quantity: DigitalQuantityRow = await quantityOf(tx, balance.dq)
  const issuer = await tx.get(twins, quantity.issuer_twin_id)
  return {
    fileIdentity: contentHash({ twin: twin.address, dq: balance.dq }),
    issuer: issuer?.hostname ?? '',
    fileType: balance.dq,
    amount: toAmount(spendable(balance), quantity.decimals),
    integrity: (sum?.amount ?? 0n) === BigInt(balance.amount) ? 'valid' : 'broken',
    timestamp: new Date(sum?.lastAt ?? twin.created_at).toISOString(),
  }
}
