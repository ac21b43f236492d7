import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareParts } from '../../src/storage/key.js'
import type { Key, Row } from '../../src/storage/storage.js'
import { Rows } from '../../src/storage/tables/rows.js'
import { howMuch } from '../support/how-much.js'

const id: fc.Arbitrary<Key> = fc.oneof(
  fc.integer({ min: 0, max: 20 }),
  fc.constantFrom(-1, 0.5, 1030, 1031, 2100, 3_000_000_000, '1', 'a', ''),
)

test('rows are found by their ids, and counted, as in a map', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(id, fc.boolean()), { maxLength: 60, size: 'max' }), (steps) => {
      const rows = new Rows()
      const map = new Map<Key, Row>()
      for (const [id, isPut] of steps) {
        const row = { id } as Row
        if (isPut) {
          rows.set(id, row)
          map.set(id, row)
        } else {
          rows.delete(id)
          map.delete(id)
        }
        expect(rows.size).toBe(map.size)
        // One comparison of all, because thousands of them take seconds.
        const wrong = steps.filter(([known]) => rows.get(known) !== map.get(known))
        expect(wrong).toEqual([])
      }
      const inOrder = [...map.values()].sort((a, b) => compareParts(a.id, b.id))
      expect(rows.inOrder()).toEqual(inOrder)
      expect(new Set(rows.all())).toEqual(new Set(inOrder))
    }),
    { numRuns: howMuch(60, 300) },
  )
})

test('empty places at the start of the array are dropped, and earlier ids are found again', () => {
  const rows = new Rows()
  for (let id = 1; id <= 5000; id++) rows.set(id, { id })
  for (let id = 1; id <= 4000; id++) rows.delete(id)
  expect(rows.inOrder().map(({ id }) => id)).toEqual(Array.from({ length: 1000 }, (_, i) => 4001 + i))
  expect([...rows.numbered(4998, false)]).toEqual([{ id: 4999 }, { id: 5000 }])
  expect([...rows.numbered(4003, true)]).toEqual([{ id: 4002 }, { id: 4001 }])
  for (const id of [7, 3000, 5001]) rows.set(id, { id })
  expect([7, 3000, 4000, 4001, 5001].map((id) => rows.get(id)?.id)).toEqual([7, 3000, undefined, 4001, 5001])
  expect(rows.size).toBe(1003)
  for (const id of [7, 3000]) rows.delete(id)
  expect(rows.inOrder()[0]).toEqual({ id: 4001 })
})
