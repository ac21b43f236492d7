import { afterAll, expect, it } from 'vitest'
import { createService } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { newItem } from '../support/scenes/carts.js'
import { expectProblem } from '../support/scenes/market.js'
import { newDelegate, newPersona } from '../support/scenes/personas.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { defaultDq, newPayer, newSeller, type Payer } from '../support/scenes/world.js'

/** The publishable secret of an embed is public, so what is bought by it counts for whoever granted the delegate. */

const upstream = useUpstream()
/** The default is in `fan-out.test.ts`. */
const MOST = 20
const service = createService({ sandbox: true, limits: { freeCalls: MOST } })
const call: Call = caller({ url: service.baseUrl, fetch: service.fetch })
afterAll(() => service.close())

it('a stranger does not use up the free calls of an account whose publishable secret they know', async () => {
  const seller = await newSeller(call)
  const item = await newItem(call, seller, { external_endpoint: `${upstream.url}/ok`, price: 0 })
  const dq = await defaultDq(call)
  const shop = await newSeller(call)
  const buyerFor = async (payer: Payer) => {
    const { hash } = await newPersona(call, payer)
    const spend = { party: { public_secret: shop.publicSecret }, dq, limit: 5 }
    const delegate = await newDelegate(call, payer, { persona: hash, hostname: payer.hostname, spend })
    const body = { public_secret: shop.publicSecret, persona_delegate: delegate.hash, arguments: {} }
    return () => call('POST', `/v4/catalog/items/${item.id}/purchases`, { body })
  }
  const thief = await buyerFor(await newPayer(call, await newSeller(call)))
  const customer = await buyerFor(await newPayer(call, await newSeller(call)))
  for (let count = 0; count < MOST; count++) expect((await thief()).status).toBe(201)
  expect((await customer()).status).toBe(201)
  expectProblem(await thief(), 429, 'too_many_calls')
})
