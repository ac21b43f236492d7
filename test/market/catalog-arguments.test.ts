import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { Problem } from '../../src/base/problem.js'
import { fillEndpoint } from '../../src/market/catalog/endpoint.js'
import { compilePattern } from '../../src/market/catalog/pattern.js'
import { checkArguments, checkSchema } from '../../src/market/catalog/schema.js'
import { howMuch } from '../support/how-much.js'

/** Which of the arguments is refused, null for all of them; `taken` where none is. */
function refusedBy(schema: Record<string, unknown>, args: Record<string, unknown>): unknown {
  checkSchema(schema)
  try {
    checkArguments(schema, args)
    return 'taken'
  } catch (error) {
    expect(error).toBeInstanceOf(Problem)
    return (error as Problem).fields.argument
  }
}

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })

/** Milliseconds that something takes. */
function timeOf(act: () => unknown): number {
  const start = performance.now()
  act()
  return performance.now() - start
}

describe('a pattern', () => {
  const sources = [
    '^a|b$',
    '(?:ab)+c?',
    '^(?<year>\\d{4})-\\d\\d$',
    '[^\\]a-c]x',
    '\\bfoo\\b',
    'o\\Bo',
    '^\\p{L}+$',
    '\\u{1F600}|\\uD83D\\uDE01',
    '^.$',
    '^a{2,3}b{0}c{1,}$',
    '^(|a)*b$',
    '^[\\w.-]+@\\w+(\\.\\w+)+$',
    '^\\x41\\t\\cJ\\/$',
    '^(a*)*$',
    '',
    '^$',
  ]
  const texts =
    'a b ab abc abab c 2024-11 12345 foo food oo é日本 😀 😁 \n aab aaabc ab.c@d.ef A\t\n/ ]x dx _ a-b'.split(' ')

  it.each(sources)('/%s/ matches what the regular expression of the runtime matches', (source) => {
    const pattern = compilePattern(source, 600)
    for (const text of [...texts, '', ' ', texts.join(' ')])
      expect([text, pattern.test(text)]).toEqual([text, new RegExp(source, 'u').test(text)])
  })

  it('matches what the regular expression of the runtime matches, whatever its parts', () => {
    const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\w', '\\d', '^', '$', '\\b', '\\B', '()', '(?:b|ab)')
    const repeated = fc
      .tuple(atom, fc.constantFrom('', '*', '+', '?', '{2}', '{1,2}', '*?', '{2,}'))
      .map(([node, count]) => (/^(\^|\$|\\[bB])$/.test(node) ? node : node + count))
    const sequence = fc.array(repeated, { maxLength: 4 }).map((parts) => parts.join(''))
    const source = fc.tuple(sequence, sequence, sequence).map(([a, b, c]) => `${a}(${b}|${c}){0,2}`)
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', ' ', '\n', 'é'), maxLength: 8 })
    fc.assert(
      fc.property(source, text, (pattern, subject) => {
        const matches = compilePattern(pattern, 600).test(subject)
        expect(matches).toBe(new RegExp(pattern, 'u').test(subject))
      }),
      { numRuns: howMuch(500, 2000) },
    )
  })

  it.each(['^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '^(a*)*b$', '(.*)*x', '^(([a-z])+.)+[A-Z]([a-z])+$', 'a*a*a*a*a*b'])(
    '/%s/ is fast on text made to stall it',
    (pattern) => {
      const schema = object({ text: { type: 'string', pattern } })
      checkSchema(schema)
      for (const text of [`${'a'.repeat(50)}!`, `${'a'.repeat(20_000)}!`])
        expect(timeOf(() => refusedBy(schema, { text }))).toBeLessThan(1000)
      expect(refusedBy(schema, { text: `${'a'.repeat(50)}!` })).toBe('text')
    },
  )
})

describe('arguments', () => {
  test.each([
    [object({ a: { type: 'string', pattern: '^[A-Z]{2}$' } }), { a: 'NO' }, 'taken'],
    [object({ a: { type: 'string', pattern: '^[A-Z]{2}$' } }), { a: 'NOR' }, 'a'],
    [object({ a: { pattern: '^x', format: 'email' } }), { a: 'x@example.test' }, 'taken'],
    [object({ a: { pattern: '^x', format: 'email' } }), { a: 'x' }, 'a'],
    [object({ a: { pattern: '^x', format: 'email' } }), { a: 'y@example.test' }, 'a'],
    [object({ a: { format: 'pattern ^x' } }), { a: 'y' }, 'taken'],
    [object({ a: { not: { pattern: '^x' } } }), { a: 'x' }, 'a'],
    [object({ a: { anyOf: [{ type: 'integer' }, { pattern: '^x' }] } }), { a: 'x' }, 'taken'],
    [object({ a: { type: 'object', properties: { b: { type: 'integer' } } } }), { a: { b: 'c' } }, 'a/b'],
    [object({ a: { items: { enum: ['x'] } } }), { a: ['x', 'y'] }, 'a/1'],
    [object({ a: { $ref: '#/$defs/b' } }, { $defs: { b: { type: 'integer' } } }), { a: 1 }, 'taken'],
    [object({ a: { $ref: '#/$defs/b' } }, { $defs: { b: { type: 'integer' } } }), { a: '1' }, 'a'],
    [object({ a: true }, { additionalProperties: true }), { b: 1 }, 'b'],
    [object({ a: true, b: true }, { dependentRequired: { a: ['b'] } }), { a: 1 }, null],
    [object({ a: true }, { required: ['toString'] }), { a: 1 }, 'toString'],
    [object({ ['__proto__']: { type: 'string' } }), JSON.parse('{"__proto__": 5}'), '__proto__'],
    [object({ hasOwnProperty: { type: 'string' } }), { hasOwnProperty: 5 }, 'hasOwnProperty'],
    [object({ a: { const: { b: [1] } } }), { a: { b: [1] } }, 'taken'],
    [object({ a: true }, { $id: 'https://schemas.example.test/a', title: 'A' }), { a: 1 }, 'taken'],
    [object({}, { $schema: 'https://json-schema.org/draft/2020-12/schema' }), {}, 'taken'],
  ])('%j, %j: %s', (schema, args, argument) => {
    expect(refusedBy(schema, args)).toBe(argument)
  })

  it('are at most 64 KiB', () => {
    expect(refusedBy(object({ a: true }), { a: 'x'.repeat(66_000) })).toBeNull()
  })

  it('are checked quickly, whatever the formats', () => {
    const hostile = [
      'a'.repeat(60_000),
      `http://${'a.'.repeat(20_000)}`,
      `${'a@'.repeat(20_000)}`,
      `${'1:'.repeat(20_000)}`,
      `${'/'.repeat(60_000)}~`,
      `P${'1'.repeat(60_000)}`,
      `http://${'%41'.repeat(15_000)} `,
      `http://[${':'.repeat(40_000)}`,
      `"${'\\"'.repeat(20_000)}`,
      `${'9'.repeat(40_000)}-01`,
    ]
    for (const format of 'date time date-time duration email hostname ipv4 ipv6 uri uri-reference uuid json-pointer'.split(
      ' ',
    ))
      for (const text of hostile) {
        const took = timeOf(() => refusedBy(object({ text: { format } }), { text }))
        expect([format, text.slice(0, 12), took < 500]).toEqual([format, text.slice(0, 12), true])
      }
  })

  it('are checked without changing a frozen schema', () => {
    const schema = object({ a: { $ref: '#/$defs/b', pattern: '^x' } }, { $defs: { b: { type: 'string' } } })
    const freeze = (value: unknown): unknown => {
      if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(freeze)
      return value
    }
    freeze(schema)
    expect([refusedBy(schema, { a: 'x' }), refusedBy(schema, { a: 'y' })]).toEqual(['taken', 'a'])
  })
})

describe('an endpoint', () => {
  const fill = (endpoint: string, value: string) => fillEndpoint(endpoint, () => value)

  it.each(['.', '..', '%2e', '%2E.', './..', '\\', '/', 'a/../..', '\t..', ' ', '?x', '#x', '@b', ':', '\u0000'])(
    'is called below its own path when the value is %j',
    (value) => {
      let filled: string
      try {
        filled = fill('https://api.example.test/a/b/{input.x}/c?y={input.x}', value)
      } catch (error) {
        expect((error as Error).name).toBe('PlaceholderFault')
        return
      }
      const { host, pathname, searchParams, hash } = new URL(filled)
      expect([host, pathname.split('/').length, pathname.startsWith('/a/b/'), pathname.endsWith('/c')]).toEqual([
        'api.example.test',
        6 - 1,
        true,
        true,
      ])
      expect([searchParams.get('y'), hash]).toEqual([value, ''])
    },
  )

  it('refuses a value that makes a parent path segment together with the text beside it', () => {
    for (const endpoint of ['https://api.example.test/a/.{input.x}', 'https://api.example.test/a/%2e{input.x}/b'])
      expect(() => fill(endpoint, '.')).toThrow('cannot be a path segment')
    expect(() => fill('https://api.example.test/a/{input.x}{input.y}', '.')).toThrow('cannot be a path segment')
  })
})
