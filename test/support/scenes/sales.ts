import type { PrivateKeyAccount } from 'viem/accounts'
import { decodeHeader, encodeHeader } from '../../../src/agents/x402/payload.js'
import type { Answer, Call } from '../api.js'
import { challengeIn, payChallenge } from './mpp.js'
import { callItem, newPaidShop, offerIn, payHeader, payHeaderV1 } from './paid-calls.js'
import { newPaidWall, payWall } from './paid-wall.js'
import type { Signing } from './x402.js'

/** What farthing sells for a payment in the request, and the dialects in which it is paid. */

export interface OnSale {
  /** Asks for it, which costs 0.01 USDC. */
  ask(headers?: Record<string, string>): Promise<Answer>
  /** The same for something else, at the same price and payee. */
  askOther(headers?: Record<string, string>): Promise<Answer>
  /** The same at another service over the same storage. */
  at(call: Call): OnSale
}

type Open = (call: Call, endpoint: string) => Promise<OnSale>

const itemOnSale = (call: Call, item: { id: number }): OnSale => ({
  ask: (headers) => callItem(call, item, headers),
  askOther: (headers) => callItem(call, item, headers, 'city=Bergen'),
  at: (other) => itemOnSale(other, item),
})

const wallOnSale = (call: Call, order: object): OnSale => ({
  ask: (headers) => payWall(call, { ...order, additionalParams: { city: 'Oslo' } }, headers),
  askOther: (headers) => payWall(call, { ...order, additionalParams: { city: 'Bergen' } }, headers),
  at: (other) => wallOnSale(other, order),
})

export const sales: Readonly<Record<string, Open>> = {
  'an item': async (call, endpoint) =>
    itemOnSale(call, (await newPaidShop(call, { external_endpoint: endpoint })).item),
  'the paywall': async (call, endpoint) => wallOnSale(call, (await newPaidWall(call, { serviceUrl: endpoint })).order),
}

/** How an account pays what a 402 offers. */
export interface Paying {
  /** `signing` changes what is signed. */
  sign(account: PrivateKeyAccount, unpaid: Answer, signing?: Signing): Promise<Record<string, string>>
  /** The headers with another signature in them. */
  forged(headers: Record<string, string>): Record<string, string>
}

/** Another signature, of the same form. */
const bent = (signature: string): string => signature.replace(/^0x(.)/, (_, first) => `0x${first === '1' ? '2' : '1'}`)

const forgedIn = (header: string) => (headers: Record<string, string>) => {
  const payment = decodeHeader(headers[header] ?? '') as any
  payment.payload.signature = bent(payment.payload.signature)
  return { [header]: encodeHeader(payment) }
}

const READ = 'Payment '.length

export const payings: Readonly<Record<string, Paying>> = {
  'x402 version 2': {
    sign: (account, unpaid, signing) => payHeader(account, offerIn(unpaid), signing),
    forged: forgedIn('payment-signature'),
  },
  'x402 version 1': { sign: payHeaderV1, forged: forgedIn('x-payment') },
  MPP: {
    // The package signs what the challenge asks for, so the challenge is changed before, and comes back as it was.
    async sign(account, unpaid, { amount, payTo } = {}) {
      const challenge = challengeIn(unpaid)
      const asked = { ...challenge.request, ...(amount && { amount }), ...(payTo && { recipient: payTo }) }
      return payChallenge(account, { ...challenge, request: asked } as typeof challenge, (credential) => {
        credential.challenge = challenge
      })
    },
    forged({ authorization = '' }) {
      const credential = JSON.parse(Buffer.from(authorization.slice(READ), 'base64url').toString())
      credential.payload.signature = bent(credential.payload.signature)
      return { authorization: `Payment ${Buffer.from(JSON.stringify(credential)).toString('base64url')}` }
    },
  },
}
