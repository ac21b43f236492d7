import { validate } from '@cfworker/json-schema'
import { expect, it, test } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { recordResource } from '../../../src/agents/bazaar/record.js'
import { listedResources } from '../../../src/agents/bazaar/resource-row.js'
import { createService } from '../../../src/index.js'
import { type Call, caller } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { changeItem, newItem } from '../../support/scenes/catalog.js'
import { expectProblem, setClock } from '../../support/scenes/market.js'
import { callItem, newPaidShop, offerIn, payHeader } from '../../support/scenes/paid-calls.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { newSeller } from '../../support/scenes/world.js'
import {
  newAccount,
  newWallet,
  paymentOf,
  paymentV1Of,
  required,
  SHOP,
  settle,
  verify,
} from '../../support/scenes/x402.js'

const DRAFT = 'https://json-schema.org/draft/2020-12/schema'
const HTTP = {
  info: {
    input: { type: 'http', method: 'GET', queryParams: { city: 'Basel' } },
    output: { type: 'json', example: { weather: 'foggy' } },
  },
  schema: {
    $schema: DRAFT,
    type: 'object',
    properties: {
      input: {
        type: 'object',
        properties: {
          ...{ type: { type: 'string', const: 'http' }, method: { type: 'string', enum: ['GET', 'HEAD', 'DELETE'] } },
          queryParams: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
        required: ['type', 'method'],
        additionalProperties: false,
      },
      output: { type: 'object', properties: { type: { type: 'string' }, example: { type: 'object' } } },
    },
    required: ['input'],
  },
}
const MCP = {
  info: { input: { type: 'mcp', tool: 'forecast', inputSchema: { type: 'object' } } },
  schema: { $schema: DRAFT, type: 'object', properties: { input: { type: 'object' } }, required: ['input'] },
}

/** Settles a payment for a resource that describes itself. Returns what the header says of it. */
async function sell(call: Call, resource: string, bazaar: object, signing: { payTo?: string } = {}) {
  const payment = await paymentOf(await newWallet(call), { ...signing, resource, extensions: { bazaar } })
  const { body, headers } = await settle(call, payment)
  expect(body.success).toBe(true)
  const said = headers.get('extension-responses')
  return said === null ? undefined : JSON.parse(atob(said)).bazaar
}

const listed = async (call: Call, query = '') => (await call('GET', `/x402/discovery/resources${query}`)).body
const found = async (call: Call, query: string): Promise<string[]> =>
  (await call('GET', `/x402/discovery/search?${query}`)).body.resources.map(
    ({ resource }: { resource: string }) => resource,
  )
const refusals = async (call: Call) => (await call('GET', '/_sandbox/discovery')).body.refusals

const upstream = useUpstream()
const SUCCESS = { status: 'success' }
const WEATHER = 'https://api.example.test/weather'

contract('listX402Resources', (start) => {
  it('GET /x402/discovery/resources lists what was paid for and describes itself', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    expect(await listed(call)).toEqual({
      ...{ x402Version: 2, items: [], pagination: { limit: 20, offset: 0, total: 0 } },
    })
    expect(await sell(call, `${WEATHER}?city=Basel#now`, HTTP)).toEqual(SUCCESS)
    const { items, pagination } = await listed(call)
    expect(pagination).toEqual({ limit: 20, offset: 0, total: 1 })
    expect(items).toEqual([
      {
        ...{ resource: WEATHER, type: 'http', x402Version: 2, description: 'A report', mimeType: 'application/json' },
        accepts: [expect.objectContaining({ scheme: 'exact', network: 'eip155:84532', amount: '10000', payTo: SHOP })],
        lastUpdated: expect.stringMatching(/Z$/),
        extensions: { bazaar: HTTP },
      },
    ])
  })

  it('lists a resource once, by its URL and tool, with each way to pay', async () => {
    const { call } = await start()
    const other = newAccount().address
    for (const tool of ['forecast', 'history'])
      await sell(call, WEATHER, { ...MCP, info: { input: { ...MCP.info.input, tool } } })
    for (const payTo of [SHOP, other, SHOP]) await sell(call, WEATHER, HTTP, { payTo })
    const { items } = await listed(call)
    expect(items.map(({ type }: { type: string }) => type).sort()).toEqual(['http', 'mcp', 'mcp'])
    const { accepts } = items.find(({ type }: { type: string }) => type === 'http')
    expect(accepts.map(({ payTo }: { payTo: string }) => payTo)).toEqual([SHOP, other])
  })

  it('lets no other payee change what a resource says, nor come before its first payee', async () => {
    const { call } = await start()
    const thief = newAccount().address
    await sell(call, WEATHER, HTTP)
    const [before] = (await listed(call)).items
    const forged = { ...HTTP, info: { input: { ...HTTP.info.input, queryParams: { city: 'Thieves' } } } }
    for (const payTo of [thief, thief.toLowerCase()]) await sell(call, WEATHER, forged, { payTo })
    const [{ accepts, ...after }] = (await listed(call)).items
    expect({ ...after, accepts: accepts.slice(0, 1) }).toEqual(before)
    expect(accepts.map(({ payTo }: { payTo: string }) => payTo)).toEqual([SHOP, thief])
    await sell(call, WEATHER, forged, { payTo: SHOP.toLowerCase() })
    const [own] = (await listed(call)).items
    expect(own.extensions.bazaar).toEqual(forged)
    expect(own.accepts.map(({ payTo }: { payTo: string }) => payTo)).toEqual([SHOP, thief])
  })

  it('lists nothing of its own for a payment to somebody', async () => {
    const { call, url } = await start()
    const item = await newItem(call, await newSeller(call))
    const own = `${url}/v4/catalog/items/${item.id}/call`
    for (const [resource, more] of [
      [own, {}],
      [url, {}],
      [`${url}/other`, { routeTemplate: '/v4/catalog/items/:id/call' }],
    ] as const) {
      const said = await sell(call, resource, { ...HTTP, ...more }, { payTo: newAccount().address })
      expect(said).toEqual({ status: 'rejected', rejectedReason: expect.stringMatching(/lists its items itself/) })
    }
    expect((await listed(call)).items).toHaveLength(1)
  })

  it('lists paths with parameters as one, unless their template is unsafe', async () => {
    const { call } = await start()
    for (const path of ['1', '2'])
      await sell(call, `https://api.example.test/users/${path}`, { ...HTTP, routeTemplate: '/users/:id' })
    await sell(call, 'https://api.example.test/a', { ...HTTP, routeTemplate: '/users/%2e%2e/admin' })
    const { items } = await listed(call)
    expect(items.map(({ resource }: { resource: string }) => resource).sort()).toEqual([
      'https://api.example.test/a',
      'https://api.example.test/users/:id',
    ])
    expect(items.map(({ extensions }: any) => extensions.bazaar.routeTemplate).sort()).toEqual([
      '/users/:id',
      undefined,
    ])
  })

  it('lists no verified payment, no refused one, and none of version 1', async () => {
    const { call } = await start()
    const account = await newWallet(call)
    await verify(call, await paymentOf(account, { extensions: { bazaar: HTTP } }))
    await settle(call, await paymentOf(newAccount(), { extensions: { bazaar: HTTP } }))
    await settle(call, await paymentV1Of(account, { extensions: { bazaar: HTTP } }))
    expect((await settle(call, await paymentOf(account))).headers.get('extension-responses')).toBeNull()
    expect((await listed(call)).items).toEqual([])
    expect(await refusals(call)).toEqual([])
  })

  it('filters by type, payee, scheme, network and extension, and pages', async () => {
    const { call } = await start()
    await sell(call, WEATHER, HTTP)
    await sell(call, 'https://mcp.example.test/', MCP, { payTo: newAccount().address })
    const count = async (query: string) => (await listed(call, `?${query}`)).pagination.total
    const counts = {
      ...{ 'type=http': 1, 'type=mcp': 1, [`payTo=${SHOP.toLowerCase()}`]: 1, 'scheme=exact': 2, 'scheme=upto': 0 },
      ...{ 'network=eip155:84532': 2, 'network=eip155:1': 0, 'extensions=bazaar': 2, 'extensions=other': 0 },
    }
    for (const [query, expected] of Object.entries(counts)) expect(await count(query), query).toBe(expected)
    const pages = [
      await listed(call, '?limit=1'),
      await listed(call, '?limit=1&offset=1'),
      await listed(call, '?offset=2'),
    ]
    expect(pages.map(({ items }) => items.length)).toEqual([1, 1, 0])
    expect(pages[0].items).not.toEqual(pages[1].items)
    expect(pages[1].pagination).toEqual({ limit: 1, offset: 1, total: 2 })
  })

  it('lists public, active items of the catalog behind them, with their price', async () => {
    const { call, url, made: seller } = await startWith(start, newSeller)
    const item = await newItem(call, seller)
    await newItem(call, seller, { name: 'Hidden', private: true })
    const idle = await newItem(call, seller, { name: 'Idle' })
    await changeItem(call, seller, idle, { active: false })
    await sell(call, WEATHER, HTTP)
    const { items, pagination } = await listed(call)
    expect(items.map(({ resource }: { resource: string }) => resource)).toEqual([
      WEATHER,
      `${url}/v4/catalog/items/${item.id}/call`,
    ])
    expect(pagination.total).toBe(2)
    const [{ payTo, network }] = items[1].accepts
    expect(network).toBe('eip155:84532')
    expect((await listed(call, `?payTo=${payTo}`)).items).toEqual([items[1]])
    expect((await listed(call, '?offset=1')).items).toEqual([items[1]])
    expect((await listed(call, '?limit=1')).items).toEqual([items[0]])
    expect((await listed(call, '?type=mcp')).items).toEqual([])
  })

  it('lists items by the address that is paid, and none that only mentions it', async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newPaidShop, { external_endpoint: `${upstream.url}/ok` })
    const thief = await newSeller(call)
    for (const name of ['One', 'Two']) await newItem(call, thief, { name, description: `Like ${item.hostname}` })
    const [{ payTo }] = offerIn(await callItem(call, item)).accepts
    const own = await listed(call, `?payTo=${payTo}`)
    expect(own.pagination.total).toBe(1)
    expect(own.items.map(({ accepts }: any) => accepts[0].payTo)).toEqual([payTo])
    expect((await listed(call, `?payTo=${payTo}&offset=1`)).items).toEqual([])
    expect(await found(call, `query=weather&payTo=${payTo}`)).toEqual([own.items[0].resource])
    expect(await found(call, `query=one&payTo=${payTo}`)).toEqual([])
  })

  it('describes an item so that a call made from the listing alone is served', async () => {
    const { call } = await start()
    const properties = { city: { type: 'string' }, unit: { enum: ['celsius'] }, days: { type: 'integer' } }
    const schema = { type: 'object', properties, required: ['city', 'unit'] }
    const { item } = await newPaidShop(call, {
      ...{ external_endpoint: `${upstream.url}/ok`, service_method: 'POST', service_schema: schema },
    })
    const account = await newWallet(call, 1)
    const [{ resource, accepts, extensions }] = (await listed(call)).items
    const { info, schema: described } = extensions.bazaar
    expect(validate(info, described).valid).toBe(true)
    const { method, body } = info.input
    const buy = (headers = {}) => call(method, new URL(resource).pathname, { body, headers })
    const offer = offerIn(await buy())
    expect(offer.accepts).toEqual(accepts)
    expect((await buy(await payHeader(account, offer))).body).toEqual({ story: 'The whole story.' })
    expect(JSON.parse(upstream.requests.at(-1)?.body ?? '')).toEqual({ city: 'text', unit: 'celsius' })
    expect(resource).toContain(`/items/${item.id}/call`)
  })

  it('refuses a page that is malformed', async () => {
    const { call } = await start()
    for (const query of ['limit=0', 'limit=101', 'offset=-1', 'offset=1001', 'payTo=me'])
      expectProblem(await call('GET', `/x402/discovery/resources?${query}`), 400, 'field_invalid')
  })

  it('forgets a resource 30 days after its last payment', async () => {
    const { call } = await start()
    const at = Date.UTC(2031, 4, 1)
    await setClock(call, at)
    await sell(call, WEATHER, HTTP)
    await setClock(call, at + 31 * 86_400_000)
    await expect.poll(async () => (await listed(call)).items).toEqual([])
  })
})

