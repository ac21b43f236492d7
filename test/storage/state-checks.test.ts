import { describe, expect, test } from 'vitest'
import {
  areCounters,
  assertLists,
  assertState,
  copyState,
  inPieces,
  latestOf,
  parseState,
  StateReader,
  whyUnstorable,
} from '../../src/storage/state.js'
import type { Row, State } from '../../src/storage/storage.js'

const counters = { a: 0, b: 1e12 }

test.each([
  [null, 'a state must be an object'],
  [[], 'a state must be an object'],
  [{}, '"counters" must be an object'],
  ...['1', 0, -1, 1.5, 2 ** 53, null].map((schema) => [
    { schema, counters, rows: {} },
    '"schema" must be a whole number from 1 up',
  ]),
  ...['1', -1, 0.5, 1e12 + 1, Number.NaN].map((last) => [
    { counters: { a: 1, b: last }, rows: {} },
    'counters.b must be a whole number from 0 to 1000000000000',
  ]),
  [{ counters: [], rows: {} }, '"counters" must be an object'],
  [{ counters }, '"rows" must be an object'],
  [{ counters, rows: [] }, '"rows" must be an object'],
  [{ counters, rows: { a: [], b: {} } }, 'rows.b must be a list'],
] as [unknown, string][])('%j is no state: %s', (document, message) => {
  expect(() => assertLists(document)).toThrow(new TypeError(message))
  expect(() => assertState(document)).toThrow(new TypeError(message))
})

test.each([
  [[{ id: 1 }, { name: 'a' }], 'rows.notes[1] has no id'],
  [[null], 'rows.notes[0] has no id'],
  [[{ id: true }], 'rows.notes[0] has no id'],
  [[{ id: Infinity }], 'rows.notes[0] has no id'],
  [[{ id: 1 }, { id: 'a' }, { id: 1 }], 'rows.notes[2] repeats the id 1'],
  [[{ id: 'a' }, { id: 'a' }], 'rows.notes[1] repeats the id "a"'],
] as [unknown[], string][])('rows %j are those of no state: %s', (list, message) => {
  const document = { counters, rows: { first: [{ id: 1 }], notes: list } }
  assertLists(document)
  expect(() => assertState(document)).toThrow(new TypeError(message))
})

test('a state has counters from 0 to a million millions, rows with an id each, and perhaps a schema', () => {
  for (const schema of [undefined, 1, 7])
    assertState({ schema, counters, rows: { none: [], notes: [{ id: 1 }, { id: '1' }, { id: -0.5 }, { id: '' }] } })
  expect([counters, {}].map(areCounters)).toEqual([true, true])
  expect([null, [], { a: -1 }, { a: 'b' }, { a: 1e12 + 1 }].map(areCounters)).toEqual(Array(5).fill(false))
})

test('of two states, each counter keeps its later number', () => {
  const [one, other] = [
    { a: 1, b: 5, c: 3 },
    { b: 2, c: 4, d: 0 },
  ]
  const latest = { a: 1, b: 5, c: 4, d: 0 }
  expect([latestOf(one, other), latestOf(other, one)]).toEqual([latest, latest])
  expect([one.c, other.b]).toEqual([3, 2])
})

test('a copy of a state shares nothing with it', () => {
  const state = { schema: 3, counters: { a: 1 }, rows: { notes: [{ id: 1, body: { deep: [1] } }], none: [] as Row[] } }
  const copy = copyState(state) as typeof state
  expect(copy).toEqual(state)
  copy.counters.a = 9
  copy.rows.notes[0]?.body.deep.push(2)
  copy.rows.none.push({ id: 1 })
  expect(state).toEqual({ schema: 3, counters: { a: 1 }, rows: { notes: [{ id: 1, body: { deep: [1] } }], none: [] } })
})

const TOO_LARGE = 'holds a number that is too large'
const ILL_FORMED = 'holds U+0000 or half of a surrogate pair'

