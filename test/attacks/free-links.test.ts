import { afterAll, expect, it } from 'vitest'
import { createService } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { makeCheckout, newShop } from '../support/scenes/checkout.js'
import { expectProblem } from '../support/scenes/market.js'
import { useUpstream } from '../support/scenes/upstream.js'

/** A host pays for calls that cost their payer nothing, whichever way they are bought. */

const upstream = useUpstream()
const service = createService({ sandbox: true })
const call: Call = caller({ url: service.baseUrl, fetch: service.fetch })
afterAll(() => service.close())

it('links to a free item call its host no more often than purchases may', async () => {
  const shop = await newShop(call, `${upstream.url}/ok`, { price: 0 })
  const { token } = shop.payer
  const payLink = async () => {
    const { url } = (await makeCheckout(call, shop)).body
    return call('POST', `/v4/checkout/${url.split('/').at(-1)}/complete`, { token, body: {} })
  }
  for (let count = 0; count < 300; count++) expect((await payLink()).status).toBe(200)
  expectProblem(await payLink(), 429, 'too_many_calls')
  expect(upstream.requests).toHaveLength(300)
})
