import { contentHash } from '../../base/hash.js'
import { letOthersRun } from '../../base/ports.js'
import { type DelegateRow, hasValidHash } from '../../consent/personas/delegate.js'
import { delegatesHeld } from '../../consent/personas/held-delegates.js'
import { personaOf } from '../../consent/personas/persona.js'
import type { ServiceContext } from '../../http/context.js'
import { type DigitalQuantityRow, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { type BalanceRow, balances, spendable } from '../../money/ledger/balance.js'
import { type EntryRow, entries } from '../../money/ledger/movement.js'
import { type TwinRow, twins } from '../../money/twins/twin.js'
import { keyIn } from '../../storage/key.js'
import { allRows } from '../../storage/page.js'
import type { Key, Reader } from '../../storage/storage.js'

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

/** What a twin holds now: its balances, then its delegates. The balances are read first, because a stream has no errors. */
export async function inventoryOf(
  service: Pick<ServiceContext, 'storage'>,
  twin: TwinRow,
): Promise<AsyncGenerator<InventoryRecord[]>> {
  const held = await balanceRecords(service, twin)
  return withDelegates(held, service, twin)
}

async function* withDelegates(
  first: InventoryRecord[],
  service: Pick<ServiceContext, 'storage'>,
  twin: TwinRow,
): AsyncGenerator<InventoryRecord[]> {
  yield first
  for await (const held of delegatesHeld(service, twin.id))
    yield await service.storage.read(async (tx) => {
      const records = []
      for (const delegate of held) records.push(await describeDelegate(tx, twin, delegate))
      return records
    })
}

/**
 * What a twin holds of each digital quantity. The entries are summed in slices. The last slice also reads the balances. If
 * both don't agree, the clock may have been moved back meanwhile, and one transaction sums again.
 */
async function balanceRecords({ storage }: Pick<ServiceContext, 'storage'>, twin: TwinRow): Promise<InventoryRecord[]> {
  const sums = new Map<string, Sum>()
  let after: readonly Key[] | undefined
  for (;;) {
    const past = after
    const { rows, records } = await storage.read(async (tx) => {
      const rows = await entriesAfter(tx, twin, past)
      if (rows.length === SLICE) return { rows, records: undefined }
      return { rows, records: await recordsOf(tx, twin, addEntries(new Map(sums), rows)) }
    })
    if (records?.every(({ integrity }) => integrity === 'valid')) return records
    if (records) return storage.read(async (tx) => recordsOf(tx, twin, await sumAtOnce(tx, twin)))
    addEntries(sums, rows)
    const last = rows.at(-1)
    after = last && keyIn(entries.indexes.byTwin, last)
    await letOthersRun()
  }
}

const SLICE = 500

const entriesAfter = (tx: Reader, { id }: TwinRow, after: readonly Key[] | undefined): Promise<EntryRow[]> =>
  tx.find(entries, { index: 'byTwin', prefix: [id], limit: SLICE, ...(after && { after }) })

async function recordsOf(tx: Reader, twin: TwinRow, sums: ReadonlyMap<string, Sum>): Promise<InventoryRecord[]> {
  const held = await tx.find(balances, { index: 'byTwin', prefix: [twin.id], limit: 1000 })
  const records: InventoryRecord[] = []
  for (const balance of held) records.push(await describe(tx, twin, balance, sums.get(balance.dq)))
  return records
}

interface Sum {
  readonly amount: bigint
  readonly lastAt: number
}

function addEntries(sums: Map<string, Sum>, rows: readonly EntryRow[]): Map<string, Sum> {
  for (const { dq, amount, at } of rows) {
    const sum = sums.get(dq) ?? { amount: 0n, lastAt: at }
    sums.set(dq, { amount: sum.amount + BigInt(amount), lastAt: Math.max(sum.lastAt, at) })
  }
  return sums
}

const describeDelegate = async (tx: Reader, twin: TwinRow, delegate: DelegateRow): Promise<InventoryRecord> => ({
  fileIdentity: delegate.id,
  issuer: (await personaOf(tx, delegate.persona)).hostname,
  fileType: '',
  amount: null,
  integrity: hasValidHash(delegate, twin) ? 'valid' : 'broken',
  timestamp: new Date(delegate.created_at).toISOString(),
})

async function sumAtOnce(tx: Reader, twin: TwinRow): Promise<Map<string, Sum>> {
  const sums = new Map<string, Sum>()
  for await (const entry of allRows(tx, entries, { index: 'byTwin', prefix: [twin.id] })) addEntries(sums, [entry])
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
    integrity: balance.importing || (sum?.amount ?? 0n) === BigInt(balance.amount) ? 'valid' : 'broken',
    timestamp: new Date((balance.importing ? undefined : sum?.lastAt) ?? twin.created_at).toISOString(),
  }
}
