import { createWalletClient, http } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest'
import { type Host, startHost } from '../../support/browser/host.js'
import { newPaidShop } from '../../support/scenes/paid-calls.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { heldBy, newAccount, newWallet } from '../../support/scenes/x402.js'
import { importFrom, need, npmPackages } from '../support/toolchain.js'
import { buyerByAxios, buyerByFetch } from '../support/x402-buyers.js'
import { listen, REPORT, type RunningShop, serveFetch } from '../support/x402-shops.js'

/** The packages of version 1, unmodified. They install half a gigabyte of wallets. */

const versions = { 'x402-fetch': '1.2.0', 'x402-hono': '1.1.0', hono: '4.13.19' }

interface Buying {
  wrapFetchWithPayment(fetch: typeof globalThis.fetch, account: object): typeof globalThis.fetch
}
interface Selling {
  paymentMiddleware(payTo: string, routes: object, facilitator: { url: string }): unknown
}
interface HonoApp {
  use(middleware: unknown): void
  get(path: string, handle: (context: { json(value: unknown): Response }) => Response): void
  fetch(request: Request): Promise<Response>
}

const packages = (context: TestContext) => need(context, npmPackages('x402-v1', versions))

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())

const walletOf = (account: PrivateKeyAccount) => createWalletClient({ account, chain: baseSepolia, transport: http() })

async function buyer(context: TestContext, account: object) {
  const { wrapFetchWithPayment } = await importFrom<Buying>(await packages(context), 'x402-fetch')
  const pay = wrapFetchWithPayment(fetch, account)
  return async (url: string) => {
    const response = await pay(url)
    const receipt = response.headers.get('x-payment-response')
    return {
      status: response.status,
      body: await response.json(),
      receipt: receipt === null ? undefined : JSON.parse(Buffer.from(receipt, 'base64').toString()),
    }
  }
}

async function startShop(context: TestContext, payTo: string): Promise<RunningShop> {
  const installed = await packages(context)
  const { Hono } = await importFrom<{ Hono: new () => HonoApp }>(installed, 'hono')
  const { paymentMiddleware } = await importFrom<Selling>(installed, 'x402-hono')
  const app = new Hono()
  let delivered = 0
  const routes = { '/report': { price: '$0.01', network: 'base-sepolia' } }
  app.use(paymentMiddleware(payTo, routes, { url: `${host.url}/x402` }))
  app.get('/report', (context) => {
    delivered++
    return context.json(REPORT)
  })
  return listen(
    serveFetch((request) => app.fetch(request)),
    () => delivered,
  )
}

describe('a shop of x402-hono', () => {
  it('is paid once by x402-fetch, and delivers nothing to who is short of funds', async (context) => {
    const payTo = newAccount().address
    const shop = await startShop(context, payTo)
    try {
      const account = await newWallet(host.call, 0.015)
      const buy = await buyer(context, account)
      const bought = await buy(`${shop.url}/report`)
      expect(bought).toMatchObject({
        ...{ status: 200, body: REPORT },
        receipt: { success: true, payer: account.address, network: 'base-sepolia' },
      })
      expect([await heldBy(host.call, account.address), await heldBy(host.call, payTo)]).toEqual([0.005, 0.01])
      expect(shop.delivered()).toBe(1)
      const refused = await buy(`${shop.url}/report`)
      expect(refused.status).toBe(402)
      expect(refused.body.error).toMatch(/insufficient_funds/)
      expect(await heldBy(host.call, account.address)).toBe(0.005)
      expect(shop.delivered()).toBe(1)
    } finally {
      await shop.close()
    }
  })

  it.for(Object.entries({ '@x402/fetch': buyerByFetch, '@x402/axios': buyerByAxios }))(
    'is not paid by %s, which needs a client of version 1 for it',
    async ([, buyerOf], context) => {
      const shop = await startShop(context, newAccount().address)
      try {
        const account = await newWallet(host.call, 1)
        const bought = await buyerOf(account)(`${shop.url}/report`).catch((error: Error) => ({ status: error.message }))
        expect(bought.status).not.toBe(200)
        expect(await heldBy(host.call, account.address)).toBe(1)
      } finally {
        await shop.close()
      }
    },
  )
})

describe("farthing's own item", () => {
  const upstream = useUpstream()

  it('is paid once by x402-fetch, and not delivered to who is short of funds', async (context) => {
    const { item } = await newPaidShop(host.call, { external_endpoint: `${upstream.url}/ok` })
    const account = await newWallet(host.call, 0.015)
    const buy = await buyer(context, account)
    const before = upstream.requests.length
    const url = `${host.url}/v4/catalog/items/${item.id}/call?city=Oslo`
    const bought = await buy(url)
    expect(bought).toMatchObject({ status: 200, body: { story: 'The whole story.' } })
    expect(bought.receipt).toMatchObject({ success: true, payer: account.address, network: 'base-sepolia' })
    const refused = await buy(url)
    expect(refused.status).toBe(402)
    expect(refused.body.reason).toBe('insufficient_funds')
    expect(upstream.requests.length - before).toBe(1)
    expect(await heldBy(host.call, account.address)).toBe(0.005)
  })

  it.for([
    ['a wallet of one chain has a limit of 0.1 USD', /maximum/, walletOf],
    ['an account takes the first offer, which it cannot pay', /svm/, (account: PrivateKeyAccount) => account],
  ] as const)('is offered at 50 times the price: %s', async ([, refusal, signer], context) => {
    const { item } = await newPaidShop(host.call, { external_endpoint: `${upstream.url}/ok` })
    const account = await newWallet(host.call, 1)
    const buy = await buyer(context, signer(account))
    const match = { operation_id: 'callCatalogItemByGet' }
    const body = { id: 'dear', match, at: 'after_commit', do: { x402: 'expensive_offer' } }
    await host.call('POST', '/_sandbox/faults', { body })
    const url = `${host.url}/v4/catalog/items/${item.id}/call?city=Oslo`
    await expect(buy(url)).rejects.toThrow(refusal)
    await host.call('DELETE', '/_sandbox/faults/dear')
    expect(await heldBy(host.call, account.address)).toBe(1)
  })
})
