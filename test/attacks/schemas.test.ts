import { describe, expect, it } from 'vitest'
import { Problem } from '../../src/base/problem.js'
import { Effort, MAX_STEPS } from '../../src/market/catalog/pattern.js'
import { checkArguments, checkSchema } from '../../src/market/catalog/schema.js'
import type { Call } from '../support/api.js'
import { anotherAgent, requestApproval } from '../support/scenes/approvals.js'
import { attacked } from '../support/scenes/attacked.js'
import { changeItem, newItem, newShop, postItem, purchase, type Shop, settledSums } from '../support/scenes/catalog.js'
import { makeCheckout } from '../support/scenes/checkout.js'
import { expectProblem } from '../support/scenes/market.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { newSeller, newSession } from '../support/scenes/world.js'

/** Sellers whose schemas, and buyers whose arguments, would keep the service from answering anybody else. */

const upstream = useUpstream()
const start = attacked()

type Json = Record<string, unknown>

const listOf = <T>(length: number, make: (n: number) => T): T[] => Array.from({ length }, (_, n) => make(n))
const mapOf = (length: number, value: unknown): Json => Object.fromEntries(listOf(length, (n) => [`k${n}`, value]))
const nested = (levels: number, wrap: (inner: unknown) => unknown, inner: unknown = true): unknown =>
  levels === 0 ? inner : nested(levels - 1, wrap, wrap(inner))
const of = (a: unknown, more: Json = {}): Json => ({ type: 'object', properties: { a }, ...more })
const strings = (length: number) => listOf(length, () => ({ type: 'string' }))

/** Schemas that are taken, with arguments that would be checked for seconds. */
const costly: Record<string, [schema: Json, args: Json]> = {
  'many declared properties for many objects': [
    of({ items: { properties: mapOf(1500, true) } }),
    { a: listOf(9000, () => ({})) },
  ],
  'many required names': [of({ items: { required: Object.keys(mapOf(5000, 1)) } }), { a: listOf(9000, () => ({})) }],
  'dependentRequired of many names': [
    of({ items: { dependentRequired: { b: Object.keys(mapOf(5000, 1)) } } }),
    { a: listOf(7000, () => ({ b: 1 })) },
  ],
  'anyOf for each item': [of({ items: { anyOf: [...strings(1000), true] } }), { a: listOf(20_000, () => 0) }],
  'contains with anyOf': [of({ contains: { anyOf: strings(1900) } }), { a: listOf(3000, () => 0) }],
  'propertyNames with anyOf': [
    of({ propertyNames: { anyOf: listOf(1900, () => ({ maxLength: 1 })) } }),
    { a: mapOf(5000, 0) },
  ],
  'unevaluatedProperties behind allOf': [
    of({ items: { allOf: listOf(300, () => ({ properties: { b: true } })), unevaluatedProperties: false } }),
    { a: listOf(5000, () => ({ b: 1 })) },
  ],
  'unevaluatedItems behind allOf': [
    of({ allOf: listOf(300, () => ({ items: true })), unevaluatedItems: false }),
    { a: listOf(30_000, () => 1) },
  ],
  'branches in branches': [
    of({ items: nested(9, (inner) => ({ anyOf: [inner, inner] })) }),
    { a: listOf(30_000, () => 1) },
  ],
  'oneOf, not and if for each item': [
    of({ items: { oneOf: strings(400), not: { anyOf: strings(400) }, if: { anyOf: strings(400) }, else: true } }),
    { a: listOf(9000, () => 1) },
  ],
  'uniqueItems of many numbers': [of({ uniqueItems: true }), { a: listOf(12_000, (n) => n) }],
  'uniqueItems of many objects': [of({ uniqueItems: true }), { a: listOf(6000, (n) => ({ n })) }],
  'a huge enum for each item': [of({ items: { enum: listOf(8000, (n) => n) } }), { a: listOf(20_000, () => -1) }],
  'a huge enum of objects': [
    of({ items: { enum: listOf(5000, (n) => ({ n })) } }),
    { a: listOf(6000, () => ({ n: 'x' })) },
  ],
  'multipleOf with a far exponent': [of({ items: { multipleOf: 5e-300 } }), { a: listOf(9000, () => 1e300) }],
  'a long text and a pattern of many ways': [of({ pattern: `${'.*'.repeat(150)}b` }), { a: 'a'.repeat(60_000) }],
  'many texts and counted repetitions': [
    of({ items: { pattern: '^(?:a{0,20}b?){0,12}$' } }),
    { a: listOf(600, () => 'a'.repeat(90)) },
  ],
  'a long name below many schemas': [
    of({ anyOf: listOf(900, () => ({ additionalProperties: true })) }),
    { a: { ['k'.repeat(60_000)]: 1 } },
  ],
  'a long text in many formats': [
    of({ allOf: listOf(40, () => ({ format: 'uri' })) }),
    { a: `http://${'a.'.repeat(30_000)}` },
  ],
}

