import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withPayment } from '../../src/agents/mcp/tools/featured.js'
import { plainSchema } from '../../src/agents/mcp/tools/plain.js'
import { buyerTools, sellerTools } from '../../src/agents/mcp/tools/tools.js'
import { removeInvisible, revealInvisible } from '../../src/base/text/invisible-characters.js'
import { fitsToolName, reservedToolNames, snakeCase, toolNamesOf } from '../../src/market/catalog/item.js'
import { howMuch } from '../support/how-much.js'
import { newMcpShop } from '../support/mcp/mcp-shop.js'
import { changeItem, type Item, newItem } from '../support/scenes/catalog.js'
import { newSeller } from '../support/scenes/world.js'

describe('the tool name of an item', () => {
  test.each([
    ['City weather', 'city_weather'],
    ['  HTTP/2 — checker!  ', 'http_2_checker'],
    ['Crème brûlée', 'creme_brulee'],
    ['天気', 'item'],
    ['x'.repeat(64), 'x'.repeat(58)],
  ])('%s: %s', (name, expected) => expect(snakeCase(name)).toBe(expected))

  test("is valid for models and differs from the service's own tools", () => {
    const some = fc.oneof(fc.constantFrom('Cart add', 'weather 2', '天気'), fc.string({ maxLength: 64 }))
    fc.assert(
      fc.property(some, (name) => {
        const names = toolNamesOf(name)
        for (const each of [names.next().value, names.next().value, names.next().value]) {
          expect(each).toMatch(/^[a-z0-9_]{1,64}$/)
          expect(reservedToolNames.has(each)).toBe(false)
          expect(fitsToolName(each, name)).toBe(true)
        }
      }),
    )
  })

  test("is reserved for each of the service's own tools", () => {
    const tools = [...buyerTools, ...sellerTools].map(({ name }) => name)
    expect([...reservedToolNames].sort()).toEqual(tools.sort())
  })

  type Step = readonly ['add' | 'rename' | 'feature' | 'activate' | 'archive' | 'restore', number, string]

  const steps: fc.Arbitrary<Step[]> = fc.array(
    fc.tuple(
      fc.constantFrom('add', 'add', 'rename', 'rename', 'feature', 'activate', 'archive', 'restore'),
      fc.nat({ max: 5 }),
      fc.constantFrom('City weather', 'city weather!', 'City weather 2', 'Cart pay', 'Town'),
    ),
    { minLength: 2, maxLength: 12 },
  )

  test('stays the same and unique while other items are added, removed and renamed', async () => {
    const shop = await newMcpShop()
    const { call } = shop
    const namesOf = async (seller: { id: number }): Promise<Record<number, string>> => {
      const items = (await shop.state()).rows.catalog_items as unknown as Record<string, any>[]
      const own = items.filter(({ account_id }) => account_id === seller.id)
      return Object.fromEntries(own.map(({ id, tool_name }) => [id, tool_name]))
    }
    const check = async (all: Step[]) => {
      const seller = await newSeller(call)
      const items: Item[] = []
      const take = ([act, n, name]: Step): Promise<unknown> => {
        const item = items[n % items.length]
        if (act === 'add' || !item)
          return newItem(call, seller, { name, featured: n % 2 === 0 }).then((it) => items.push(it))
        if (act === 'rename') return changeItem(call, seller, item, { name })
        if (act === 'feature') return changeItem(call, seller, item, { featured: n % 2 === 0 })
        if (act === 'activate') return changeItem(call, seller, item, { active: n % 2 === 0 })
        return call('POST', `/v4/catalog/items/${item.id}/${act}`, { token: seller.token })
      }
      for (const step of all) {
        const before = await namesOf(seller)
        await take(step)
        const after = await namesOf(seller)
        if (step[0] === 'rename') delete before[items[step[1] % items.length]?.id as number]
        expect(after).toMatchObject(before)
        expect(new Set(Object.values(after)).size).toBe(items.length)
      }
    }
    await fc.assert(fc.asyncProperty(steps, check), { numRuns: howMuch(10, 25) })
    await shop.service.close()
  })
})

test("the arguments for approval and quote never collide with the item's own", () => {
  const own = { approval_id: { type: 'string' }, purchase_approval_id: { type: 'integer' }, quote: { type: 'null' } }
  const price = { price: 0.25, dq: '41' }
  const { schema, approval, quote } = withPayment({ type: 'object', properties: own }, price)
  expect([approval, quote]).toEqual(['_purchase_approval_id', 'purchase_quote'])
  expect(schema.properties).toMatchObject(own)
  expect(withPayment({ type: 'object' }, price)).toMatchObject({ approval: 'approval_id', quote: 'quote' })
})

describe("a seller's words", () => {
  const HIDDEN = '\u0000\u0007\u00AD\u034F\u200B\u202E\u2028\u2029\u2066\u3164\uE000\uFE0F\uFEFF\u{E0041}\u{E0100}'

  test('lose invisible characters, except those that join pictograms', () => {
    for (const character of HIDDEN) expect(removeInvisible(`a${character}b\nc`)).toBe('ab\nc')
    for (const seen of ['👩🏽\u200D💻', '❤️\u200D🔥', '☀️', 'Größe\t天気']) expect(removeInvisible(seen)).toBe(seen)
    expect(removeInvisible('☀️\u200D\u200Db')).toBe('☀️b')
  })

  test('show invisible characters by code where people decide', () => {
    expect(revealInvisible('a\u202Eb👩🏽\u200D💻\u{E0041}')).toBe('a⟨U+202E⟩b👩🏽\u200D💻⟨U+E0041⟩')
    for (const character of HIDDEN) expect(revealInvisible(character)).toMatch(/^⟨U\+[0-9A-F]{4,5}⟩$/)
  })

  test('become plain in schemas, where values stay unchanged', () => {
    const schema = {
      type: 'object',
      properties: { kind: { enum: ['a\u200Bb'], description: 'of\u200B it', 'x-mcp-header': 'Kind' } },
    }
    expect(plainSchema(schema)).toEqual({
      type: 'object',
      properties: { kind: { enum: ['a\u200Bb'], description: 'of it' } },
    })
  })

  test('become plain in schemas of arguments named like keywords', () => {
    const words = { type: 'string', description: 'of\u200B it', 'x-mcp-header': 'Kind' }
    const shown = { type: 'string', description: 'of it' }
    const names = ['default', 'enum', 'const', 'examples', 'x-mcp-header', 'properties']
    const of = (schema: object) => Object.fromEntries(names.map((name) => [name, schema]))
    for (const holder of ['properties', '$defs']) {
      const nested = (schema: object) => ({ [holder]: of({ ...schema, [holder]: of(schema) }), required: names })
      expect(plainSchema(nested(words))).toEqual(nested(shown))
    }
  })
})
