import { expect, it } from 'vitest'
import { LimitedMap, memoize } from '../../src/base/memo.js'

/** Doubles its input, and counts how often it had to. */
function counted(limitBytes: number) {
  let computed = 0
  const double = memoize((input) => {
    computed++
    return input + input
  }, limitBytes)
  return { double, computed: () => computed }
}

it('remembers what it computed', () => {
  const { double, computed } = counted(10_000)
  expect([double('a'), double('b'), double('a'), double('b')]).toEqual(['aa', 'bb', 'aa', 'bb'])
  expect(computed()).toBe(2)
})

it('forgets the oldest answers once all of them take more than the limit', () => {
  const { double, computed } = counted(10_000)
  for (let i = 0; i < 1000; i++) double(`input ${i}`)
  double('input 999')
  expect(computed()).toBe(1000)
  double('input 0')
  expect(computed()).toBe(1001)
})

it('keeps fewer answers the longer they are', () => {
  const { double, computed } = counted(10_000)
  const long = (i: number) => `${i}`.padEnd(1000, 'x')
  for (let i = 0; i < 3; i++) double(long(i))
  double(long(2))
  expect(computed()).toBe(3)
  double(long(0))
  expect(computed()).toBe(4)
})

it('computes an input of more than 2,048 characters each time', () => {
  const { double, computed } = counted(10_000_000)
  for (let i = 0; i < 3; i++) double('x'.repeat(2049))
  expect(computed()).toBe(3)
})

it('a limited map forgets the entries that were set first', () => {
  const map = new LimitedMap<number, string>(100)
  for (let i = 0; i < 1000; i++) map.set(i, 'x')
  expect(map.size).toBe(100)
  expect([map.has(899), map.has(900), map.has(999)]).toEqual([false, true, true])
})
