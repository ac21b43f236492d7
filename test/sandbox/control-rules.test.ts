import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createService, type State } from '../../src/index.js'
import { clockTime, durationMs, LAST_TIME, sandboxClock } from '../../src/sandbox/controls/shapes.js'
import { howMuch } from '../support/how-much.js'

const field = (name: string) => expect.objectContaining({ code: 'field_invalid', fields: { field: name } })

describe('A duration', () => {
  const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

  test('is the sum of its parts, before or after now, and a number counts seconds', () => {
    const part = fc.tuple(
      fc.nat(999),
      fc.constantFrom('', '.5', '.25'),
      fc.constantFrom(...(['ms', 's', 'm', 'h', 'd'] as const)),
    )
    const parts = fc.array(part, { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(parts, fc.constantFrom('', '-'), fc.constantFrom('', ' '), (list, sign, space) => {
        const text = list.map(([whole, rest, unit]) => `${whole}${rest}${unit}`).join('')
        const sum = list.reduce((ms, [whole, rest, unit]) => ms + Number(`${whole}${rest}`) * units[unit], 0)
        expect(durationMs(`${space}${sign}${text}${space}`)).toBe(Math.round(sign ? -sum : sum))
      }),
      { numRuns: howMuch(40, 400) },
    )
    expect([90, 1.5, -2, 0].map(durationMs)).toEqual([90_000, 1500, -2000, 0])
  })

  test.each([
    '',
    '-',
    '5',
    's',
    '1 h',
    '1h 30m',
    '+1h',
    '--1h',
    '1.h',
    '.5h',
    '1w',
    '1H',
    'x1h',
    '1hx',
    Number.NaN,
    1e21,
  ])('is not %j', (text) => {
    expect(() => durationMs(text)).toThrow(field('advance'))
  })
})

describe('The clock of a sandbox', () => {
  test.each([
    [0, 0],
    ['2030-01-02T03:04:05Z', Date.UTC(2030, 0, 2, 3, 4, 5)],
    [1_900_000_000, 1_900_000_000_000],
    ['9999-12-31T23:59:59.999Z', LAST_TIME],
    // Beyond the year 9999 in seconds, a number counts milliseconds.
    [253_402_300_799, 253_402_300_799_000],
    [253_402_300_800, 253_402_300_800],
    [LAST_TIME, LAST_TIME],
  ])('is set to %j', (set, ms) => {
    expect(clockTime(set)).toBe(ms)
  })

  test('is set to nothing after the year 9999', () => {
    for (const set of [LAST_TIME + 1, 1e300]) expect(() => clockTime(set)).toThrow(field('set'))
  })

  test('follows the real one, or stands still, from the time that it had', () => {
    let real = 1000
    const clock = sandboxClock({ now: () => real })
    const seen = () => [clock.mode, clock.now(), clock.realNow()]
    expect(seen()).toEqual(['real', 1000, 1000])
    clock.setTo(5000)
    real += 10
    expect(seen()).toEqual(['real', 5010, 1010])
    clock.setMode('manual')
    real += 10
    expect(seen()).toEqual(['manual', 5010, 1020])
    const kept = clock.state()
    clock.setTo(7000)
    clock.setMode('real')
    real += 10
    expect(seen()).toEqual(['real', 7010, 1030])
    clock.restore(kept)
    expect(seen()).toEqual(['manual', 5010, 1030])
  })
})

describe('The settings in a snapshot', () => {
  const clock = (value: unknown) => ({ settings: [{ id: 'clock', value }] })
  const hex = '0123456789abcdef'.repeat(4)
  const key = (value: unknown, id = 'key') => ({ service_keys: [{ id, value }] })

  test.each([
    ['clock', clock({ mode: 'real', ms: 0 }), true],
    ['clock', clock({ mode: 'manual', ms: LAST_TIME }), true],
    ['clock', clock({ mode: 'real', ms: -LAST_TIME }), true],
    ['clock', clock({ mode: 'manual', ms: LAST_TIME + 1 }), false],
    ['clock', clock({ mode: 'real', ms: -LAST_TIME - 1 }), false],
    ['clock', clock({ mode: 'manual', ms: 0.5 }), false],
    ['clock', clock({ mode: 'manual', ms: '0' }), false],
    ['clock', clock({ mode: 'stopped', ms: 0 }), false],
    ['clock', clock({ ms: 0 }), false],
    ['clock', clock({ mode: 'real' }), false],
    ['clock', clock(null), false],
    ['clock', { settings: [{ id: 'clock' }] }, false],
    ['key', key(hex), true],
    ['key', key(`${hex}0`), false],
    ['key', key(hex.slice(1)), false],
    ['key', key(hex.toUpperCase()), false],
    ['key', key(undefined), false],
    ['key_salt', { settings: [{ id: 'key_salt', value: hex }] }, true],
    ['key_salt', { settings: [{ id: 'key_salt', value: 'short' }] }, false],
  ])('are refused by their row, or taken: %s %j', async (id, rows, isTaken) => {
    const service = createService({ sandbox: true })
    onTestFinished(() => service.close())
    const before = await service.sandbox.snapshot()
    const state = { ...before, rows: { ...before.rows, ...rows } } as State
    const restored = service.sandbox.restore(state)
    if (isTaken) return expect(await restored).toBeUndefined()
    const [collection] = Object.keys(rows)
    await expect(restored).rejects.toMatchObject({ code: 'snapshot_refused', fields: { collection, id } })
    expect(await service.sandbox.snapshot()).toEqual(before)
  })
})
