import { commodities } from '../../money/commodities/commodity.js'
import type { FaultyRequest } from '../onion/fault.js'

/** Raises the price of a commodity for good, by at least its smallest unit. An unknown one is left to the request. */
export async function raisePrice(
  percent: number,
  { paysFor, service }: Pick<FaultyRequest, 'paysFor' | 'service'>,
): Promise<void> {
  if (paysFor === undefined) return
  await service?.storage.write(async (tx) => {
    const row = await tx.get(commodities, paysFor)
    if (!row) return
    const more = (BigInt(row.cost) * BigInt(percent)) / 100n
    tx.put(commodities, { ...row, cost: String(BigInt(row.cost) + (more > 0n ? more : 1n)) })
  })
}
