import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Host, startHost } from '../support/browser/host.js'
import { newPaidShop } from '../support/scenes/paid-calls.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { heldBy, newAccount, newWallet } from '../support/scenes/x402.js'
import { buyerByMppx, startMppxShop } from './support/mppx.js'
import { buyerByAxios, buyerByFetch } from './support/x402-buyers.js'
import { REPORT, type RunningShop, startExpressShop, startHonoShop } from './support/x402-shops.js'

/** `mppx` and the packages of x402 with each other, and with farthing's own shop. */

const buyers = { mppx: buyerByMppx, '@x402/fetch': buyerByFetch, '@x402/axios': buyerByAxios }

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())

describe.each([
  ['mppx', 'mppx', startMppxShop, buyerByMppx],
  ['mppx', '@x402/fetch', startMppxShop, buyerByFetch],
  ['@x402/hono', 'mppx', startHonoShop, buyerByMppx],
  ['@x402/express', 'mppx', startExpressShop, buyerByMppx],
] as const)('a shop of %s and a buyer of %s', (_shop, _buyer, start, buyerOf) => {
  const payTo = newAccount().address
  let shop: RunningShop
  beforeAll(async () => {
    shop = await start({ sandbox: host.url, payTo })
  })
  afterAll(() => shop.close())

  it('pay once, for what is delivered', async () => {
    const account = await newWallet(host.call, 1)
    const bought = await buyerOf(account)(`${shop.url}/report`)
    expect(bought).toMatchObject({ status: 200, body: REPORT })
    expect(await heldBy(host.call, account.address)).toBe(0.99)
    expect(await heldBy(host.call, payTo)).toBe(0.01)
    expect(shop.delivered()).toBe(1)
  })

  it('deliver nothing while the address holds less than the price', async () => {
    const account = await newWallet(host.call, 0.009)
    const refused = await buyerOf(account)(`${shop.url}/report`).catch((error: Error) => ({ status: error.message }))
    expect(refused.status).not.toBe(200)
    expect(shop.delivered()).toBe(1)
    expect(await heldBy(host.call, account.address)).toBe(0.009)
  })
})

const upstream = useUpstream()

describe.each(Object.entries(buyers))("farthing's own item and a buyer of %s", (_, buyerOf) => {
  it('is paid once, and its endpoint called once', async () => {
    const { item } = await newPaidShop(host.call, { external_endpoint: `${upstream.url}/ok` })
    const account = await newWallet(host.call, 1)
    const before = upstream.requests.length
    const bought = await buyerOf(account)(`${host.url}/v4/catalog/items/${item.id}/call?city=Oslo`)
    expect(upstream.requests.length).toBe(before + 1)
    expect(bought).toMatchObject({ status: 200, body: { story: 'The whole story.' } })
    expect(bought.receipt).toBeDefined()
    expect(await heldBy(host.call, account.address)).toBe(0.99)
  })

  it('is not delivered while the address holds less than the price', async () => {
    const { item } = await newPaidShop(host.call, { external_endpoint: `${upstream.url}/ok` })
    const account = await newWallet(host.call, 0.009)
    const before = upstream.requests.length
    const url = `${host.url}/v4/catalog/items/${item.id}/call?city=Oslo`
    const refused = await buyerOf(account)(url).catch((error: Error) => ({ status: error.message }))
    expect(refused.status).not.toBe(200)
    expect(upstream.requests.length).toBe(before)
    expect(await heldBy(host.call, account.address)).toBe(0.009)
  })
})
