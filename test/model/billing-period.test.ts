import fc from 'fast-check'
import { expect, test } from 'vitest'
import { calendarMonth, periodOf, prorate } from '../../src/market/plans/plan.js'
import { howMuch } from '../support/how-much.js'

const runs = { numRuns: howMuch(500, 2000) }
const day = (ms: number) => new Date(ms).toISOString().slice(0, 10)
const time = (ms: number) => new Date(ms).toISOString().slice(10)

test.each([
  ['2031-01-31', ['2031-01-31', '2031-02-28', '2031-03-31', '2031-04-30', '2031-05-31']],
  ['2032-01-30', ['2032-01-30', '2032-02-29', '2032-03-30', '2032-04-30', '2032-05-30']],
  ['2031-11-15', ['2031-11-15', '2031-12-15', '2032-01-15', '2032-02-15', '2032-03-15']],
])('months that began on %s keep that day, if the month has it', (first, expected) => {
  const anchor = Date.parse(`${first}T23:59:59.999Z`)
  const starts = expected.map((_, index) => periodOf(anchor, index).start)
  expect(starts.map(day)).toEqual(expected)
  expect(new Set(starts.map(time))).toEqual(new Set(['T23:59:59.999Z']))
})

const moment = fc.integer({ min: 0, max: Date.UTC(2200, 0) })

test('each month ends where the next begins, and lasts 28 to 31 days', () => {
  fc.assert(
    fc.property(moment, fc.integer({ min: 0, max: 2400 }), (anchor, index) => {
      const { start, end } = periodOf(anchor, index)
      expect(periodOf(anchor, index + 1).start).toBe(end)
      expect((end - start) / 86_400_000).toBeGreaterThanOrEqual(28)
      expect((end - start) / 86_400_000).toBeLessThanOrEqual(31)
      expect(new Date(start).getUTCDate()).toBeLessThanOrEqual(new Date(anchor).getUTCDate())
    }),
    runs,
  )
})

test('a calendar month contains each of its moments', () => {
  fc.assert(
    fc.property(moment, (at) => {
      const { start, end } = calendarMonth(at)
      expect(start <= at && at < end).toBe(true)
      expect(new Date(start).toISOString()).toMatch(/-01T00:00:00.000Z$/)
    }),
    runs,
  )
})

const cents = fc.bigInt({ min: 0n, max: 10n ** 12n })
const change = fc.record({
  prices: fc.tuple(cents, cents).map(([a, b]) => (a < b ? { from: a, to: b } : { from: b, to: a })),
  anchor: moment,
  share: fc.double({ min: -0.1, max: 1.1, noNaN: true }),
})

const prorated = ({
  prices,
  anchor,
  share,
}: {
  prices: { from: bigint; to: bigint }
  anchor: number
  share: number
}) => {
  const period = periodOf(anchor, 1)
  const at = period.start + Math.round((period.end - period.start) * share)
  return { period, at, ...prorate(prices, period, at) }
}

test('the parts of a proration add up, none is below zero, and none is above the price that it is a share of', () => {
  fc.assert(
    fc.property(change, (made) => {
      const { from, to } = made.prices
      const { charge, credit, total } = prorated(made)
      expect(charge - credit).toBe(total)
      for (const part of [charge, credit, total]) expect(part >= 0n).toBe(true)
      expect(charge <= to && credit <= from && total <= to - from).toBe(true)
    }),
    runs,
  )
})

test('a proration is within half a cent of the exact share, and rounds the half up', () => {
  fc.assert(
    fc.property(change, (made) => {
      const { from, to } = made.prices
      const { period, at, total } = prorated(made)
      const whole = BigInt(period.end - period.start)
      const left = BigInt(period.end - Math.min(Math.max(at, period.start), period.end))
      const error = 2n * (total * whole - (to - from) * left)
      expect(error > -whole && error <= whole).toBe(true)
    }),
    runs,
  )
})

test('a change for a whole month costs the whole difference, and a change for no time costs nothing', () => {
  fc.assert(
    fc.property(change, ({ prices, anchor }) => {
      const period = periodOf(anchor, 0)
      const { from, to } = prices
      expect(prorate(prices, period, period.start)).toEqual({ charge: to, credit: from, total: to - from })
      expect(prorate(prices, period, period.end)).toEqual({ charge: 0n, credit: 0n, total: 0n })
    }),
    runs,
  )
})

test('a later change in a month never costs more', () => {
  fc.assert(
    fc.property(change, fc.double({ min: 0, max: 1, noNaN: true }), (made, later) => {
      const share = made.share + later
      expect(prorated({ ...made, share }).total <= prorated(made).total).toBe(true)
    }),
    runs,
  )
})
