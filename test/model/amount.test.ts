import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Problem } from '../../src/base/problem.js'
import { formatAmount, MAX_UNITS, toAmount, toUnits } from '../../src/money/ledger/amount.js'
import { howMuch } from '../support/how-much.js'

const decimals = fc.integer({ min: 0, max: 9 })
/** Up to here each count of smallest units has a JSON number of its own, whatever the decimals. */
const EXACT_UNITS = 2n ** 52n
const exactUnits = fc.bigInt({ min: 0n, max: EXACT_UNITS })
const runs = { numRuns: howMuch(500, 2000) }

/** The units, or the code of the refusal. */
function unitsOrCode(amount: number, places: number): bigint | string {
  try {
    return toUnits(amount, places)
  } catch (error) {
    return (error as Problem).code
  }
}

test('an amount of up to 2^52 smallest units is shown and read back as the same count', () => {
  fc.assert(
    fc.property(exactUnits, decimals, (units, places) => {
      expect(toUnits(toAmount(units, places), places)).toBe(units)
    }),
    runs,
  )
})

test('an amount is read the same from a number and from its JSON text', () => {
  fc.assert(
    fc.property(exactUnits, decimals, (units, places) => {
      const text = formatAmount(units, places)
      expect(JSON.parse(text)).toBe(toAmount(units, places))
      expect(toUnits(JSON.parse(text), places)).toBe(units)
    }),
    runs,
  )
})

test('an amount above 2^52 smallest units is read as its own count or refused, never as another count', () => {
  const large = fc.bigInt({ min: EXACT_UNITS, max: MAX_UNITS })
  fc.assert(
    fc.property(large, decimals, (units, places) => {
      expect([units, 'amount_invalid']).toContain(unitsOrCode(toAmount(units, places), places))
    }),
    runs,
  )
})

test('without decimals, every count up to 2^53-1 is read exactly', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: MAX_UNITS }), (units) => {
      expect(toUnits(Number(units), 0)).toBe(units)
    }),
    runs,
  )
  expect(toUnits(Number.MAX_SAFE_INTEGER, 0)).toBe(MAX_UNITS)
})

test('any number is either refused or read as the count that shows as that number', () => {
  fc.assert(
    fc.property(fc.oneof(fc.double(), fc.float(), fc.integer(), fc.maxSafeInteger()), decimals, (amount, places) => {
      const units = unitsOrCode(amount, places)
      if (typeof units === 'string') {
        expect(units).toBe('amount_invalid')
        return
      }
      expect(units).toBeGreaterThanOrEqual(0n)
      expect(units).toBeLessThanOrEqual(MAX_UNITS)
      // `+ 0` for the zero that has a sign.
      expect(toAmount(units, places)).toBe(amount + 0)
    }),
    runs,
  )
})

test('a number with one decimal too many is refused', () => {
  const tooFine = fc
    .tuple(decimals, fc.nat({ max: 99_999 }), fc.integer({ min: 1, max: 9 }))
    .chain(([places, whole, last]) =>
      fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: places, maxLength: places }).map((digits) => ({
        places,
        amount: Number(`${whole}.${digits}${last}`),
      })),
    )
  fc.assert(
    fc.property(tooFine, ({ places, amount }) => {
      expect(unitsOrCode(amount, places)).toBe('amount_invalid')
    }),
    runs,
  )
})

test('an amount that is negative, not finite or above 2^53-1 smallest units is refused', () => {
  const above = fc.bigInt({ min: MAX_UNITS + 1n, max: 10n ** 40n })
  fc.assert(
    fc.property(above, decimals, (units, places) => {
      expect(unitsOrCode(toAmount(units, places), places)).toBe('amount_invalid')
    }),
    runs,
  )
  fc.assert(
    fc.property(fc.double({ max: -Number.MIN_VALUE, noNaN: true }), decimals, (amount, places) => {
      expect(unitsOrCode(amount, places)).toBe('amount_invalid')
    }),
    runs,
  )
  for (const amount of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.MIN_VALUE, 1e308])
    for (let places = 0; places <= 9; places++) expect(unitsOrCode(amount, places)).toBe('amount_invalid')
})

test('sums of amounts never drift', () => {
  const amounts = fc.array(fc.bigInt({ min: 0n, max: 10n ** 13n }), { maxLength: 50 })
  fc.assert(
    fc.property(amounts, decimals, (parts, places) => {
      const read = parts.map((units) => toUnits(toAmount(units, places), places))
      const sum = parts.reduce((total, units) => total + units, 0n)
      expect(
        toAmount(
          read.reduce((total, units) => total + units, 0n),
          places,
        ),
      ).toBe(JSON.parse(formatAmount(sum, places)))
    }),
  )
  expect([0.1, 0.2].reduce((sum, amount) => sum + toUnits(amount, 1), 0n)).toBe(3n)
})

test('a refusal says what is wrong with the amount', () => {
  const sentences: [number, number, string][] = [
    [-1, 3, 'must not be negative'],
    [Number.NaN, 3, 'must be a finite number'],
    [0.0001, 3, 'must have at most 3 decimals'],
    [0.5, 0, 'must have at most 0 decimals'],
    [2 ** 53, 0, 'must be at most 9007199254740991'],
    [9007199254740.991, 3, 'loses its last decimal'],
  ]
  for (const [amount, places, sentence] of sentences) expect(() => toUnits(amount, places)).toThrow(sentence)
  expect(() => toUnits(-1, 3)).toThrow(Problem)
})

test('people are shown every decimal of the digital quantity', () => {
  const shown = [
    formatAmount(10n, 3),
    formatAmount('1234567', 3),
    formatAmount(0n, 2),
    formatAmount(-5n, 1),
    formatAmount(-1500n, 3),
    formatAmount(42n, 0),
    formatAmount(1n, 9),
  ]
  expect(shown).toEqual(['0.010', '1234.567', '0.00', '-0.5', '-1.500', '42', '0.000000001'])
})
