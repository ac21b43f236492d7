import { expect } from 'vitest'
import { decodeHeader, encodeHeader } from '../../../src/agents/x402/payload.js'
import type { Answer, Call } from '../api.js'
import { newItem } from './catalog.js'
import { newSeller, type Seller } from './world.js'
import { fundAddress, newAccount, type newWallet, paymentOf, paymentV1Of, type Signing, USDC_DQ } from './x402.js'

/** Items that anybody buys by x402 over HTTP, and their buyers. */

export const OSLO = 'city=Oslo'

export interface PaidShop {
  readonly seller: Seller
  readonly item: Awaited<ReturnType<typeof newItem>>
}

/** An item that costs 0.01 USDC. */
export async function newPaidShop(call: Call, fields: object): Promise<PaidShop> {
  // USDC exists from the first funding on.
  await fundAddress(call, newAccount().address, 1)
  const seller = await newSeller(call)
  return { seller, item: await newItem(call, seller, { price: 0.01, dq: USDC_DQ, ...fields }) }
}

export const callItem = (call: Call, { id }: { id: number }, headers: Record<string, string> = {}, query = OSLO) =>
  call('GET', `/v4/catalog/items/${id}/call?${query}`, { headers })

/** The same by POST. */
export const postCall = (
  call: Call,
  { id }: { id: number },
  headers: Record<string, string> = {},
  body: object = { city: 'Oslo' },
) => call('POST', `/v4/catalog/items/${id}/call`, { headers, body })

/** The offer of a 402, in version 2. */
export function offerIn(answer: Answer) {
  expect(answer.status, answer.text).toBe(402)
  const offer = decodeHeader(answer.headers.get('payment-required') ?? '') as any
  return { ...offer, accepted: offer.accepts[0] }
}

export const receiptIn = ({ headers }: Answer, name = 'payment-response') =>
  decodeHeader(headers.get(name) ?? '') as any

type Account = Awaited<ReturnType<typeof newWallet>>

/** The header that pays an offer. `signing` changes what is signed, and the extensions. */
export async function payHeader(
  account: Account,
  offer: ReturnType<typeof offerIn>,
  signing: Signing = {},
): Promise<Record<string, string>> {
  const { payTo, amount, asset, network, extra } = offer.accepted
  const payment = await paymentOf(account, { payTo, amount, asset, network, ...extra, ...signing })
  return { 'payment-signature': encodeHeader(payment.paymentPayload) }
}

/** The same in version 1. */
export async function payHeaderV1(account: Account, { body }: Answer, signing: Signing = {}) {
  const [{ payTo, maxAmountRequired: amount, asset, extra }] = body.accepts
  const payment = await paymentV1Of(account, { payTo, amount, asset, ...extra, ...signing })
  return { 'x-payment': encodeHeader(payment.paymentPayload) }
}

/** Reads the offer for an item, signs it, and returns the header. */
export const signFor = async (call: Call, account: Account, item: { id: number }, signing: Signing = {}) =>
  payHeader(account, offerIn(await callItem(call, item)), signing)
