import { expect, test } from 'vitest'
import { fieldOf, hasCode, isObject, messageOf } from '../../src/storage/unknown.js'

test.each([
  [new TypeError('no state'), 'no state'],
  ['no error', 'no error'],
  [undefined, 'undefined'],
])('messageOf says what was thrown: %s', (cause, message) => {
  expect(messageOf(cause)).toBe(message)
})

test('hasCode is true only for errors with that code', () => {
  const missing = Object.assign(new Error('gone'), { code: 'ENOENT' })
  expect([missing, new Error('gone'), { code: 'ENOENT' }].map((cause) => hasCode(cause, 'ENOENT'))).toEqual([
    true,
    false,
    false,
  ])
  expect(hasCode(missing, 'EEXIST')).toBe(false)
})

test('isObject is true for objects, but not for null, lists or plain values', () => {
  expect([{}, { a: 1 }].map(isObject)).toEqual([true, true])
  expect([null, undefined, [], [{}], 'a', 1].map(isObject)).toEqual([false, false, false, false, false, false])
})

test('fieldOf reads a field of an object, and none of anything else', () => {
  expect([{ length: 1 }, {}, [1], 'a', null, undefined].map((value) => fieldOf(value, 'length'))).toEqual([
    1,
    ...Array(5).fill(undefined),
  ])
})