/** Schemas that no item can have. */
const refused: Record<string, Json> = {
  'that nests too deep': of(nested(60, (items) => ({ items }))),
  'that nests far too deep': of(nested(900, (items) => ({ items }))),
  'whose default nests too deep': of({ default: nested(100, (inner) => [inner]) }),
  'of references that follow one another': of(
    { $ref: '#/$defs/d0' },
    { $defs: Object.fromEntries(listOf(200, (n) => [`d${n}`, n === 199 ? {} : { $ref: `#/$defs/d${n + 1}` }])) },
  ),
  'of references that multiply': of(
    { $ref: '#/$defs/d0' },
    {
      $defs: Object.fromEntries(
        listOf(30, (n) => [
          `d${n}`,
          n === 29 ? {} : { anyOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] },
        ]),
      ),
    },
  ),
  'of a reference to itself in a branch': of(
    { $ref: '#/$defs/t' },
    { $defs: { t: { anyOf: [{ items: { $ref: '#/$defs/t' } }, { items: { $ref: '#/$defs/t' } }] } } },
  ),
  'that refers to its own root': of({ $ref: '#' }),
  'of more than 2,000 schemas': of({ anyOf: strings(2001) }),
  'whose pattern nests groups': of({ pattern: `${'('.repeat(4000)}a${')'.repeat(4000)}` }),
  'whose pattern repeats nothing very often': of({ pattern: '((){99999}){99999}' }),
  'whose pattern counts in counts': of({ pattern: '((a{1,50}){1,50}){1,50}' }),
  'whose patterns are many': of({ anyOf: listOf(300, (n) => ({ pattern: `^a{${n % 9}}$` })) }),
  'whose pattern names properties of Unicode everywhere': of({
    pattern: listOf(190, (n) => `[\\p{L}\\p{N}${String.fromCharCode(0x4e00 + n)}]`).join(''),
  }),
  'with $dynamicRef': of({ $dynamicRef: '#t' }, { $dynamicAnchor: 't' }),
  'with $recursiveRef': of({ $recursiveRef: '#' }),
  'with patternProperties': of({ patternProperties: { '^(a+)+$': true } }),
}

describe('the steps of one check', () => {
  it.each(Object.entries(costly))('end at the limit for %s', (_, [schema, args]) => {
    checkSchema(schema)
    const effort = new Effort()
    let refusal: unknown
    try {
      checkArguments(schema, args, effort)
    } catch (error) {
      refusal = error
    }
    expect(refusal).toBeInstanceOf(Problem)
    expect((refusal as Problem).fields).toMatchObject({ argument: null, reason: expect.stringContaining('steps') })
    // What goes beyond the limit is refused before it is done.
    expect(effort.left).toBeLessThan(0)
  })

  it('are few for typical schemas and arguments', () => {
    const order = {
      ...{ id: { type: 'string', format: 'uuid' }, email: { type: 'string', format: 'email', maxLength: 254 } },
      ...{
        note: { type: 'string', pattern: '^[\\p{L}\\p{N} .,-]*$' },
        tags: { uniqueItems: true, items: { maxLength: 40 } },
      },
      lines: {
        items: { required: ['sku'], properties: { sku: { pattern: '^[A-Z]{3}-\\d+$' }, count: { minimum: 1 } } },
      },
    }
    const schema = { type: 'object', properties: order, required: ['id'] }
    const args = {
      ...{ id: '6f9619ff-8b86-4011-b42d-00cf4fc964ff', email: 'ada@example.test', note: 'Größe 5. '.repeat(500) },
      ...{ tags: listOf(500, (n) => `tag ${n}`), lines: listOf(300, (n) => ({ sku: `ABC-${n}`, count: n + 1 })) },
    }
    checkSchema(schema)
    const effort = new Effort()
    checkArguments(schema, args, effort)
    expect(effort.left).toBeGreaterThan(MAX_STEPS / 3)
    const text = { a: 'The quick brown fox. '.repeat(2800) }
    expect(() => checkArguments(of({ type: 'string', pattern: '^[\\w .]*$' }), text)).not.toThrow()
  })
})

