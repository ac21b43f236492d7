import { expect, test } from 'vitest'
import { load } from '../../src/base/parts.js'

/** A part that fails to load so many times. */
function part(failures: number) {
  const seen = { calls: 0 }
  const loads = async () => {
    seen.calls++
    if (seen.calls <= failures) throw new Error('request for it is from a module not been linked')
    return 'loaded'
  }
  return { seen, loads }
}

test('a part that fails to load is loaded once more', async () => {
  const { loads, seen } = part(1)
  expect(await load(loads)).toBe('loaded')
  expect(seen.calls).toBe(2)
})

test('a part that fails again is not_loaded, and the next call tries again', async () => {
  const { loads, seen } = part(2)
  await expect(load(loads)).rejects.toMatchObject({ code: 'not_loaded' })
  expect(seen.calls).toBe(2)
  expect(await load(loads)).toBe('loaded')
})
