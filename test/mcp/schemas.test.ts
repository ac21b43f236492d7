import { validate } from '@cfworker/json-schema'
import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { plainSchema } from '../../src/agents/mcp/tools/plain.js'
import { howMuch } from '../support/how-much.js'
import { connect, done, type Era } from '../support/mcp/mcp.js'
import { type McpShop, newMcpShop } from '../support/mcp/mcp-shop.js'
import { newBusiness } from '../support/scenes/account-changes.js'
import { newItem } from '../support/scenes/catalog.js'

/** Clients hand the schemas of tools on to model providers. */

let shop: McpShop
afterEach(() => shop?.service.close())

/** Where a schema has a list of types. */
function typeLists(schema: unknown, at = ''): string[] {
  if (Array.isArray(schema)) return schema.flatMap((part, i) => typeLists(part, `${at}/${i}`))
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (['const', 'enum', 'default', 'examples', 'dependentRequired'].includes(keyword)) return []
    return keyword === 'type' && Array.isArray(value) ? [`${at}/type`] : typeLists(value, `${at}/${keyword}`)
  })
}

const MIXED = {
  type: 'object',
  properties: {
    type: { type: ['string', 'null'], maxLength: 9, description: 'A property whose name is a keyword.' },
    count: { type: ['integer'], anyOf: [{ minimum: 3 }, { const: 0 }] },
    size: { type: ['number', 'string'], anyOf: [{ minimum: 3 }, { minLength: 3 }], allOf: [{ maximum: 10 }] },
    tags: { type: ['array', 'null'], items: { type: ['string', 'boolean'] } },
    choice: { enum: [{ type: ['a', 'b'] }], default: { type: ['a', 'b'] } },
  },
  dependentRequired: { type: ['count'] },
  $defs: { more: { type: ['object', 'null'] } },
}

test.each<Era>(['2025-11-25', '2026-07-28'])('no listed tool has a list of types: era %s', async (era) => {
  shop = await newMcpShop()
  const { call, service } = shop
  const { agent, seller } = await newBusiness(call)
  const item = await newItem(call, seller, { featured: true, service_schema: MIXED })
  const running = { url: service.baseUrl, fetch: (request: Request) => service.fetch(request) }
  const client = await connect(running, { ...agent, era, path: `/mcp/${seller.id}` })
  const { tools } = await client.listTools()
  const names = tools.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['agent_checkout', 'register_tool', 'city_weather']))
  for (const { name, inputSchema, outputSchema } of tools)
    expect([name, ...typeLists(inputSchema), ...typeLists(outputSchema)]).toEqual([name])
  const shown = plainSchema(MIXED)
  expect(typeLists(shown)).toEqual([])
  const { items } = await done(client, 'catalog_search')
  expect(items.find(({ id }: { id: number }) => id === item.id).service_schema).toEqual(shown)
  expect((await done(client, 'list_my_tools')).tools[0].input_schema).toEqual(shown)
  // Over HTTP, the seller reads what they wrote.
  expect((await call('GET', `/v4/catalog/items/${item.id}`, seller)).body.service_schema).toEqual(MIXED)
})

const types = fc.uniqueArray(fc.constantFrom('null', 'boolean', 'object', 'array', 'number', 'string', 'integer'), {
  minLength: 1,
  maxLength: 3,
})
const parts = fc.record(
  {
    type: types,
    minimum: fc.integer({ min: -2, max: 2 }),
    minLength: fc.nat(2),
    anyOf: fc.array(fc.record({ type: types }), { minLength: 1, maxLength: 2 }),
    allOf: fc.array(fc.record({ type: types }), { minLength: 1, maxLength: 2 }),
    items: fc.record({ type: types }),
  },
  { requiredKeys: ['type'] },
)
const values = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, 1, -3, 1.5, '', 'abc', {}),
  fc.array(fc.constantFrom<unknown>(null, 1, 'a', true), { maxLength: 2 }),
)

test('a schema without lists of types accepts exactly the same', () => {
  const accepts = (schema: object, value: unknown) => validate(value, schema, '2020-12').valid
  fc.assert(
    fc.property(parts, values, (schema, value) => {
      const shown = plainSchema(schema)
      expect(typeLists(shown)).toEqual([])
      expect(accepts(shown, value)).toBe(accepts(schema, value))
    }),
    { numRuns: howMuch(500, 2000) },
  )
  for (const type of ['abc', null, 'too long for it', 5])
    for (const more of [{}, { count: 0 }, { count: 4 }, { count: 1 }, { size: 11 }, { size: 'ab' }, { tags: [1] }])
      expect(accepts(plainSchema(MIXED), { type, ...more })).toBe(accepts(MIXED, { type, ...more }))
})
