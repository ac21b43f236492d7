import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Host, startHost } from '../support/browser/host.js'
import { newPaidWall } from '../support/scenes/paid-wall.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { heldBy, newWallet } from '../support/scenes/x402.js'
import { buyerByMppx } from './support/mppx.js'
import { buyerByAxios, buyerByFetch } from './support/x402-buyers.js'

/** Buyers of others, unmodified, at the paywall: they send no credentials, and pay what the 402 asks for. */

const buyers = { '@x402/fetch': buyerByFetch, '@x402/axios': buyerByAxios, mppx: buyerByMppx }

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host.close())

const upstream = useUpstream()

describe.each(Object.entries(buyers))('the paywall and a buyer of %s', (_, buyerOf) => {
  const buy = async (balance: number) => {
    const account = await newWallet(host.call, balance)
    const { order } = await newPaidWall(host.call, {
      ...{ serviceUrl: `${upstream.url}/ok`, serviceMethod: 'POST', additionalParams: { town: 'Bath' } },
    })
    const bought = await buyerOf(account)(`${host.url}/v4/paywall`, order).catch((error: Error) => error)
    return { bought, held: await heldBy(host.call, account.address) }
  }

  it('pay once, and the service is called once', async () => {
    const { bought, held } = await buy(1)
    expect(bought).toMatchObject({ status: 200, body: { story: 'The whole story.' }, receipt: expect.any(Object) })
    expect(held).toBe(0.99)
    expect(upstream.requests.map(({ body }) => body)).toEqual(['{"town":"Bath"}'])
  })

  it('deliver nothing while the address holds less than the amount', async () => {
    const { bought, held } = await buy(0.009)
    expect(bought).not.toMatchObject({ status: 200 })
    expect([held, upstream.requests]).toEqual([0.009, []])
  })
})
