import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { changeItem, newItem, newShop, postItem, WEATHER } from '../../support/scenes/catalog.js'
import { expectProblem, pay, readPages, UNKNOWN_DQ } from '../../support/scenes/market.js'
import { newAgent } from '../../support/scenes/oidc.js'
import { newPayer, newSeller, newTwin } from '../../support/scenes/world.js'

const ENDPOINT = 'https://api.example.test/weather'

contract('createCatalogItem', (start) => {
  it('POST /v4/catalog/items creates an item with its commodity and a twin', { tags: 'everywhere' }, async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { status, body } = await postItem(call, seller, {})
    expect([status, body]).toEqual([
      201,
      {
        ...WEATHER,
        id: expect.any(Number),
        dq: expect.stringMatching(/^41/),
        commodity_hash: expect.stringMatching(/^[0-9a-f-]{36}$/),
        commodity_name: WEATHER.name,
        commodity_description: WEATHER.description,
        commodity_cost: 0.25,
        descriptor: 'CITY.WEATHER',
        hostname: expect.stringMatching(/\.twin\.localhost$/),
        seller: body.hostname,
        active: true,
        private: false,
        featured: false,
        archived: false,
        external_endpoint: ENDPOINT,
        created_at: expect.any(Number),
        updated_at: body.created_at,
      },
    ])
    expect((await call('GET', `/v4/commodity/${body.commodity_hash}`)).body).toEqual({
      hash: body.commodity_hash,
      descriptor: 'CITY.WEATHER',
      dq: body.dq,
      cost: 0.25,
      hostname: body.hostname,
    })
    const { twins } = (await call('GET', '/v4/twins', { token: seller.token })).body
    expect(twins.map(({ hostname }: { hostname: string }) => hostname)).toEqual([body.hostname])
    const { events } = (await call('GET', '/v4/events?type=catalog.created', { token: seller.token })).body
    expect(events).toMatchObject([{ subject: `catalog_item:${body.id}`, data: { name: WEATHER.name } }])
  })

  it('accepts a twin, a descriptor, flags and a name for the seller', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { id: twin_id, hostname } = await newTwin(call, seller.token)
    await call('PUT', '/v4/account', { token: seller.token, body: { name: 'Ada', businessName: 'Weather Ltd' } })
    const fields = { twin_id, descriptor: 'WX', active: false, private: true, featured: true, name: '***' }
    const item = await newItem(call, seller, fields)
    expect(item).toMatchObject({ hostname, descriptor: 'WX', active: false, private: true, featured: true })
    expect(item.seller).toBe('Weather Ltd')
    expect((await newItem(call, seller, { name: '***' })).descriptor).toBe('ITEM')
  })

  it('creates one item with an Idempotency-Key', async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const body = { ...WEATHER, external_endpoint: ENDPOINT }
    const make = () => call('POST', '/v4/catalog/items', { token, body, headers: { 'idempotency-key': 'once' } })
    const first = await make()
    const again = await make()
    expect([again.headers.get('idempotent-replayed'), again.body]).toEqual(['true', first.body])
    expect((await call('GET', '/v4/catalog/mine', { token })).body.items).toHaveLength(1)
  })

  it.each([
    [{ name: '' }, 'field_invalid'],
    [{ name: 'x'.repeat(65) }, 'field_invalid'],
    [{ description: 5 }, 'field_invalid'],
    [{ service_method: 'DELETE' }, 'field_invalid'],
    [{ descriptor: '' }, 'field_invalid'],
    [{ price: 0.0001 }, 'amount_invalid'],
    [{ price: -1 }, 'amount_invalid'],
    [{ dq: UNKNOWN_DQ }, 'dq_unknown'],
    [{ twin_id: 999 }, 'twin_unknown'],
  ])('refuses %j, and creates nothing', { tags: 'everywhere' }, async (fields, code) => {
    const { call, made: seller } = await startWith(start, newSeller)
    expectProblem(await postItem(call, seller, fields), 400, code as 'field_invalid')
    expect((await call('GET', '/v4/commodities', { token: seller.token })).body.commodities).toEqual([])
    expect((await call('GET', '/v4/twins', { token: seller.token })).body.twins).toEqual([])
  })

  it('accepts a description of up to 1,024 characters', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    expect((await postItem(call, seller, { description: 'x'.repeat(1024) })).status).toBe(201)
    expectProblem(await postItem(call, seller, { description: 'x'.repeat(1025) }), 400, 'field_invalid')
  })

  it('refuses twins of others, and callers that are not accounts', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const payer = await newPayer(call, seller)
    const { id: twin_id } = (await call('GET', '/v4/twins', { token: payer.token })).body.twins[0]
    expectProblem(await postItem(call, seller, { twin_id }), 400, 'twin_unknown')
    expectProblem(await postItem(call, payer, {}), 403, 'not_an_account')
  })

  it.each([
    'ftp://api.example.test/',
    'http://user:secret@api.example.test/',
    'http://169.254.169.254/latest',
    'http://metadata.google.internal/',
    'http://2852039166/',
    'nowhere',
    'http://api.example.test/a b',
  ])('refuses to call %s', async (external_endpoint) => {
    const { call, made: seller } = await startWith(start, newSeller)
    expectProblem(await postItem(call, seller, { external_endpoint }), 422, 'upstream_refused')
    const item = await newItem(call, seller)
    expectProblem(await changeItem(call, seller, item, { external_endpoint }), 422, 'upstream_refused')
  })

  it.each([
    'https://{input.city}.example.test/',
    'https://{input.city}/',
    'https:/{input.city}/x',
    'https:///{input.city}/x',
    'https://api.example.test:{input.city}/',
    'https://{secret.KEY}@api.example.test/',
    '{input.city}://api.example.test/',
    'https:\\\\{input.city}/x',
    'https://api.example.test/#{input.city}',
    'https://api.example.test/{input.hours}',
    'https://api.example.test/{input.constructor}',
    'https://api.example.test/{input.}',
    'https://api.example.test/{city}',
    'https://api.example.test/{{input.city}}',
  ])('refuses the endpoint %s', async (external_endpoint) => {
    const { call } = await start()
    const refused = await postItem(call, await newSeller(call), { external_endpoint })
    expectProblem(refused, 400, 'field_invalid')
    expect(refused.body.field).toBe('external_endpoint')
  })

  it.each([
    ['another type', { type: 'array' }],
    ['no type', {}],
    ['another draft', { type: 'object', $schema: 'http://json-schema.org/draft-07/schema#' }],
    ['a type that there is not', { type: 'object', properties: { a: { type: 'text' } } }],
    ['a keyword of another type', { type: 'object', properties: { a: { maxLength: '5' } } }],
    ['a schema that is none', { type: 'object', properties: { a: 5 } }],
    ['a remote reference', { type: 'object', properties: { a: { $ref: 'https://schemas.example.test/a' } } }],
    ['a reference to nothing', { type: 'object', properties: { a: { $ref: '#/$defs/a' } } }],
    ['a reference past its definitions', { type: 'object', properties: { a: { $ref: '#/properties/a' } } }],
    [
      'a reference to itself',
      { type: 'object', $defs: { a: { items: { $ref: '#/$defs/a' } } }, properties: { a: { $ref: '#/$defs/a' } } },
    ],
    ['a dynamic reference', { type: 'object', properties: { a: { $dynamicRef: '#a' } } }],
    ['patternProperties', { type: 'object', patternProperties: { '^(a+)+$': {} } }],
    ['a pattern that is none', { type: 'object', properties: { a: { pattern: '(' } } }],
    ['a pattern that looks around', { type: 'object', properties: { a: { pattern: '^(?=a)' } } }],
    ['a pattern that refers back', { type: 'object', properties: { a: { pattern: '(a)\\1' } } }],
    ['a pattern that counts too far', { type: 'object', properties: { a: { pattern: '(a{1,999}){1,999}' } } }],
    ['references that multiply', { type: 'object', $defs: doubling(20), properties: { a: { $ref: '#/$defs/d0' } } }],
    ['more than 64 KiB', { type: 'object', description: 'x'.repeat(66_000) }],
  ])('refuses a schema of %s', async (_, service_schema) => {
    const { call } = await start()
    const refused = await postItem(call, await newSeller(call), { service_schema })
    expectProblem(refused, 400, 'field_invalid')
    expect(refused.body.field).toBe('service_schema')
  })
})