describe('a value', () => {
  const unstorable: [unknown, string | undefined][] = [
    ...[0, -1.5, 'text', '', '\u{1f600}', true, false, null, undefined, {}, []].map((value): [unknown, undefined] => [
      value,
      undefined,
    ]),
    ...[Number.NaN, Infinity, -Infinity].map((value): [unknown, string] => [value, TOO_LARGE]),
    ...['\0', 'a\0b', '\ud83d', '\ude00a'].map((value): [unknown, string] => [value, ILL_FORMED]),
  ]

  test.each(unstorable)('%j is stored, or a row says why not, wherever in it', (value, why) => {
    expect(whyUnstorable(value, 4)).toBe(why)
    expect(whyUnstorable([1, value], 4)).toBe(why)
    expect(whyUnstorable({ a: 'fine', b: [value] }, 4)).toBe(why)
    if (typeof value === 'string') expect(whyUnstorable({ a: { [value]: 1 } }, 4)).toBe(why)
  })

  test('nests no deeper than a row may, which a number in it does not make deeper', () => {
    const why = 'is nested deeper than 3 levels'
    expect([[], [[]], { a: [1] }].map((value) => whyUnstorable(value, 3))).toEqual(Array(3).fill(undefined))
    expect([[[[]]], { a: { b: {} } }, [{ a: [1] }]].map((value) => whyUnstorable(value, 3))).toEqual(Array(3).fill(why))
  })
})

describe('the text of a state', () => {
  const bytes = (text: string) => new TextEncoder().encode(text)
  const written = '{"counters":{},"rows":{\n"notes":[\n{"id":1}\n]\n}}\n'

  test('is in pieces of 64 KiB or a little more, and the rest', () => {
    const line = 'x'.repeat(1 << 14)
    expect([...inPieces([])]).toEqual([''])
    expect([...inPieces(Array(9).fill(line))].map((piece) => piece.length / line.length)).toEqual([4, 4, 1])
    expect([...inPieces(Array(4).fill(line))].map((piece) => piece.length / line.length)).toEqual([4, 0])
    expect([...inPieces([line.slice(1), 'y', line.repeat(9)])].map((piece) => piece.length)).toEqual([10 << 14, 0])
  })

  test.each([
    [written.slice(0, -3), new SyntaxError('its end is missing')],
    [`${written}x`, new SyntaxError('something follows its end')],
    [written.replace('\n"notes":[', ''), new SyntaxError('a row is in no collection')],
    [written.replace('{"id":1}', '7'), new TypeError('a line is not a row')],
    [written.replace('{"id":1}', '[{"id":1}],'), new TypeError('a line is not a row')],
    [written.replace('{}', '1'), new TypeError('"counters" must be an object')],
  ])('%j is refused with its reason', (text, error) => {
    expect(() => parseState(bytes(text))).toThrow(error)
  })

  test('may end without a line break, with several, and with a mark of its encoding at its start', () => {
    const state: State = { counters: {}, rows: { notes: [{ id: 1 }] } }
    for (const text of [written, written.trimEnd(), `${written}\n\n`, `\ufeff${written}`, JSON.stringify(state)])
      expect(parseState(bytes(text))).toEqual(state)
    const broken = bytes(written)
    broken[3] = 0xff
    expect(() => parseState(broken)).toThrow(TypeError)
  })

  test('is JSON as a whole if its first line looks like that of ours at one end only', () => {
    const read = (...lines: string[]) => {
      const reader = new StateReader()
      for (const line of lines) reader.add(line)
      return reader.state()
    }
    const state = { counters: {}, rows: {} }
    expect(read('{', '"counters":{},"rows":{', '}}')).toEqual(state)
    expect(read('{"counters":{}', ',"rows":{', '}}')).toEqual(state)
    expect(() => read('"counters":{},"rows":{', '}}')).toThrow(SyntaxError)
  })
})
