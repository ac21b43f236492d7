import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { collections } from '../../src/collections.js'
import { createService } from '../../src/index.js'
import { isCounted } from '../../src/storage/growth.js'
import { type Answer, type Call, type CallOptions, caller } from '../support/api.js'
import { modern, send } from '../support/mcp/mcp.js'
import { newOwnAccount } from '../support/scenes/account-changes.js'
import { addItem, newCart } from '../support/scenes/carts.js'
import { type Item, newItem, postItem, putParameters } from '../support/scenes/catalog.js'
import { type App, authorization, newAgent, newApp } from '../support/scenes/oidc.js'
import { newPersona } from '../support/scenes/personas.js'
import { ask } from '../support/scenes/second-factor.js'
import { askCode, newGuest } from '../support/scenes/sign-in.js'
import { newWebhook } from '../support/scenes/webhooks.js'
import { newReader, newSeller, newTwin, type Payer, type Seller } from '../support/scenes/world.js'

/** Fills every limit of growth through the public interface, until it refuses. */

const NEW_PER_DAY = 15
const PUBLIC = ['8.8.8.8', '9.9.9.9'] as const
const service = createService({ sandbox: true, limits: { newPerDay: NEW_PER_DAY } })
const call: Call = caller({ url: service.baseUrl, fetch: service.fetch })
afterAll(() => service.close())

/** Someone with all that a limit can count: an account, its user, and an agent of that user. */
interface Owner {
  readonly seller: Seller
  readonly user: Payer
  readonly agent: { readonly token: string }
  readonly item: Item
  readonly address: string
}

async function newOwner(address: string): Promise<Owner> {
  const seller = await newSeller(call)
  const user = await newReader(call, seller, { balance: 10 })
  const agent = { token: (await newAgent(call, { email: user.email })).accessToken }
  return { seller, user, agent, item: await newItem(call, seller), address }
}

/** A request that comes from a public address. */
const from = (address: string): Call =>
  caller({ url: service.baseUrl, fetch: (request) => service.respond(request, { peerAddress: address }) })

type Make = (owner: Owner, n: number) => Promise<Answer>

const persona = new Map<Owner, Promise<{ hash: string; hostname: string }>>()
const cart = new Map<Owner, Promise<number>>()
const guest = new Map<Owner, Promise<string>>()
const business = new Map<Owner, Promise<{ token: string }>>()
const webhook = new Map<Owner, Promise<{ id: number }>>()

let app: Promise<App> | undefined

function once<T>(known: Map<Owner, Promise<T>>, owner: Owner, make: () => Promise<T>): Promise<T> {
  const value = known.get(owner) ?? make()
  known.set(owner, value)
  return value
}

/** For each collection with a number: what adds a row. */
const makers: Record<string, Make> = {
  accounts: ({ address }) => from(address)('POST', '/v4/account'),
  users: ({ seller }, n) =>
    call('POST', '/v4/user', { token: seller.token, body: { email: `new-${seller.id}-${n}@example.test` } }),
  twins: async ({ user }) =>
    call('POST', '/v4/twin', {
      token: user.token,
      body: { dq: (await call('GET', '/v4/dq')).body.digital_quantities[0] },
    }),
  twin_nonces: ({ user: { token, hostname } }) => call('POST', '/v2/twin/nonce', { token, body: { hostname } }),
  async commodities({ seller: { token } }, n) {
    const twins = (await call('GET', '/v4/twins', { token })).body.twins
    const twin = twins[0] ?? (await newTwin(call, token))
    const dq = (await call('GET', '/v4/dq')).body.digital_quantities[0]
    return call('POST', '/v4/commodity', { token, body: { descriptor: `N.${n}`, dq, cost: 1, twin_id: twin.id } })
  },
  catalog_items: ({ seller, item }, n) =>
    postItem(call, seller, { name: `Item ${n}`, twin_id: item.twin_id, active: false }),
  events: ({ user: { token } }) => call('POST', '/v4/events', { token, body: { type: 'client.note', data: {} } }),
  async personas({ user: { token } }) {
    const { twins } = (await call('GET', '/v4/twins', { token })).body
    return call('POST', '/v4/persona', { token, body: { name: 'Ada', twin_id: twins[0].id } })
  },
  async delegates(owner) {
    const { token, hostname } = owner.user
    const { hash } = await once(persona, owner, () => newPersona(call, { token }))
    return call('POST', `/v4/persona/${hash}/delegate`, { token, body: { hostname } })
  },
  carts: ({ user: { token } }) => call('POST', '/v4/carts', { token }),
  checkouts: ({ user: { token }, item }) =>
    call('POST', '/v4/checkout', { token, body: { catalog_item_id: item.id, arguments: { city: 'Oslo' } } }),
  transfers: ({ user: { token, id } }, n) =>
    call('POST', '/v4/transfer', { token, body: { address: `friend-${id}-${n}@example.test`, amount: 0.01 } }),
  async account_choices(owner) {
    const agent = await once(business, owner, async () => {
      const email = `business-${owner.seller.id}@example.test`
      await newOwnAccount(call, email)
      return { token: (await newAgent(call, { email })).accessToken }
    })
    return call('POST', '/v4/agent/account-choice', agent)
  },
  oidc_clients: ({ address }) =>
    from(address)('POST', '/v4/oidc/reg', {
      body: { redirect_uris: ['https://app.example.test/'], token_endpoint_auth_method: 'none' },
    }),
  async oidc_interactions({ address }) {
    app ??= newApp(call)
    return from(address)('GET', authorization(await app))
  },
  async webhook_deliveries(owner) {
    const { id } = await once(webhook, owner, () => newWebhook(call, owner.seller))
    return call('POST', `/v4/webhooks/${id}/test`, owner.seller)
  },
  webhooks: ({ seller: { token } }) =>
    call('POST', '/v4/webhooks', { token, body: { url: 'https://shop.example.test/', events: ['client.*'] } }),
  async cart_lines(owner) {
    const { token } = owner.user
    const id = await once(cart, owner, () => newCart(call, { token }))
    return addItem(call, { token }, id, { catalog_item_id: owner.item.id, arguments: { city: 'Oslo' } })
  },
  dispatch_parameters: ({ seller, item }, n) =>
    putParameters(
      call,
      seller,
      item,
      Array.from({ length: n + 1 }, (_, k) => ({ kind: 'header', name: `X-Name-${k}`, value: 'a' })),
    ),
  async sign_in_codes(owner) {
    return askCode(call, await once(guest, owner, () => newGuest(call)), `reader-${owner.seller.id}@example.test`)
  },
  authentication_requests: ({ user: { token } }) => ask(call, { token }),
  async approvals({ agent, item }) {
    const body = { kind: 'purchase', catalog_item_id: item.id, arguments: { city: 'Oslo' } }
    return call('POST', '/v4/agent/approvals', { ...agent, body })
  },
  devices: ({ user: { token } }, n) =>
    call('POST', '/v4/notifications/registrations', {
      ...{ token, headers: { 'x-device-token': 'token-0' } },
      body: { platform: 'ios', token: `token-${n}` },
    }),
}

