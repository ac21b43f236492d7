import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import { createService } from '../../src/index.js'
import { type Call, type CallOptions, caller } from '../support/api.js'
import { newItem, newShop, purchase } from '../support/scenes/catalog.js'
import { pay } from '../support/scenes/market.js'
import { newAgent } from '../support/scenes/oidc.js'
import { newPaidShop, signFor } from '../support/scenes/paid-calls.js'
import { newDelegate, newPersona } from '../support/scenes/personas.js'
import { send } from '../support/scenes/transfers.js'
import {
  basic,
  newCommodity,
  newPayer,
  newSeller,
  newSession,
  type Payer,
  type Seller,
} from '../support/scenes/world.js'
import { newWallet } from '../support/scenes/x402.js'
import { countingStorage } from '../support/storage/counting-storage.js'

function startCounting() {
  const storage = countingStorage()
  const upstream = { fetch: async () => new Response('{}', { headers: { 'content-type': 'application/json' } }) }
  const service = createService({ storage, sandbox: true, upstream })
  const call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
  /** Storage calls of a request that must succeed. */
  const callsOf = async (method: string, path: string, options: CallOptions = {}) => {
    storage.calls = 0
    const { status, body } = await call(method, path, options)
    const { calls } = storage
    expect([path, status < 300]).toEqual([path, true])
    return { calls, body }
  }
  /** Of reads, whose calls are counted without what the service did of its own at the same time. */
  const fewestCallsOf = async (path: string, options: CallOptions) => {
    const tries = [await callsOf('GET', path, options)]
    for (let n = 0; n < 4; n++) tries.push(await callsOf('GET', path, options))
    return tries.reduce((best, next) => (next.calls < best.calls ? next : best))
  }
  return { call, callsOf, fewestCallsOf, close: () => service.close() }
}

describe('Storage calls', () => {
  test("a user's payment makes 7, and 8 under an Idempotency-Key", async () => {
    const { call, callsOf, close } = startCounting()
    onTestFinished(close)
    const seller = await newSeller(call)
    const { hash } = await newCommodity(call, seller)
    const { token } = await newPayer(call, seller, { balance: 10 })
    expect((await callsOf('POST', `/v4/payment/${hash}`, { token })).calls).toBe(7)
    const headers = { 'idempotency-key': 'once' }
    expect((await callsOf('POST', `/v4/payment/${hash}`, { token, headers })).calls).toBe(8)
  })

  test('a purchase makes at most 30, a token call 2, and reading a twin 4', async () => {
    const { call, callsOf, close } = startCounting()
    onTestFinished(close)
    const { item, payer, seller } = await newShop(call)
    const { token, hostname } = payer
    const body = { arguments: { city: 'Oslo' } }
    const bought = await callsOf('POST', `/v4/catalog/items/${item.id}/purchases`, { token, body })
    const headers = basic(seller.clientId, seller.clientSecret)
    const tokens = await callsOf('POST', '/v4/account/oauth/token', { headers })
    const twin = await callsOf('GET', `/v4/twin/${hostname}`, { token })
    expect(bought.calls).toBeLessThanOrEqual(30) // 2 of them for the history, which only a sandbox keeps
    expect([tokens.calls, twin.calls]).toEqual([2, 4])
  })

  test('a call that x402 pays for makes at most 38', async () => {
    const { call, callsOf, close } = startCounting()
    onTestFinished(close)
    const { item } = await newPaidShop(call, {})
    const account = await newWallet(call, 1)
    const path = `/v4/catalog/items/${item.id}/call?city=Oslo`
    const paid = await callsOf('GET', path, { headers: await signFor(call, account, item) })
    expect(paid.calls).toBeLessThanOrEqual(38)
  })
})

interface World {
  readonly call: Call
  readonly seller: Seller
  readonly reader: Payer
  /** Of a commodity. */
  readonly hash: string
  readonly persona: string
  readonly item: number
  /** Gets every event of the seller. */
  readonly webhook: number
  /** A session of the reader's. */
  readonly session: string
}

async function newWorld(call: Call): Promise<World> {
  const seller = await newSeller(call)
  const { hash } = await newCommodity(call, seller)
  const reader = await newPayer(call, seller)
  const { id: item } = await newItem(call, seller, { name: 'The first' })
  const persona = (await newPersona(call, seller)).hash
  const hook = { url: 'https://hooks.example.test/', events: ['*'] }
  const webhook = (await call('POST', '/v4/webhooks', { token: seller.token, body: hook })).body.id
  return { call, seller, reader, hash, persona, item, webhook, session: await newSession(call, reader.email) }
}

