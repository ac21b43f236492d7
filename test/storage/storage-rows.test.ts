import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Rows } from '../../src/storage/rows.js'
import type { Key, Row } from '../../src/storage/storage.js'

const id: fc.Arbitrary<Key> = fc.oneof(
  fc.integer({ min: 0, max: 20 }),
  fc.constantFrom(-1, 0.5, 1030, 1031, 2100, 3_000_000_000, '1', 'a', ''),
)

test('rows are found by their ids, and counted, as in a map', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(id, fc.boolean()), { maxLength: 60 }), (steps) => {
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
        for (const [known] of steps) expect(rows.get(known)).toBe(map.get(known))
      }
      expect(new Set(rows.values())).toEqual(new Set(map.values()))
      expect([...rows.values()]).toHaveLength(map.size)
    }),
    { numRuns: 300 },
  )
})
