import { request } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hopsIn, viaAfter } from '../../src/base/via.js'
import { createService, type Service } from '../../src/index.js'
import { nodeServer } from '../runtimes/node-server.js'
import { type Answer, type Call, type CallOptions, caller } from '../support/api.js'
import { refused } from '../support/mcp/mcp.js'
import { newMcpShop } from '../support/mcp/mcp-shop.js'
import { heldBy } from '../support/scenes/approvals.js'
import { attacked } from '../support/scenes/attacked.js'
import { changeItem, newShop, purchase, putParameters, settledSums } from '../support/scenes/catalog.js'
import { cardMessages, makeCheckout } from '../support/scenes/checkout.js'
import { expectProblem } from '../support/scenes/market.js'
import { newAgent } from '../support/scenes/oidc.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { newSession } from '../support/scenes/world.js'

/** Sellers whose item calls the service itself, so that one purchase makes the next. */

const upstream = useUpstream()
const startService = attacked()

const VIA = '1.1 farthing'
const THREE = `${VIA}, ${VIA}, ${VIA}`

/** A shop whose item buys itself, as the payer. */
async function newLoop(call: Call, url: string) {
  const shop = await newShop(call, { service_method: 'POST', price: 1, service_schema: { type: 'object' } })
  const { seller, item, payer } = shop
  await changeItem(call, seller, item, { external_endpoint: `${url}/v4/catalog/items/${item.id}/purchases` })
  const authorization = { kind: 'header', name: 'Authorization', sensitive: false, value: `Bearer ${payer.token}` }
  expect((await putParameters(call, seller, item, [authorization])).status).toBe(200)
  return shop
}

/** How many purchases are nested, and the answer to the innermost. */
function unfolded(answer: { status: number; body: any }): [depth: number, status: number, code: string | undefined] {
  let depth = 0
  let { status, body } = answer
  while (body.response) {
    depth++
    status = body.response.status
    body = JSON.parse(body.response.body)
  }
  return [depth, status, body.code]
}

describe('an item that buys itself', () => {
  it('stops after 3 calls through a real server', async () => {
    const running = await nodeServer.start({})
    onTestFinished(() => running.close())
    const call = caller(running)
    const shop = await newLoop(call, running.url)
    const bought = await purchase(call, { token: shop.payer.token }, shop.item)
    expect(unfolded(bought)).toEqual([3, 422, 'too_many_hops'])
    expect(await settledSums(call, shop)).toEqual([7, 3])
    expect((await call('GET', '/v4/purchases', { token: shop.payer.token })).body.purchases).toHaveLength(3)
  })

  it('stops after 3 calls in process', async () => {
    const upstream = { fetch: ({ url, ...asked }: { url: string }) => service.fetch(new Request(url, asked)) }
    const service: Service = createService({ sandbox: true, upstream })
    onTestFinished(() => service.close())
    const call = caller({ url: service.baseUrl, fetch: (asked) => service.fetch(asked) })
    const shop = await newLoop(call, service.baseUrl)
    expect(unfolded(await purchase(call, { token: shop.payer.token }, shop.item))).toEqual([3, 422, 'too_many_hops'])
    expect(await settledSums(call, shop)).toEqual([7, 3])
  })

  it('several Via headers count together, through a real server', async () => {
    const running = await nodeServer.start({})
    onTestFinished(() => running.close())
    const call = caller(running)
    const shop = await newShop(call, { service_schema: { type: 'object' }, external_endpoint: `${upstream.url}/ok` })
    const url = `${running.url}/v4/catalog/items/${shop.item.id}/purchases`
    const buy = (via: string[]) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { authorization: `Bearer ${shop.payer.token}`, via }
        const sent = request(url, { method: 'POST', headers }, (answer) => {
          answer.resume().on('end', () => resolve(answer.statusCode))
        })
        sent.on('error', reject).end()
      })
    expect(await buy([VIA, `1.0 proxy, ${VIA}`, VIA])).toBe(422)
    expect(await settledSums(call, shop)).toEqual([10, 0])
    expect(await buy([VIA, '1.0 proxy', VIA])).toBe(201)
    expect(upstream.requests.map(({ headers }) => headers.via)).toEqual([THREE])
  })
})

