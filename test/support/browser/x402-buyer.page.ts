import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPaymentFromConfig } from '@x402/fetch'
import { Mppx } from 'mppx/client'
import { evm } from 'mppx/evm/client'
import { privateKeyToAccount } from 'viem/accounts'

/** Unmodified buyers, bundled for a page. Tests call them. */

const NETWORK = 'eip155:84532'
const USDC = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
const TOKEN = { name: 'USDC', version: '2' }
type Key = `0x${string}`

const paying = (key: Key, fetch: typeof globalThis.fetch) =>
  wrapFetchWithPaymentFromConfig(fetch, {
    schemes: [{ network: NETWORK, client: new ExactEvmScheme(privateKeyToAccount(key)) }] as never,
  })

async function said(answer: Response, header: string) {
  return { status: answer.status, text: await answer.text(), hasReceipt: answer.headers.has(header) }
}

const shopAt = (facilitator: string, payTo: string) => async (url: RequestInfo | URL, init?: RequestInit) => {
  const paymentRequirements = {
    ...{ scheme: 'exact', network: NETWORK, amount: '10000', asset: USDC, payTo, maxTimeoutSeconds: 60 },
    extra: TOKEN,
  }
  const paid = new Request(url, init).headers.get('payment-signature')
  if (paid === null) {
    const resource = { url: String(url), description: 'A report', mimeType: 'text/plain' }
    const offer = { x402Version: 2, error: 'Pay.', resource, accepts: [paymentRequirements] }
    return new Response(null, { status: 402, headers: { 'payment-required': btoa(JSON.stringify(offer)) } })
  }
  const body = JSON.stringify({ x402Version: 2, paymentPayload: JSON.parse(atob(paid)), paymentRequirements })
  const headers = { 'content-type': 'application/json' }
  const { errorMessage, ...settled } = await (
    await fetch(`${facilitator}/settle`, { method: 'POST', headers, body })
  ).json()
  const [status, text] = settled.success ? [200, 'Sunny.'] : [402, errorMessage]
  return new Response(text, { status, headers: { 'payment-response': btoa(JSON.stringify(settled)) } })
}

const buyers = {
  /** By `@x402/fetch`. */
  byX402: async (url: string, key: Key) =>
    said(await paying(key, (...args) => fetch(...args))(url), 'payment-response'),
  /** By `mppx`. */
  async byMpp(url: string, key: Key) {
    const method = evm({
      account: privateKeyToAccount(key),
      authorization: TOKEN,
      currencies: [USDC],
      networks: [84532],
    })
    const { fetch: pay } = Mppx.create({ methods: [method], polyfill: false })
    return said(await pay(url), 'payment-receipt')
  },
  /** In a shop of this page, which settles at a facilitator. Packages of shops are made for servers. */
  inShop: async (facilitator: string, key: Key, payTo: string) =>
    said(await paying(key, shopAt(facilitator, payTo))('https://shop.example.test/report'), 'payment-response'),
}

Object.assign(globalThis, { buyers })

export type PageBuyers = typeof buyers
