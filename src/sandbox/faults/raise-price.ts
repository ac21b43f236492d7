import type { ServiceContext } from '../../http/context.js'
import { commodities } from '../../money/commodities/commodity.js'

/** Raises the price of a commodity for good, by at least its smallest unit. An unknown one is left to the request. */
export const raisePrice = (hash: string, percent: number, { storage }: ServiceContext): Promise<void> =>
  storage.write(async (tx) => {
    const row = await tx.get(commodities, hash)
    if (!row) return
    const more = (BigInt(row.cost) * BigInt(percent)) / 100n
    tx.put(commodities, { ...row, cost: String(BigInt(row.cost) + (more > 0n ? more : 1n)) })
  })
