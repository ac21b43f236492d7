import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  AFTER_ALL,
  assertKeys,
  type Bound,
  compareKeys,
  freezeRow,
  hasPrefix,
  indexNamed,
  isKey,
  isRow,
  keyIn,
  keyOf,
  mergeRows,
  sameKey,
} from '../../src/storage/key.js'
import type { Key, Query, Row } from '../../src/storage/storage.js'
import { howMuch } from '../support/how-much.js'
import { keys, Model, type Note, notes, type Question, questions } from '../support/storage/storage-model.js'

/** Parts of keys in their order, as the law says it. */
const inOrder: Bound = [-1.5, 0, 2, 10, '', '10', '2', 'a', 'aa', '\u{1f600}', '\uff5e', AFTER_ALL]

/** The order of two keys, read from the places of their parts in the list. */
function expectedOrder(a: Bound, b: Bound): number {
  const places = (key: Bound) => key.map((part) => inOrder.indexOf(part))
  const [left, right] = [places(a), places(b)]
  const at = left.findIndex((place, i) => place !== right[i])
  if (at === -1) return Math.sign(a.length - b.length)
  return Math.sign((left[at] ?? 0) - (right[at] ?? -1))
}

describe('the order of keys', () => {
  const bounds = inOrder.flatMap((part): Bound[] => [[part], ...inOrder.map((other): Bound => [part, other])])

  test('is that of their parts, and a key is before its extensions', () => {
    const wrong = [[], ...bounds].flatMap((a) =>
      [[], ...bounds].filter((b) => Math.sign(compareKeys(a, b)) !== expectedOrder(a, b)).map((b) => [a, b]),
    )
    expect(wrong).toEqual([])
  })
})

describe('the key of a row', () => {
  const { byOwner, byOwnerAndRank } = notes.indexes
  const row: Note = { id: 'a', owner: 'o', rank: 0 }

  test('has the fields of the index and then the id', () => {
    expect(keyOf(undefined, row)).toEqual(['a'])
    expect(keyOf(byOwnerAndRank, row)).toEqual(['o', 0, 'a'])
    expect(keyIn(byOwner, row)).toEqual(['o', 'a'])
  })

  test.each([
    { id: 1, owner: 'o' },
    { id: 1, owner: 'o', rank: null },
    { id: 1, rank: 1 },
  ])('is none where a field is missing: %j', (without: Note) => {
    expect(keyOf(byOwnerAndRank, without)).toBeUndefined()
    expect(() => keyIn(byOwnerAndRank, without)).toThrow('row 1 is not in the index that found it')
  })

  test('is the same for two rows if all of its parts are', () => {
    const fields = [1, 2, null, undefined]
    const rows = fields.flatMap((owner) => fields.flatMap((rank) => [1, 2].map((id) => ({ id, owner, rank }) as Note)))
    for (const index of [undefined, byOwner, byOwnerAndRank]) {
      const parts = ({ id, owner, rank }: Note) => [...[owner, rank].slice(0, index?.fields.length ?? 0), id]
      const isSame = (a: Note, b: Note) => JSON.stringify(parts(a)) === JSON.stringify(parts(b))
      const wrong = rows.flatMap((a) => rows.filter((b) => sameKey(index, a, b) !== isSame(a, b)).map((b) => [a, b]))
      expect(wrong).toEqual([])
    }
  })

  test('starts with its prefixes only', () => {
    expect([[], ['o'], ['o', 1]].map((prefix) => hasPrefix(['o', 1, 'a'], prefix))).toEqual([true, true, true])
    expect([['p'], ['o', 2], ['o', 1, 'a', 1]].map((prefix) => hasPrefix(['o', 1, 'a'], prefix))).toEqual([
      false,
      false,
      false,
    ])
  })

  test('has no part that is neither a string nor a finite number', () => {
    const parts: [unknown, boolean][] = [
      ...[0, -1.5, '', 'a'].map((part): [unknown, boolean] => [part, true]),
      ...[Number.NaN, Infinity, true, null, undefined, {}, ['a'], 1n].map((part): [unknown, boolean] => [part, false]),
    ]
    for (const [part, isOne] of parts) {
      expect(isKey(part), String(part)).toBe(isOne)
      expect(isRow({ id: part }), String(part)).toBe(isOne)
      const assertId = () => assertKeys(notes, { id: part } as Row)
      if (isOne) assertId()
      else expect(assertId).toThrow(new TypeError('the id of a row of notes must be a string or a finite number'))
      const assertField = () => assertKeys(notes, { id: 1, slug: part } as Row)
      const keyOfField = () => keyOf(notes.indexes.bySlug, { id: 1, slug: part } as Note)
      if (isOne || part === null || part === undefined) assertField()
      else
        expect(assertField).toThrow(new TypeError('notes.slug is indexed, so it must be a string or a finite number'))
      if (isOne) expect(keyOfField()).toEqual([part, 1])
      else if (part === null || part === undefined) expect(keyOfField()).toBeUndefined()
      else expect(keyOfField).toThrow(new TypeError('slug is indexed, so it must be a string or a finite number'))
    }
    expect([null, 'a', [{ id: 1 }]].map(isRow)).toEqual([false, false, false])
  })
})