/** Adds a row to each list. What stands behind it is new as well: its payer, its twins, its commodity, its app. */
async function addRows({ call, seller, reader, hash, persona, session }: World, n: number): Promise<void> {
  const payer = await newPayer(call, seller, { balance: 10 })
  await pay(call, payer, { hash })
  const item = await newItem(call, seller, { name: `Item ${n}`, featured: true })
  const bought = await purchase(call, { token: payer.token }, item, { arguments: { city: 'Oslo' } })
  const sent = await send(call, { token: payer.token }, { address: reader.hostname, amount: 1 })
  expect([bought.status, sent.status]).toEqual([201, 201])
  await newDelegate(call, { token: seller.token }, { persona, hostname: payer.hostname })
  const hook = { url: 'https://hooks.example.test/', events: ['webhook.test'] }
  // No account has more than 20.
  if (n < 19) expect((await call('POST', '/v4/webhooks', { token: seller.token, body: hook })).status).toBe(201)
  await newAgent(call, { session })
  const address = `0x${String(n).padStart(40, 'a')}`
  expect((await call('POST', '/_sandbox/wallets', { body: { twin: payer.hostname, address } })).status).toBe(201)
  const funded = { address: `0x${String(n).padStart(40, 'b')}`, amount: 1 }
  expect((await call('POST', '/_sandbox/fund', { body: funded })).status).toBe(200)
}

/** Waits until no webhook is on its way. */
const delivered = (call: Call, { webhook, seller: { token } }: World) =>
  vi.waitUntil(async () => {
    const { deliveries } = (await call('GET', `/v4/webhooks/${webhook}/deliveries?limit=100`, { token })).body
    return deliveries.every(({ status }: { status: string }) => status === 'succeeded')
  })

interface List {
  readonly path: (world: World) => string
  readonly as: (world: World) => CallOptions
}

const bySeller = ({ seller }: World) => ({ token: seller.token })
const byReader = ({ reader }: World) => ({ token: reader.token })

/** Lists in which other rows stand behind each row. */
const lists: Readonly<Record<string, List>> = {
  listPayments: { path: () => '/v4/payments', as: bySeller },
  listCommodityTransactions: { path: ({ hash }) => `/v4/commodity/${hash}/transactions`, as: bySeller },
  listPurchases: { path: () => '/v4/purchases', as: bySeller },
  listTransfers: { path: () => '/v4/transfers', as: byReader },
  listCatalogItems: { path: () => '/v4/catalog/items?query=weather', as: () => ({}) },
  listOwnCatalogItems: { path: () => '/v4/catalog/mine', as: bySeller },
  listTools: { path: () => '/v4/mcp/tools', as: bySeller },
  listCommodities: { path: () => '/v4/commodities', as: bySeller },
  listTwins: { path: () => '/v4/twins', as: bySeller },
  listUsers: { path: () => '/v2/users', as: bySeller },
  listEvents: { path: () => '/v4/events', as: bySeller },
  listDelegates: { path: ({ persona }) => `/v4/persona/${persona}/delegates`, as: bySeller },
  listWebhooks: { path: () => '/v4/webhooks', as: bySeller },
  listWebhookDeliveries: { path: ({ webhook }) => `/v4/webhooks/${webhook}/deliveries`, as: bySeller },
  listWallets: { path: () => '/_sandbox/wallets', as: () => ({}) },
  listX402Resources: { path: () => '/x402/discovery/resources', as: () => ({}) },
  listConnections: { path: () => '/v4/connections', as: byReader },
}

/** Lists that show the rows of one query, or no rows at all. */
const plainLists = [
  'listApprovals',
  'listAuthorizations',
  'listDigitalQuantities',
  'listDiscoveryRefusals',
  'listDispatchParameters',
  'listInvoices',
  'listPlans',
  'listRegistrations',
  'listSessions',
  'listTwinQuantities',
  'listX402Kinds',
  'listDeadLetters',
]

/** Lists that no test here fills: refunds that failed, the delegates of all twins, whose query names one twin, and codes, faults, forks, snapshots and the journal, which no storage has, and rows, which are read in slices. */
const otherLists = [
  ...['listCheckoutRefunds', 'listDelegateMapping', 'listErrorCodes'],
  ...['listFaults', 'listForks', 'listNamedStates', 'listRehearsals', 'listRequests'],
  ...['listCollections', 'listRows'],
]

test('this test covers every list of the route table', () => {
  const ids = routeList.map(({ id }) => id).filter((id) => id.startsWith('list'))
  expect([...Object.keys(lists), ...plainLists, ...otherLists].sort()).toEqual(ids.sort())
})

describe('With 20 rows as with 1, the same number of storage calls is made by', () => {
  const few = startCounting()
  const many = startCounting()
  const worlds: World[] = []

  beforeAll(async () => {
    for (const [{ call }, rows] of [
      [few, 1],
      [many, 20],
    ] as const) {
      const world = await newWorld(call)
      for (let n = 0; n < rows; n++) await addRows(world, n)
      await delivered(call, world)
      worlds.push(world)
    }
  })
  afterAll(async () => {
    await few.close()
    await many.close()
  })

  test.each(Object.entries(lists))('%s', async (_, { path, as }) => {
    const [one, twenty] = worlds as [World, World]
    const short = await few.fewestCallsOf(path(one), as(one))
    const long = await many.fewestCallsOf(path(twenty), as(twenty))
    expect(rowsOf(short.body)).toBeGreaterThan(0)
    expect(rowsOf(long.body)).toBeGreaterThanOrEqual(20)
    expect(long.calls).toBe(short.calls)
    expect(long.calls).toBeLessThanOrEqual(8)
  })
})

/** How many rows a page holds. */
const rowsOf = (page: object): number => Object.values(page).find(Array.isArray)?.length ?? 0