describe('a request that came through 3 upstream calls', () => {
  const headers = { via: THREE }

  it('starts no upstream call with any kind of payment, and pays nothing', async () => {
    const { call } = await startService()
    const shop = await newShop(call, { service_schema: { type: 'object' }, external_endpoint: `${upstream.url}/ok` })
    const { payer, item } = shop
    const user: CallOptions = { token: payer.token, headers }
    const session = await newSession(call, payer.email)
    const cart = (await call('POST', '/v4/carts', { token: payer.token })).body.id
    await call('POST', `/v4/carts/${cart}/items`, { token: payer.token, body: { catalog_item_id: item.id } })
    const { token } = (await makeCheckout(call, shop, { arguments: {} })).body
    const card = { payment_method_id: 'pm_card_visa' }
    const refusals: Promise<Answer>[] = [
      purchase(call, user, item),
      call('POST', `/v4/carts/${cart}/pay`, user),
      call('POST', `/v4/checkout/${token}/complete`, user),
      call('POST', `/v4/checkout/${token}/complete`, { session, headers, body: card }),
      call('POST', `/checkout/${token}`, { session, headers, body: { answer: 'pay' } }),
      call('POST', `/checkout/${token}`, { session, headers, body: { answer: 'card', ...card } }),
      call('POST', '/v4/paywall', { ...user, body: { amount: 1, serviceUrl: `${upstream.url}/ok` } }),
    ]
    for (const answer of await Promise.all(refusals)) expectProblem(answer, 422, 'too_many_hops')
    const keyed = { ...user, headers: { ...headers, 'idempotency-key': 'k' } }
    expectProblem(await purchase(call, keyed, item), 422, 'too_many_hops')
    expect([await settledSums(call, shop), upstream.requests, await cardMessages(call, 'card')]).toEqual([
      [10, 0],
      [],
      [],
    ])
    expect((await call('GET', `/v4/checkout/${token}`)).body.status).toBe('unpaid')
    expect((await call('GET', `/v4/carts/${cart}`, { token: payer.token })).body.status).toBe('open')
    // A payment that calls nobody ends the loop.
    expect((await call('POST', `/v4/payment/${item.commodity_hash}`, user)).status).toBe(202)
  })

  it('starts none with any tool', async () => {
    const shop = await newMcpShop({ featured: true })
    onTestFinished(() => shop.close())
    const { call, payer, item, own, agent } = shop
    await call('PUT', '/v4/agent/settings', { ...payer, body: { approval_threshold: { [item.dq]: 5 } } })
    const args = { city: 'Oslo' }
    const cart = (await call('POST', '/v4/carts', agent)).body.id
    await call('POST', `/v4/carts/${cart}/items`, { ...agent, body: { catalog_item_id: item.id, arguments: args } })
    const client = await shop.client('2025-11-25', { path: own, headers })
    for (const [name, sent] of Object.entries({
      agent_checkout: { catalog_item_id: item.id, arguments: args },
      city_weather: args,
      cart_pay: { cart_id: cart },
    }))
      expect(await refused(client, name, sent), name).toMatchObject({ code: 'too_many_hops', status: 422 })
    const email = 'seller@example.test'
    const { account } = (await call('POST', '/v4/account/register', { body: { dq: item.dq, email } })).body
    const { accessToken: token } = await newAgent(call, { email, account: String(account.id) })
    const selling = await shop.client('2025-11-25', { token, headers })
    expect(await refused(selling, 'test_tool', { catalog_item_id: item.id })).toMatchObject({ code: 'too_many_hops' })
    expect([await heldBy(call, shop), shop.asked]).toEqual([[10, 10], []])
  })
})

describe('the hops of a request', () => {
  const counted = (via: string): number => hopsIn(new Headers({ via }))

  it('count in every spelling of the header', () => {
    expect(counted(viaAfter(0))).toBe(1)
    expect(counted(viaAfter(2))).toBe(3)
    expect(counted('HTTP/1.1 FARTHING (a proxy),1.1 farthing,2 Farthing\t,h2/2.0 farthing')).toBe(4)
    expect(hopsIn(new Headers())).toBe(0)
  })

  it('do not include other services', () => {
    for (const via of ['', '1.1 proxy', '1.1 farthing.example.test', '1.1 far-thing', '1.1 notfarthing', 'farthing'])
      expect([via, counted(via)]).toEqual([via, 0])
  })
})
