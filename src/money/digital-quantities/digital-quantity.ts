import { problem } from '../../base/problem.js'
import { contentHash } from '../../base/secrets.js'
import type { ReadOnce } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { moneyText } from '../ledger/amount.js'

/** A unit of value. Its id is the hash of its defining schema. */
export interface DigitalQuantityRow {
  readonly id: string
  /** Counts digital quantities in the order of their creation. The first is the service's default. */
  readonly number: number
  readonly name: string
  readonly shortcode: string
  readonly shortdescription: string
  /** 0 to 9. The smallest unit is 10^-decimals. */
  readonly decimals: number
  readonly issuer_twin_id: number
}

export const digitalQuantities = collection<DigitalQuantityRow>()(
  'digital_quantities',
  { byNumber: { fields: ['number'] } },
  {
    refs: { issuer_twin_id: 'twins' },
    growth: { by: 'the seed of a service', bound: 'The interface adds none.' },
    retention: { forever: 'Balances are counted in it.' },
  },
)

/** The fields that a digital quantity's hash covers. */
export type QuantityDefinition = Omit<DigitalQuantityRow, 'id' | 'number' | 'issuer_twin_id'>

export const defaultQuantity: QuantityDefinition = {
  name: 'US Dollar',
  shortcode: 'USD',
  shortdescription: 'United States dollars, to a tenth of a cent.',
  decimals: 3,
}

export const quantityHash = ({ name, shortcode, shortdescription, decimals }: QuantityDefinition): string =>
  contentHash({ name, shortcode, shortdescription, decimals })

/** Creates a digital quantity, with a hash as its id. The issuer's twin must exist already. */
export async function recordQuantity(
  tx: Writer,
  definition: QuantityDefinition,
  { hash, issuerTwinId }: { hash: string; issuerTwinId: number },
): Promise<DigitalQuantityRow> {
  const { name, shortcode, shortdescription, decimals } = definition
  const number = await tx.nextId('digital_quantities')
  const row = { id: hash, number, name, shortcode, shortdescription, decimals, issuer_twin_id: issuerTwinId }
  tx.put(digitalQuantities, row)
  return row
}

/** Throws `dq_unknown`. */
export async function quantityOf(tx: Reader, hash: string): Promise<DigitalQuantityRow> {
  const row = await tx.get(digitalQuantities, hash)
  if (!row) throw problem('dq_unknown')
  return row
}

/** An amount in text for people: `2.50 USD`. */
export async function amountText(tx: Reader, { dq, amount }: { dq: string; amount: string | bigint }): Promise<string> {
  return moneyText(amount, await quantityOf(tx, dq))
}

/** Reads the digital quantities of rows in one call. By their hashes. */
export async function quantitiesOf(tx: Reader, rows: readonly { readonly dq: string }[]) {
  const hashes = [...new Set(rows.map(({ dq }) => dq))]
  const found = (await tx.getMany(digitalQuantities, hashes)).filter((row) => row !== undefined)
  return new Map(found.map((row) => [row.id, row]))
}

/** Reads the digital quantities of a page's rows in one call, so that `quantityOf` finds them there. */
export async function readQuantities(page: ReadOnce, rows: readonly { readonly dq: string }[]): Promise<void> {
  const hashes = rows.map(({ dq }) => dq)
  await page.getMany(digitalQuantities, hashes)
}

export const allQuantities = (tx: Reader): Promise<DigitalQuantityRow[]> =>
  tx.find(digitalQuantities, { index: 'byNumber', prefix: [], limit: 1000 })

/** The service's first digital quantity, which new users' twins transact in. Throws an Error if there is none. */
export async function firstQuantity(tx: Reader): Promise<DigitalQuantityRow> {
  const [first] = await tx.find(digitalQuantities, { index: 'byNumber', prefix: [], limit: 1 })
  if (!first) throw new Error('the service has no digital quantity')
  return first
}