/** Definitions each of which applies the next one twice. */
const doubling = (count: number): Record<string, object> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, n) => {
      const next = { $ref: `#/$defs/d${n + 1}` }
      return [`d${n}`, n === count - 1 ? {} : { allOf: [next, next] }]
    }),
  )

contract('an endpoint', (start) => {
  it('has at most 2,048 characters', async () => {
    const { call } = await start()
    const external_endpoint = `https://api.example.test/${'x'.repeat(2048)}`
    expectProblem(await postItem(call, await newSeller(call), { external_endpoint }), 400, 'field_invalid')
  })
})

contract('readCatalogItem', (start) => {
  it('GET /v4/catalog/items/{id} shows a public item to everybody, and its endpoint only to its account', async () => {
    const {
      call,
      made: { seller, item, payer },
    } = await startWith(start, newShop)
    const path = `/v4/catalog/items/${item.id}`
    const { external_endpoint, ...shown } = item
    expect(external_endpoint).toBe(ENDPOINT)
    const { accessToken } = await newAgent(call)
    for (const token of [undefined, payer.token, accessToken, (await newSeller(call)).token])
      expect((await call('GET', path, token === undefined ? {} : { token })).body).toEqual(shown)
    expect((await call('GET', path, { token: seller.token })).body).toEqual(item)
  })

  it('shows a private item only to its account', async () => {
    const {
      call,
      made: { seller, item, payer },
    } = await startWith(start, newShop, { private: true })
    const path = `/v4/catalog/items/${item.id}`
    expect((await call('GET', path, { token: seller.token })).body).toEqual(item)
    for (const options of [{}, { token: payer.token }, { token: (await newSeller(call)).token }])
      expectProblem(await call('GET', path, options), 404, 'not_found')
    expectProblem(await call('GET', '/v4/catalog/items/999'), 404, 'not_found')
  })

  it('refuses an invalid token and a header without one', async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newShop)
    const path = `/v4/catalog/items/${item.id}`
    expectProblem(await call('GET', path, { token: 'tqmt_none' }), 401, 'token_invalid')
    expectProblem(await call('GET', path, { headers: { authorization: 'Basic x' } }), 401, 'bearer_required')
  })
})

