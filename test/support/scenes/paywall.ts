import { expect } from 'vitest'
import type { Answer, Call, CallOptions } from '../api.js'
import { registerDevice } from './second-factor.js'
import { newCommodity, newPayer, newSeller, newSession, type Payer, type Seller } from './world.js'

/** Steps of paying at the paywall, through the public interface. */

export const ORIGIN = 'https://shop.example.test'

export interface Market {
  readonly seller: Seller
  /** Of the seller's primary twin. */
  readonly shop: string
  readonly hash: string
  readonly payer: Payer
}

/** A seller, and a payer whose twin holds 10. */
export async function newMarket(call: Call): Promise<Market> {
  const seller = await newSeller(call)
  const { hash, hostname: shop } = await newCommodity(call, seller)
  return { seller, shop, hash, payer: await newPayer(call, seller, { balance: 10 }) }
}

export const paywall = (call: Call, caller: CallOptions, body: object): Promise<Answer> =>
  call('POST', '/v4/paywall', { ...caller, body })

/** The session that the page around an embed gets, of a payer whose phone answers so. */
export async function newPage(call: Call, { hash, payer }: Market, phone?: string): Promise<CallOptions> {
  const own = await newSession(call, payer.email)
  await registerDevice(call, { session: own })
  if (phone !== undefined) await setPhone(call, payer, phone)
  const { body } = await call('POST', '/v4/session/page', { session: own, body: { hash, origin: ORIGIN } })
  return { session: body.session_id, headers: { origin: ORIGIN } }
}

export const setPhone = (call: Call, { id }: Payer, mode: string): Promise<Answer> =>
  call('POST', `/_sandbox/devices/${id}`, { body: { mode } })

/** The request that a call of the paywall makes of the payer, once it is there. */
export async function askedAuthorization(call: Call, { token }: Payer) {
  for (let tries = 0; tries < 200; tries++) {
    const { authorizations } = (await call('GET', '/v4/paywall/authorizations', { token })).body
    if (authorizations.length > 0) return authorizations[0]
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('nobody was asked')
}

/** Balances of the payer and the shop; the audit must find nothing, and nothing may be held. */
export async function settledBalances(call: Call, { payer, seller, shop }: Market): Promise<[number, number]> {
  const audit = (await call('GET', '/_sandbox/ledger')).body
  expect([audit.broken, audit.digital_quantities.map(({ held }: { held: number }) => held)]).toEqual([null, [0]])
  const held = async (token: string, hostname: string) =>
    Object.values((await call('GET', `/v4/twin/${hostname}`, { token })).body.balances)[0] as number
  return [await held(payer.token, payer.hostname), await held(seller.token, shop)]
}

export const paymentHeaders = ({ headers }: Answer) => ({
  id: Number(headers.get('x-payment-id')),
  status: headers.get('x-payment-status'),
})