test('Items are offered as their calls offer them, on one network', async () => {
  const service = createService({ sandbox: true, x402Networks: ['eip155:84532', 'eip155:8453'] })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const { item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok` })
  const [{ accepts }] = (await listed(call)).items
  expect(accepts).toEqual(offerIn(await callItem(call, item)).accepts)
  for (const [network, total] of [
    ['eip155:84532', 1],
    ['eip155:8453', 0],
  ] as const)
    expect((await listed(call, `?network=${network}`)).pagination.total).toBe(total)
  await service.close()
})

test('At most 500 resources are listed, and the one that was listed first ends', async () => {
  const storage = memoryStorage()
  const due = { ...required(), extra: null }
  const rows = await storage.write(async (tx) => {
    for (let n = 1; n <= 502; n++) {
      const payload = { resource: { url: `https://api.example.test/${n}` }, extensions: { bazaar: HTTP } }
      await recordResource(tx, payload, { due, at: n })
    }
    return tx.find(listedResources, { index: 'byNumber', prefix: [], limit: 1000 })
  })
  expect([rows.length, rows[0]?.resource]).toEqual([500, 'https://api.example.test/3'])
  await storage.close()
})

contract('searchX402Resources', (start) => {
  it('GET /x402/discovery/search finds beginnings of words, page by page', { tags: 'everywhere' }, async () => {
    const { call, url } = await start()
    const item = await newItem(call, await newSeller(call))
    await sell(call, WEATHER, HTTP)
    await sell(call, 'https://mcp.example.test/', MCP)
    const path = `${url}/v4/catalog/items/${item.id}/call`
    expect(await found(call, 'query=weath')).toEqual([WEATHER, path])
    expect(await found(call, 'query=forec&type=mcp')).toEqual(['https://mcp.example.test/'])
    expect(await found(call, 'query=weather%20nowhere')).toEqual([])
    const first = (await call('GET', '/x402/discovery/search?query=weather&limit=1')).body
    expect([first.x402Version, first.partialResults, first.pagination]).toEqual([2, false, { limit: 1, cursor: '1' }])
    const second = (await call('GET', '/x402/discovery/search?query=weather&limit=1&cursor=1')).body
    expect(second.resources.map(({ resource }: { resource: string }) => resource)).toEqual([path])
    expect(second.pagination.cursor).toBeNull()
  })

  it('refuses a search without words', async () => {
    const { call } = await start()
    for (const query of ['', 'query=', 'query=a&cursor=x', `query=${'x'.repeat(257)}`])
      expectProblem(await call('GET', `/x402/discovery/search?${query}`), 400, 'field_invalid')
  })
})