contract('updateCatalogItem', (start) => {
  it('PUT /v4/catalog/items/{id} changes the named fields, and the commodity with them', async () => {
    const {
      call,
      made: { seller, item, payer },
    } = await startWith(start, newShop)
    const { id: twin_id, hostname } = await newTwin(call, seller.token)
    const change = { name: 'Weather', description: '', price: 0.001, descriptor: 'WX', twin_id, featured: true }
    const { status, body } = await changeItem(call, seller, item, change)
    const { twin_id: _, ...shown } = change
    expect([status, body]).toEqual([
      200,
      {
        ...item,
        ...shown,
        hostname,
        seller: hostname,
        commodity_name: 'Weather',
        commodity_description: '',
        commodity_cost: 0.001,
        updated_at: expect.any(Number),
      },
    ])
    const paid = await pay(call, payer, { hash: item.commodity_hash })
    expect([paid.amount, (await call('GET', `/v4/payments/${paid.id}`, { token: payer.token })).body]).toMatchObject([
      0.001,
      { descriptor: 'WX', payee_hostname: hostname },
    ])
  })

  it.each([
    [{ price: 0.0001 }, 'amount_invalid'],
    [{ dq: UNKNOWN_DQ }, 'dq_unknown'],
    [{ twin_id: 999 }, 'twin_unknown'],
    [{ name: 'x'.repeat(65) }, 'field_invalid'],
    [{ service_schema: { type: 'array' } }, 'field_invalid'],
    [{ service_schema: { type: 'object' } }, 'field_invalid'],
  ])('refuses %j, and changes nothing', { tags: 'everywhere' }, async (change, code) => {
    const {
      call,
      made: { seller, item },
    } = await startWith(start, newShop, { external_endpoint: `${ENDPOINT}/{input.city}` })
    expectProblem(await changeItem(call, seller, item, { featured: true, ...change }), 400, code as 'field_invalid')
    expect((await call('GET', `/v4/catalog/items/${item.id}`, { token: seller.token })).body).toEqual(item)
  })

  it('treats items of others as unknown', async () => {
    const {
      call,
      made: { item },
    } = await startWith(start, newShop)
    const other = await newSeller(call)
    expectProblem(await changeItem(call, other, item, { price: 1 }), 404, 'not_found')
    for (const action of ['archive', 'restore'])
      expectProblem(
        await call('POST', `/v4/catalog/items/${item.id}/${action}`, { token: other.token }),
        404,
        'not_found',
      )
  })
})

