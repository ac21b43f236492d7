import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { Service } from 'farthing'
import { Mppx } from 'mppx/client'
import { evm } from 'mppx/evm/client'
import type { PrivateKeyAccount } from 'viem/accounts'
import { serve } from '../../../adapters/node.js'
import { buyerByMppx } from '../../clients/support/mppx.js'
import { type Buy, buyerByFetch } from '../../clients/support/x402-buyers.js'
import { startHonoShop } from '../../clients/support/x402-shops.js'
import { caller } from '../../support/api.js'
import { offerIn, payHeader } from '../../support/scenes/paid-calls.js'
import { SHOP, USDC } from '../../support/scenes/x402.js'
import { retried } from './shop.js'

/** Unmodified buyers of x402 and MPP, before an item of a service, and before a shop of others that settles there. */

export interface ItemBuyer {
  readonly account: PrivateKeyAccount
  readonly path: string
}

export type BuyingApplication = (buyer: ItemBuyer) => (fork: Service) => Promise<unknown>

const sentTo = (fork: Service) => (input: string | URL | Request, init?: RequestInit) => fork.fetch(input, init)

const LOCAL = 'http://localhost'

let names = 0
const newName = (): string => `order_${String(++names).padStart(16, '0')}`

/** `@x402/fetch`. With `name`, by its extension `payment-identifier`. */
function payingByX402({ account }: ItemBuyer, fork: Service, name?: string) {
  const client = x402Client.fromConfig({
    schemes: [{ network: 'eip155:84532', client: new ExactEvmScheme(account) }] as never,
  })
  if (name !== undefined)
    client.registerExtension({
      key: 'payment-identifier',
      enrichPaymentPayload: async (payload) => ({
        ...payload,
        extensions: {
          ...payload.extensions,
          'payment-identifier': { info: { required: false, id: name }, schema: {} },
        },
      }),
    })
  return wrapFetchWithPayment(sentTo(fork) as typeof fetch, client)
}

async function delivered(answer: Response): Promise<unknown> {
  if (!answer.ok) throw new Error(`refused: ${answer.status}`)
  return answer.json()
}

const payingByMppx = ({ account }: ItemBuyer, fork: Service) =>
  Mppx.create({
    methods: [evm({ account, authorization: { name: 'USDC', version: '2' }, currencies: [USDC], networks: [84532] })],
    polyfill: false,
    fetch: sentTo(fork) as typeof fetch,
  })

/** An agent that pays whatever a 402 asks for, each time anew. `nameOf`: the payment identifier of a try. */
const payingEachOffer =
  (nameOf: (name: string) => string): BuyingApplication =>
  ({ account, path }) =>
  async (fork) => {
    const name = newName()
    const call = caller({ url: LOCAL, fetch: fork.fetch })
    for (let left = 6; left > 0; left--) {
      const offer = await call('GET', path).catch(() => undefined)
      if (offer?.status !== 402) continue
      const extensions = { 'payment-identifier': { info: { required: false, id: nameOf(name) }, schema: {} } }
      const headers = await payHeader(account, offerIn(offer), { extensions })
      const answer = await call('GET', path, { headers }).catch(() => undefined)
      if (answer?.status === 200) return answer.body
    }
    throw new Error('It failed six times.')
  }

/** What an item's raised price does to agents. */
export const itemAgents = {
  'pays each new price under its identifier': payingEachOffer((name) => name),
  'pays each new price under a new identifier': payingEachOffer(newName),
} satisfies Readonly<Record<string, BuyingApplication>>

export const itemBuyers = {
  '@x402/fetch once': (buyer) => async (fork) => delivered(await payingByX402(buyer, fork)(LOCAL + buyer.path)),
  '@x402/fetch, tried again': (buyer) => async (fork) =>
    delivered(await retried(() => payingByX402(buyer, fork)(LOCAL + buyer.path))),
  '@x402/fetch with an identifier, tried again': (buyer) => async (fork) => {
    const name = newName()
    return delivered(await retried(() => payingByX402(buyer, fork, name)(LOCAL + buyer.path)))
  },
  'mppx once': (buyer) => async (fork) => delivered(await payingByMppx(buyer, fork).fetch(LOCAL + buyer.path)),
  'mppx, tried again': (buyer) => async (fork) =>
    delivered(await retried(() => payingByMppx(buyer, fork).fetch(LOCAL + buyer.path))),
  'mppx with one credential, tried again': (buyer) => async (fork) => {
    const mppx = payingByMppx(buyer, fork)
    const offer = await retried(() => mppx.rawFetch(LOCAL + buyer.path))
    const authorization = await mppx.createCredential(offer)
    return delivered(await retried(() => mppx.rawFetch(LOCAL + buyer.path, { headers: { authorization } })))
  },
} satisfies Readonly<Record<string, BuyingApplication>>

/** Buys at a shop of `@x402/hono`, whose facilitator is the fork. */
const atHonoShop =
  (buyerOf: (account: PrivateKeyAccount) => Buy, times = 1): BuyingApplication =>
  ({ account }) =>
  async (fork) => {
    const served = await serve(() => fork, { port: 0 })
    const shop = await startHonoShop({ sandbox: served.url, payTo: SHOP })
    try {
      const buy = buyerOf(account)
      for (let left = times; ; left--) {
        const bought = await buy(`${shop.url}/report`).catch(() => undefined)
        if (bought?.status === 200) return bought.body
        if (left === 1) throw new Error(`refused: ${bought?.status}`)
      }
    } finally {
      await shop.close()
      await served.close()
    }
  }

export const honoBuyers = {
  '@x402/fetch once': atHonoShop(buyerByFetch),
  '@x402/fetch, tried again': atHonoShop(buyerByFetch, 3),
  'mppx once': atHonoShop(buyerByMppx),
  'mppx, tried again': atHonoShop(buyerByMppx, 3),
} satisfies Readonly<Record<string, BuyingApplication>>
