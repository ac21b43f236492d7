import { afterAll, expect, it } from 'vitest'
import { createService, type ServiceOptions } from '../../src/index.js'
import { type Answer, type Call, caller } from '../support/api.js'
import { modern, send } from '../support/mcp/mcp.js'
import { newOwnAccount } from '../support/scenes/account-changes.js'
import { makeCheckout, newShop, type Shop } from '../support/scenes/checkout.js'
import { expectProblem } from '../support/scenes/market.js'
import { authorization, newAgent, newApp } from '../support/scenes/oidc.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { defaultDq, newSeller, newSession } from '../support/scenes/world.js'

/** A limit that one operation reaches holds at every other operation that adds to it. */

const upstream = useUpstream()
const open: { close(): Promise<void> }[] = []
afterAll(async () => {
  for (const service of open) await service.close()
})

function start(options: Partial<ServiceOptions>) {
  const service = createService({ sandbox: true, ...options })
  open.push(service)
  const { baseUrl: url, fetch } = service
  const fromPublic: Call = caller({ url, fetch: (request) => service.respond(request, { peerAddress: '8.8.8.8' }) })
  return { service, call: caller({ url, fetch }), fromPublic }
}

/** Repeats a request that a limit of three a day counts, until the limit refuses it. */
async function untilRefused(ask: (n: number) => Promise<Answer>): Promise<void> {
  for (let n = 0; n < 3; n++) expect((await ask(n)).status).toBeLessThan(400)
  expectProblem(await ask(3), 429, 'too_many_new')
}

const threeADay = { limits: { newPerDay: 3 } }

it('accounts: registering one counts as creating one', async () => {
  const { call, fromPublic } = start(threeADay)
  const dq = await defaultDq(call)
  const register = (n: number) =>
    fromPublic('POST', '/v4/account/register', { body: { dq, email: `ada-${n}@example.test` } })
  await untilRefused(register)
  expectProblem(await fromPublic('POST', '/v4/account'), 429, 'too_many_new')
})

it('catalog items: creating a tool counts as creating an item', async () => {
  const { call } = start(threeADay)
  const { token } = await newSeller(call)
  const { hostname } = (await call('POST', '/v4/twin', { token, body: { dq: await defaultDq(call) } })).body
  await untilRefused((n) =>
    call('POST', '/v4/mcp/tools', {
      token,
      body: {
        ...{ name: `Weather ${n}`, description: 'Tells the weather.', provider: 'Weather', price_per_call: 0.01 },
        ...{ service_url: `${upstream.url}/ok`, service_method: 'GET', external_twin_hostname: hostname },
        input_schema: { type: 'object', properties: {} },
      },
    }),
  )
})

it('authorization requests: a form counts as an address does', async () => {
  const { call, fromPublic } = start(threeADay)
  const app = await newApp(call)
  const form = Object.fromEntries(new URLSearchParams(authorization(app).split('?')[1]))
  await untilRefused(() => fromPublic('POST', '/v4/oidc/auth', { form }))
  expect((await fromPublic('GET', authorization(app))).status).toBe(429)
})

it('streams: subscriptions of MCP count as streams of events, at the server of an account too', async () => {
  const { service, call } = start({})
  const email = 'ada@example.test'
  const seller = await newOwnAccount(call, email)
  const { accessToken: token } = await newAgent(call, { email, account: String(seller.id) })
  const session = await newSession(call, email)
  const headers = { 'x-session-id': session, accept: 'text/event-stream' }
  for (let n = 0; n < 50; n++)
    expect((await service.fetch(new Request(`${service.baseUrl}/v4/events`, { headers }))).status).toBe(200)
  const { message, headers: ofEra } = modern('subscriptions/listen', { notifications: { toolsListChanged: true } })
  for (const path of ['/mcp', `/mcp/${seller.id}`])
    expectProblem(await send(call, message, { path, token, headers: ofEra }), 429, 'too_many_streams')
})

/** Pays a new link to what a shop sells, as the form of its page and as a program do. */
function payers(call: Call, shop: Shop, session: string) {
  const newLink = async () => (await makeCheckout(call, shop)).body.token as string
  return {
    byForm: async () => call('POST', `/checkout/${await newLink()}`, { session, body: { answer: 'pay' } }),
    byCall: async () => call('POST', `/v4/checkout/${await newLink()}/complete`, { session, body: {} }),
  }
}

it('free calls: the form of a checkout page counts as completing it', async () => {
  const { call } = start({ limits: { freeCalls: 2 } })
  const shop = await newShop(call, `${upstream.url}/ok`, { price: 0 })
  const { byForm, byCall } = payers(call, shop, await newSession(call, shop.payer.email))
  expect((await byForm()).status).toBe(303)
  expect((await byCall()).status).toBe(200)
  for (const refused of [await byForm(), await byCall()]) expectProblem(refused, 429, 'too_many_calls')
})

it('stored bytes: a link whose answer could not be kept is not paid, in whichever way', async () => {
  // Each answer has 200,000 bytes, and its encrypted form a third more: the first one is within the limit, a second one is not.
  const { call } = start({ limits: { storedBytesPerDay: 350_000 } })
  const shop = await newShop(call, `${upstream.url}/large`, { price: 0 })
  const { byForm, byCall } = payers(call, shop, await newSession(call, shop.payer.email))
  expect((await byForm()).status).toBe(303)
  const calls = upstream.requests.length
  for (const refused of [await byForm(), await byCall()]) expectProblem(refused, 429, 'too_many_new')
  expect(upstream.requests).toHaveLength(calls)
})
