import type { Answer, Call } from '../api.js'
import { newCommodity, newSeller, type Seller } from './world.js'
import { fundAddress, newAccount } from './x402.js'

/** Calls of the paywall that anybody pays for in the request itself. */

export interface PaidWall {
  readonly seller: Seller
  /** The hostname that is paid. */
  readonly shop: string
  /** 0.01 USDC for it. */
  readonly order: { readonly amount: number; readonly destination: string; readonly serviceUrl?: string }
}

export async function newPaidWall(call: Call, fields: object = {}): Promise<PaidWall> {
  // USDC exists from the first funding on.
  await fundAddress(call, newAccount().address, 1)
  const seller = await newSeller(call)
  const { hostname: shop } = await newCommodity(call, seller)
  return { seller, shop, order: { amount: 0.01, destination: shop, ...fields } }
}

export const payWall = (call: Call, body: object, headers: Record<string, string> = {}): Promise<Answer> =>
  call('POST', '/v4/paywall', { headers, body })