const counted = collections.flatMap(({ name, growth }) =>
  isCounted(growth) && growth.beyond !== 'oldest ends' ? [{ name, growth, code: growth.beyond }] : [],
)

test('a request is known that fills each collection with a limit', () => {
  expect(Object.keys(makers).sort()).toEqual(counted.map(({ name }) => name).sort())
})

describe.each(counted)('$name', ({ name, growth, code }) => {
  it(`are refused with ${code} above the limit, and those of others are not`, async () => {
    const owners = [await newOwner(PUBLIC[0]), await newOwner(PUBLIC[1])] as const
    const make = makers[name] as Make // Each has one: see above.
    const most = growth.most === 'limits.newPerDay' ? NEW_PER_DAY : growth.most === 'limits.codes' ? 5 : growth.most
    let made = 0
    let refused: Answer | undefined
    while (!refused && made <= Number(most)) {
      const answer = await make(owners[0], made)
      if (answer.status < 400) made += 1
      else refused = answer
    }
    expect([refused?.body?.code, made > 0], refused?.text).toEqual([code, true])
    const other = await make(owners[1], 0)
    expect(other.status, other.text).toBeLessThan(400)
  })
})

describe('An unproven user', () => {
  let seller: Seller
  beforeAll(async () => {
    seller = await newSeller(call)
  })

  const newUser = async (n: number): Promise<CallOptions> => {
    const body = { email: `unproven-${n}@example.test` }
    const { secrets } = (await call('POST', '/v4/user', { token: seller.token, body })).body
    const headers = { authorization: `Basic ${btoa(`${secrets[0].client_id}:${secrets[0].client_secret}`)}` }
    return { token: (await call('POST', '/v4/user/oauth/token', { headers })).body.access_token }
  }
  const note = (as: CallOptions) => call('POST', '/v4/events', { ...as, body: { type: 'client.note', data: {} } })

  it('gives an account that creates many of them no more than its own limit', async () => {
    for (let n = 0; n < NEW_PER_DAY - 1; n++) expect((await note(await newUser(n))).status).toBe(201)
    const last = await newUser(NEW_PER_DAY)
    expect((await note(last)).status).toBe(201)
    expect((await note(last)).body.code).toBe('too_many_new')
    expect((await note(seller)).body.code).toBe('too_many_new')
  })
})

test('a guest behind a private address, such as that of a proxy, is not refused for what others did there', async () => {
  const proxied = from('10.0.0.7')
  for (let n = 0; n <= NEW_PER_DAY; n++) expect((await proxied('POST', '/v4/carts')).status).toBe(201)
})

test('an agent that fills its carts through MCP reaches the limit of its user', async () => {
  const { agent, item } = await newOwner(PUBLIC[0])
  const add = () => {
    const order = { catalog_item_id: item.id, arguments: { city: 'Oslo' } }
    const { headers, message } = modern('tools/call', { name: 'cart_add', arguments: order })
    return send(call, message, { ...agent, headers })
  }
  for (let n = 0; n < NEW_PER_DAY; n++) expect((await add()).text).not.toContain('too_many_new')
  expect((await add()).text).toContain('limit')
  expect((await call('POST', '/v4/carts', agent)).body.code).toBe('too_many_new')
})
