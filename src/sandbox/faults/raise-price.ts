import { catalogItems } from '../../market/catalog/item-row.js'
import { commodities } from '../../money/commodities/commodity.js'
import type { FaultyRequest } from '../onion/fault.js'

/** Raises a price for good, by at least its smallest unit. What is unknown is left to the request. */
export async function raisePrice(
  percent: number,
  { paysFor, service }: Pick<FaultyRequest, 'paysFor' | 'service'>,
): Promise<void> {
  if (paysFor === undefined) return
  await service?.storage.write(async (tx) => {
    const hash = typeof paysFor === 'string' ? paysFor : (await tx.get(catalogItems, paysFor))?.hash
    const row = hash === undefined ? undefined : await tx.get(commodities, hash)
    if (!row) return
    const more = (BigInt(row.cost) * BigInt(percent)) / 100n
    tx.put(commodities, { ...row, cost: String(BigInt(row.cost) + (more > 0n ? more : 1n)) })
  })
}
