import { Mppx as MppxClient } from 'mppx/client'
import { evm as evmBuyer } from 'mppx/evm/client'
import { charge } from 'mppx/evm/server'
import { Mppx as MppxServer } from 'mppx/server'
import type { PrivateKeyAccount } from 'viem/accounts'
import { type Buy, requestWith } from './x402-buyers.js'
import { listen, REPORT, type RunningShop, type ShopOptions, serveFetch } from './x402-shops.js'

/** A buyer and a shop of `mppx`, unmodified. They speak MPP and x402. */

const USDC = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
const TOKEN = { name: 'USDC', version: '2' }

export function buyerByMppx(account: PrivateKeyAccount): Buy {
  const { fetch: pay } = MppxClient.create({
    methods: [evmBuyer({ account, authorization: TOKEN, currencies: [USDC], networks: [84532] })],
    polyfill: false,
  })
  return async (url, body) => {
    const response = await pay(url, requestWith(body))
    const text = await response.text()
    const receipt = response.headers.get('payment-receipt')
    return {
      status: response.status,
      body: text.startsWith('{') ? JSON.parse(text) : text,
      receipt: receipt === null ? undefined : JSON.parse(Buffer.from(receipt, 'base64url').toString()),
    }
  }
}

export async function startMppxShop({ sandbox, payTo }: ShopOptions): Promise<RunningShop> {
  const method = charge({
    currency: USDC,
    chainId: 84532,
    decimals: 6,
    authorization: TOKEN,
    recipient: payTo as `0x${string}`,
    x402: { facilitator: `${sandbox}/x402` },
  })
  const mppx = MppxServer.create({
    methods: [method],
    secretKey: 'a secret of at least thirty-two bytes',
    realm: 'shop',
  })
  let delivered = 0
  const handle = async (request: Request): Promise<Response> => {
    const result = await (mppx as any).charge({ amount: '0.01' })(request)
    if (result.status === 402) return result.challenge
    delivered++
    return result.withReceipt(Response.json(REPORT))
  }
  return listen(serveFetch(handle), () => delivered)
}