describe('through the interface', () => {
  it.each(Object.entries(refused))('a seller cannot use a schema %s', async (_, schema) => {
    const { call } = await start()
    const answer = await postItem(call, await newSeller(call), { service_schema: schema })
    expectProblem(answer, 400, 'field_invalid')
  })

  it('a seller cannot set such a schema by an update or through the registry of tools', async () => {
    const { call } = await start()
    const seller = await newSeller(call)
    const { id } = await newItem(call, seller)
    const { token } = seller
    const tool = { name: 'Tool', description: '', price_per_call: 1, service_url: 'https://api.example.test/' }
    const made = (await call('POST', '/v4/mcp/tools', { token, body: tool })).body.tool
    for (const schema of Object.values(refused).slice(2)) {
      expectProblem(await changeItem(call, seller, { id }, { service_schema: schema }), 400, 'field_invalid')
      const body = { input_schema: schema }
      expectProblem(await call('POST', '/v4/mcp/tools', { token, body: { ...tool, ...body } }), 400, 'field_invalid')
      expectProblem(await call('PUT', `/v4/mcp/tools/${made.id}`, { token, body }), 400, 'field_invalid')
    }
  })

  it('a buyer cannot stall a check, and is charged nothing', async () => {
    const { call } = await start()
    const shop = await newShop(call)
    const [[service_schema, args]] = Object.values(costly) as [[Json, Json]]
    await changeItem(call, shop.seller, shop.item, { service_schema, external_endpoint: `${upstream.url}/ok` })
    const bought = await purchase(call, { token: shop.payer.token }, shop.item, { arguments: args })
    expectProblem(bought, 422, 'arguments_refused')
    expect(bought.body.error).toContain('Send fewer or shorter ones.')
    expect([await settledSums(call, shop), upstream.requests]).toEqual([[10, 0], []])
  })
})

describe('an item of an older version with a schema that is now refused', () => {
  /** Puts another schema in place of that of the item, as an older version kept it. */
  async function age(call: Call, { item }: Shop, service_schema: Json): Promise<void> {
    const snapshot = (await call('GET', '/_sandbox/snapshot')).body
    for (const row of snapshot.rows.catalog_items) if (row.id === item.id) row.service_schema = service_schema
    expect((await call('PUT', '/_sandbox/snapshot', { body: snapshot })).status).toBe(204)
  }

  it('can be read, listed and changed, but not bought: 422 schema_refused says that its seller has to act', async () => {
    const { call } = await start()
    const open = { type: 'object' }
    const shop = await newShop(call, { service_schema: open, external_endpoint: `${upstream.url}/ok` })
    const { seller, payer, item } = shop
    const user = { token: payer.token }
    const session = await newSession(call, payer.email)
    const agent = await anotherAgent(call, payer)
    const line = { catalog_item_id: item.id }
    const cart = (await call('POST', '/v4/carts', user)).body.id
    expect((await call('POST', `/v4/carts/${cart}/items`, { ...user, body: line })).status).toBe(201)
    const { token } = (await makeCheckout(call, shop, { arguments: {} })).body
    await age(call, shop, refused['of references that follow one another'] as Json)

    expect((await call('GET', `/v4/catalog/items/${item.id}`)).status).toBe(200)
    expect((await call('GET', '/v4/catalog/items')).body.total).toBe(1)
    expect((await changeItem(call, seller, item, { price: 0.25, name: 'Renamed' })).status).toBe(200)
    const refusals = await Promise.all([
      purchase(call, user, item),
      call('POST', `/v4/carts/${cart}/items`, { ...user, body: line }),
      call('PUT', `/v4/carts/${cart}/items/1`, { ...user, body: { arguments: {} } }),
      call('POST', `/v4/carts/${cart}/pay`, user),
      makeCheckout(call, shop, { arguments: {} }),
      call('POST', `/v4/checkout/${token}/complete`, user),
      call('POST', `/checkout/${token}`, { session, body: { answer: 'pay' } }),
      requestApproval(call, agent, { kind: 'purchase', ...line }),
    ])
    for (const answer of refusals) {
      expectProblem(answer, 422, 'schema_refused')
      expect(answer.body.error).toContain('Only the seller can fix it. Nothing was charged.')
    }
    expect([await settledSums(call, shop), upstream.requests]).toEqual([[10, 0], []])
    await changeItem(call, seller, item, { service_schema: open })
    expect((await purchase(call, user, item)).status).toBe(201)
  })
})