test('an index is found by its name, and "id" is no index of a collection', () => {
  expect(indexNamed(notes, 'byOwner')).toBe(notes.indexes.byOwner)
  expect(indexNamed(notes, 'id')).toBeUndefined()
  expect(() => indexNamed(notes, 'byNobody')).toThrow(new TypeError('notes has no index byNobody'))
})

test('a frozen row is frozen at every level, also where a level above was frozen before', () => {
  const row = { id: 1, list: [{ of: [{ deep: {} }] }], none: null, text: 'a', inner: Object.freeze({ open: {} }) }
  const isFrozen = (value: unknown): boolean =>
    Object.isFrozen(value) && (typeof value !== 'object' || Object.values(value ?? {}).every(isFrozen))
  expect(freezeRow(row)).toBe(row)
  expect(isFrozen(row)).toBe(true)
})

describe('changed rows', () => {
  const rows = fc.uniqueArray(
    fc.record({ id: fc.nat(9), owner: fc.constantFrom(1, 'a', null), rank: keys, slug: fc.constant(null) }),
    { selector: ({ id }) => id, maxLength: 8 },
  )
  const changes = fc.dictionary(fc.nat(9).map(String), fc.option(fc.record({ owner: keys, rank: keys })))

  test('are in their places among the stored ones, and none is past the horizon', () => {
    fc.assert(
      fc.property(rows, changes, questions, fc.nat(20), (stored, changed, query, at) => {
        const [before, after] = [new Model(), new Model()]
        for (const row of stored) for (const model of [before, after]) model.put(row)
        const own = new Map<Key, Note | null>()
        for (const [id, fields] of Object.entries(changed)) {
          own.set(Number(id), fields && { id: Number(id), ...fields })
          if (fields) after.put({ id: Number(id), ...fields })
          else after.remove(Number(id))
        }
        const all: Question = { ...query, limit: 100 }
        const index = indexNamed(notes, query.index)
        const expected = after.find(all)
        expect(mergeRows(before.find(all), own, { index, query: all as Query })).toEqual(expected)
        // A storage that answers a page reads no further than its last row.
        const page = before.find({ ...query, limit: at })
        const horizon = page.length > 0 ? keyIn(index, page.at(-1) as Note) : undefined
        const isPast = (row: Note) =>
          horizon !== undefined && compareKeys(keyIn(index, row), horizon) * (query.reverse ? -1 : 1) > 0
        if (at > 0)
          expect(mergeRows(page, own, { index, query: all as Query, horizon })).toEqual(
            expected.filter((row) => !isPast(row)),
          )
      }),
      { numRuns: howMuch(100, 1000) },
    )
  })
})
