import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Host, startHost } from '../support/browser/host.js'
import { heldBy, newAccount, newWallet } from '../support/scenes/x402.js'
import { buyerByAxios, buyerByFetch } from './support/x402-buyers.js'
import { REPORT, type RunningShop, startExpressShop, startHonoShop } from './support/x402-shops.js'

/** Shops and buyers of others over HTTP, with farthing as their facilitator: what a chain would do, the ledger does. */

const buyers = { '@x402/fetch': buyerByFetch, '@x402/axios': buyerByAxios }
const shops = { '@x402/hono': startHonoShop, '@x402/express': startExpressShop }

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())

describe.each(Object.entries(shops))('a shop of %s', (_, start) => {
  const payTo = newAccount().address
  let shop: RunningShop
  beforeAll(async () => {
    shop = await start({ sandbox: host.url, payTo })
  })
  afterAll(() => shop.close())

  describe.each(Object.entries(buyers))('and a buyer of %s', (_, buyerOf) => {
    it('pays once, and gets what it paid for', async () => {
      const account = await newWallet(host.call, 1)
      const before = { sold: shop.delivered(), earned: (await heldBy(host.call, payTo)) ?? 0 }
      const bought = await buyerOf(account)(`${shop.url}/report`)
      expect(bought).toMatchObject({ status: 200, body: REPORT })
      expect(bought.receipt).toMatchObject({
        ...{ success: true, payer: account.address, network: 'eip155:84532' },
        transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      })
      expect(await heldBy(host.call, account.address)).toBe(0.99)
      expect(await heldBy(host.call, payTo)).toBeCloseTo(before.earned + 0.01, 6)
      expect(shop.delivered()).toBe(before.sold + 1)
    })

    it('gets nothing while its address holds less than the price', async () => {
      const account = await newWallet(host.call, 0.009)
      const sold = shop.delivered()
      const refused = await buyerOf(account)(`${shop.url}/report`)
      expect(refused.status).toBe(402)
      expect(shop.delivered()).toBe(sold)
      expect(await heldBy(host.call, account.address)).toBe(0.009)
    })
  })
})
