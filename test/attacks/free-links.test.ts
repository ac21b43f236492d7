import { afterAll, expect, it } from 'vitest'
import { createService } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { connect, done, refused } from '../support/mcp/mcp.js'
import { newItem } from '../support/scenes/catalog.js'
import { makeCheckout, newShop } from '../support/scenes/checkout.js'
import { advance, expectProblem, stopClock } from '../support/scenes/market.js'
import { newAgent } from '../support/scenes/oidc.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { defaultDq, newSeller, tokenFor } from '../support/scenes/world.js'

/** A host pays for calls that cost their payer nothing, whichever way they are bought. */

const upstream = useUpstream()
/** The default is in `fan-out.test.ts`. */
const MOST = 20
const service = createService({ sandbox: true, limits: { freeCalls: MOST } })
const call: Call = caller({ url: service.baseUrl, fetch: service.fetch })
afterAll(() => service.close())

it('links to a free item call its host no more often than purchases may', async () => {
  const shop = await newShop(call, `${upstream.url}/ok`, { price: 0 })
  const { token } = shop.payer
  const payLink = async () => {
    const { url } = (await makeCheckout(call, shop)).body
    return call('POST', `/v4/checkout/${url.split('/').at(-1)}/complete`, { token, body: {} })
  }
  for (let count = 0; count < MOST; count++) expect((await payLink()).status).toBe(200)
  expectProblem(await payLink(), 429, 'too_many_calls')
  expect(upstream.requests).toHaveLength(MOST)
})

it('says on a stopped clock how to go on, which an option makes unnecessary', async () => {
  for (const freeCalls of [2, 5]) {
    const limited = createService({ sandbox: true, limits: { freeCalls } })
    const call = caller({ url: limited.baseUrl, fetch: limited.fetch })
    await stopClock(call)
    const shop = await newShop(call, `${upstream.url}/ok`, { price: 0 })
    const { token } = shop.payer
    const payLink = async () => {
      const { url } = (await makeCheckout(call, shop)).body
      return call('POST', `/v4/checkout/${url.split('/').at(-1)}/complete`, { token, body: {} })
    }
    for (let count = 0; count < freeCalls; count++) expect((await payLink()).status).toBe(200)
    const refused = await payLink()
    expectProblem(refused, 429, 'too_many_calls')
    expect(refused.headers.get('retry-after')).toBe('900')
    expect(refused.body.error).toContain(
      'Move it on by 900 seconds with POST /_sandbox/clock, or raise `limits.freeCalls`.',
    )
    await advance(call, '15m')
    expect((await payLink()).status).toBe(200)
    await limited.close()
  }
})

it('says on a stopped clock how to create more in a day', async () => {
  const limited = createService({ sandbox: true, limits: { newPerDay: 3 } })
  const call = caller({ url: limited.baseUrl, fetch: limited.fetch })
  await stopClock(call)
  const { token } = await newSeller(call)
  const refused = []
  for (let count = 0; count < 5; count++)
    refused.push(await call('POST', '/v4/events', { token, body: { type: 'client.done' } }))
  const last = refused[4]
  expect([last?.status, last?.body.code]).toEqual([429, 'too_many_new'])
  expect(last?.headers.get('retry-after')).toBe('86400')
  expect(last?.body.error).toContain(
    'Move it on by 86400 seconds with POST /_sandbox/clock, or raise `limits.newPerDay`.',
  )
  await limited.close()
})

it('an agent tries a tool of its business no more often than free purchases call a host', async () => {
  const email = 'seller@example.test'
  const { account } = (await call('POST', '/v4/account/register', { body: { dq: await defaultDq(call), email } })).body
  const [, { client_id, client_secret }] = account.secrets
  const seller = { token: await tokenFor(call, client_id, client_secret) }
  const item = await newItem(call, seller, { external_endpoint: `${upstream.url}/ok`, price: 0.01 })
  const { accessToken: token } = await newAgent(call, { email, account: String(account.id) })
  const client = await connect({ url: service.baseUrl, fetch: service.fetch }, { token, era: '2026-07-28' })
  const order = { catalog_item_id: item.id, arguments: { city: 'Oslo' } }
  const before = upstream.requests.length
  for (let count = 0; count < MOST; count++) expect(await done(client, 'test_tool', order)).toMatchObject({ ok: true })
  expect(await refused(client, 'test_tool', order)).toMatchObject({ status: 429, code: 'too_many_calls' })
  expect(upstream.requests.length - before).toBe(MOST)
})
