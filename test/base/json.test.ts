import { expect, test } from 'vitest'
import { messageOf } from '../../src/base/cause.js'
import { hasFields, jsonCopy, withoutUndefined } from '../../src/base/json.js'

test('hasFields is true of objects, and of neither null, lists nor plain values', () => {
  expect([{}, { a: 1 }].map(hasFields)).toEqual([true, true])
  expect([null, undefined, [], [{}], 'a', 1].map(hasFields)).toEqual([false, false, false, false, false, false])
})

test('a copy of JSON equals the original and shares nothing with it', () => {
  const original = { list: [{ a: 1 }], text: 'a', none: null }
  const copy = jsonCopy(original)
  expect(copy).toEqual(original)
  expect(copy.list[0]).not.toBe(original.list[0])
})

test('withoutUndefined leaves out fields that hold undefined, and keeps those that hold null', () => {
  expect(Object.keys(withoutUndefined({ a: undefined, b: null, c: 0 }))).toEqual(['b', 'c'])
})

test.each([
  [new TypeError('no state'), 'no state'],
  ['no error', 'no error'],
  [undefined, 'undefined'],
])('messageOf says what was thrown: %s', (cause, message) => {
  expect(messageOf(cause)).toBe(message)
})
