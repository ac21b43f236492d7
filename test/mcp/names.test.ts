import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nameHidden, removeHidden } from '../../src/hidden.js'
import { snakeCase, toolNames, withApproval } from '../../src/mcp/featured.js'
import { plainSchema } from '../../src/mcp/plain.js'

describe('a tool is named after its item', () => {
  test.each([
    ['City weather', 'city_weather'],
    ['  HTTP/2 — checker!  ', 'http_2_checker'],
    ['Crème brûlée', 'creme_brulee'],
    ['天気', 'item'],
    ['x'.repeat(64), 'x'.repeat(58)],
  ])('%s: %s', (name, expected) => expect(snakeCase(name)).toBe(expected))

  const names = fc.array(
    fc.oneof(fc.constantFrom('Weather', 'weather 2', 'Wallet', '天気'), fc.string({ maxLength: 64 })),
  )
  const itemsOf = (all: string[]) => all.map((name, n) => ({ id: n + 1, name }))

  test('by a name that models take, which no other tool has', () => {
    fc.assert(
      fc.property(names, (all) => {
        const given = [...toolNames(itemsOf(all), ['wallet']).values()]
        for (const name of given) expect(name).toMatch(/^[a-z0-9_]{1,64}$/)
        expect(new Set([...given, 'wallet']).size).toBe(all.length + 1)
      }),
    )
  })

  test('which stays whatever comes after it', () => {
    fc.assert(
      fc.property(names, names, (all, more) => {
        const before = toolNames(itemsOf(all), [])
        const after = toolNames(itemsOf([...all, ...more]), [])
        for (const [id, name] of before) expect(after.get(id)).toBe(name)
      }),
    )
  })
})

test("the approval's argument is never one of the item's own", () => {
  const own = { approval_id: { type: 'string' }, purchase_approval_id: { type: 'integer' } }
  const { schema, approval } = withApproval({ type: 'object', properties: own })
  expect(approval).toBe('_purchase_approval_id')
  expect(schema.properties).toMatchObject(own)
  expect(withApproval({ type: 'object' }).approval).toBe('approval_id')
})

describe("a seller's words", () => {
  const HIDDEN = '\u0000\u0007\u00AD\u034F\u200B\u202E\u2028\u2029\u2066\u3164\uE000\uFE0F\uFEFF\u{E0041}\u{E0100}'

  test('lose what people cannot see, and pictograms keep what joins them', () => {
    for (const character of HIDDEN) expect(removeHidden(`a${character}b\nc`)).toBe('ab\nc')
    for (const seen of ['👩🏽\u200D💻', '❤️\u200D🔥', '☀️', 'Größe\t天気']) expect(removeHidden(seen)).toBe(seen)
    expect(removeHidden('☀️\u200D\u200Db')).toBe('☀️b')
  })

  test('have it named where people decide: the same characters', () => {
    expect(nameHidden('a\u202Eb👩🏽\u200D💻\u{E0041}')).toBe('a⟨U+202E⟩b👩🏽\u200D💻⟨U+E0041⟩')
    for (const character of HIDDEN) expect(nameHidden(character)).toMatch(/^⟨U\+[0-9A-F]{4,5}⟩$/)
  })

  test('are made plain in schemas, where values stay as they are', () => {
    const schema = {
      type: 'object',
      properties: { kind: { enum: ['a\u200Bb'], description: 'of\u200B it', 'x-mcp-header': 'Kind' } },
    }
    expect(plainSchema(schema)).toEqual({
      type: 'object',
      properties: { kind: { enum: ['a\u200Bb'], description: 'of it' } },
    })
  })

  test('are made plain in schemas of arguments that are named as keywords are', () => {
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