contract('listDiscoveryRefusals', (start) => {
  it('GET /_sandbox/discovery says why a resource is not listed, as the settlement did', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start()
    const endless = { $defs: { a: { $ref: '#/$defs/a' } }, properties: { input: { $ref: '#/$defs/a' } } }
    const refused: [bazaar: object, reason: RegExp, resource?: string][] = [
      [
        { ...HTTP, info: { input: { type: 'http', method: 'GET', queryParams: {} } } },
        /`info` does not match `schema`/,
      ],
      [{ ...HTTP, info: { ...HTTP.info, more: 1 } }, /more: The item does not declare/],
      [{ info: HTTP.info }, /needs `info` and `schema`/],
      [{ ...HTTP, schema: { ...HTTP.schema, $schema: 'http://json-schema.org/draft-07/schema#' } }, /draft 2020-12/],
      [{ ...HTTP, schema: { type: 'object', patternProperties: {} } }, /patternProperties/],
      [{ ...HTTP, schema: { type: 'object', ...endless } }, /refers to itself/],
      [{ ...HTTP, schema: { type: 'object', description: 'x'.repeat(17_000) } }, /16384 bytes/],
      [{ ...MCP, info: { input: { type: 'mcp', tool: 'x' } } }, /describes no call/],
      [HTTP, /no absolute URL/, 'ftp://example.test/'],
      [HTTP, /no absolute URL/, '/weather'],
    ]
    for (const [bazaar, reason, resource = WEATHER] of refused)
      expect(await sell(call, resource, bazaar)).toEqual({
        ...{ status: 'rejected', rejectedReason: expect.stringMatching(reason) },
      })
    expect((await listed(call)).items).toEqual([])
    const kept = await refusals(call)
    expect(kept.length).toBe(refused.length)
    expect(kept[0]).toEqual({ resource: '/weather', reason: expect.stringMatching(/URL/), at: expect.any(String) })
  })

  it('keeps the last 50', async () => {
    const { call, state } = await start()
    const account = await newWallet(call)
    for (let n = 0; n < 52; n++)
      await settle(call, await paymentOf(account, { resource: `no URL ${n}`, extensions: { bazaar: HTTP } }))
    const kept = await refusals(call)
    expect([kept.length, kept[0].resource, kept[49].resource]).toEqual([50, 'no URL 51', 'no URL 2'])
    expect((await state()).rows.listing_refusals?.length).toBe(50)
  })
})
