import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeKey, justAfter, pastKeys } from '../../adapters/storage/postgres/tables/tables.js'
import { compareKeys, hasPrefix } from '../../src/storage/key.js'
import type { Key } from '../../src/storage/storage.js'
import { howMuch } from '../support/how-much.js'

/** Code units around every place where an encoding of characters changes its length or its order. */
const unit = fc.oneof(
  fc.constantFrom(0, 1, 0x7f, 0x80, 0xff, 0x7ff, 0x800, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xfffe, 0xffff),
  fc.integer({ min: 0, max: 0xffff }),
)
const text = fc.array(unit, { maxLength: 4 }).map((units) => String.fromCharCode(...units))
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.constantFrom(0, -0, 1, -1, 0.1, Number.MIN_VALUE, -Number.MIN_VALUE, Number.MAX_VALUE, Number.MAX_SAFE_INTEGER),
)
const part: fc.Arbitrary<Key> = fc.oneof(number, text, fc.constantFrom('', '1', 'a', 'ab'))
const key = fc.array(part, { maxLength: 3 })

const sign = (order: number) => Math.sign(order)
const bytesOf = (encoded: string) => Buffer.from(encoded, 'hex')

test('encoded keys have the order of the keys, as bytes and as digits', () => {
  fc.assert(
    fc.property(key, key, (a, b) => {
      const [x, y] = [encodeKey(a), encodeKey(b)]
      expect(sign(Buffer.compare(bytesOf(x), bytesOf(y)))).toBe(sign(compareKeys(a, b)))
      expect(x < y).toBe(compareKeys(a, b) < 0)
    }),
    { numRuns: howMuch(1000, 3000) },
  )
})

test('the keys under a prefix are those from its encoding to the place past it', () => {
  const related = fc.tuple(key, key, fc.boolean()).map(([a, b, joins]) => [a, joins ? [...a, ...b] : b] as const)
  fc.assert(
    fc.property(related, ([prefix, whole]) => {
      const encoded = encodeKey(whole)
      const isWithin = whole.length >= prefix.length && hasPrefix(whole, prefix)
      expect(encoded >= encodeKey(prefix) && encoded < pastKeys(prefix)).toBe(isWithin)
    }),
    { numRuns: howMuch(1000, 3000) },
  )
})

test('no key is between one and the place just after it', () => {
  fc.assert(
    fc.property(key, key, (a, b) => {
      expect(encodeKey(b) >= justAfter(a)).toBe(compareKeys(b, a) > 0)
    }),
    { numRuns: howMuch(500, 1000) },
  )
})

test('0 and -0 are one key, and 1 and "1" are two', () => {
  expect(encodeKey([-0])).toBe(encodeKey([0]))
  expect(encodeKey([1])).not.toBe(encodeKey(['1']))
})