const FLAGS = ['active', 'private', 'featured', 'archived'] as const

contract('the states of a catalog item', (start) => {
  it('change through archive, restore and PUT, and no other way', async () => {
    const {
      call,
      made: { seller, item },
    } = await startWith(start, newShop)
    const { token } = seller
    const path = `/v4/catalog/items/${item.id}`
    const flags = async () => {
      const { body } = await call('GET', path, { token })
      const { total } = (await call('GET', '/v4/catalog/items')).body
      return [...FLAGS.filter((flag) => body[flag]), ...(total === 1 ? ['listed'] : [])].join(' ')
    }
    const act = async (action: string) => {
      const { status, body } = await call('POST', `${path}/${action}`, { token })
      return body.code ?? status
    }
    const put = async (body: object) => {
      const answer = await changeItem(call, seller, item, body)
      return answer.body.code ?? answer.status
    }
    expect(await flags()).toBe('active listed')
    expect([await act('restore'), await flags()]).toEqual(['item_not_archived', 'active listed'])
    expect([await put({ active: false }), await flags()]).toEqual([200, ''])
    expect([await act('restore'), await flags()]).toEqual(['item_not_archived', ''])
    expect([await put({ active: true }), await flags()]).toEqual([200, 'active listed'])
    expect([await put({ private: true }), await flags()]).toEqual([200, 'active private'])
    expect([await put({ private: false, featured: true }), await flags()]).toEqual([200, 'active featured listed'])
    expect([await act('archive'), await flags()]).toEqual([200, 'featured archived'])
    expect([await act('archive'), await flags()]).toEqual(['item_archived', 'featured archived'])
    expect([await put({ active: true }), await flags()]).toEqual(['item_archived', 'featured archived'])
    expect([await act('restore'), await flags()]).toEqual([200, 'featured'])
    expect([await act('archive'), await flags()]).toEqual([200, 'featured archived'])
    expect([await act('restore'), await flags()]).toEqual([200, 'featured'])
    expect([await put({ active: true }), await flags()]).toEqual([200, 'active featured listed'])
    const { events } = (await call('GET', '/v4/events?limit=100', { token })).body
    const types = events.map(({ type }: { type: string }) => type).filter((type: string) => type.startsWith('catalog.'))
    expect(types.reverse()).toEqual([
      'catalog.created',
      ...Array(4).fill('catalog.updated'),
      'catalog.archived',
      'catalog.restored',
      'catalog.archived',
      'catalog.restored',
      'catalog.updated',
    ])
  })

  it('archive once in racing calls', async () => {
    const {
      call,
      made: { seller, item },
    } = await startWith(start, newShop)
    const archive = () => call('POST', `/v4/catalog/items/${item.id}/archive`, { token: seller.token })
    const answers = await Promise.all([archive(), archive(), archive()])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  })
})

contract('listOwnCatalogItems', (start) => {
  it("GET /v4/catalog/mine lists the account's items, whatever their flags, newest first", async () => {
    const {
      call,
      made: { seller, item: first },
    } = await startWith(start, newShop)
    const second = await newItem(call, seller, { private: true })
    const third = await newItem(call, seller, { active: false })
    const other = await newItem(call, await newSeller(call))
    const pages = await readPages(call, '/v4/catalog/mine', { plural: 'items', token: seller.token, limit: 2 })
    expect(pages).toEqual([[third, second], [first]])
    const { token } = seller
    expectProblem(await call('GET', `/v4/catalog/mine?after=${other.id}`, { token }), 400, 'cursor_invalid')
  })
})
