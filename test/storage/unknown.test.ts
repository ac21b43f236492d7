import { expect, test } from 'vitest'
import { hasCode, isObject, messageOf } from '../../src/storage/unknown.js'

test.each([
  [new TypeError('no state'), 'no state'],
  ['no error', 'no error'],
  [undefined, 'undefined'],
])('messageOf says what was thrown: %s', (cause, message) => {
  expect(messageOf(cause)).toBe(message)
})

test('hasCode is true of errors with that code alone', () => {
  const missing = Object.assign(new Error('gone'), { code: 'ENOENT' })
  expect([missing, new Error('gone'), { code: 'ENOENT' }].map((cause) => hasCode(cause, 'ENOENT'))).toEqual([
    true,
    false,
    false,
  ])
  expect(hasCode(missing, 'EEXIST')).toBe(false)
})

test('isObject is true of objects, and of neither null, lists nor plain values', () => {
  expect([{}, { a: 1 }].map(isObject)).toEqual([true, true])
  expect([null, undefined, [], [{}], 'a', 1].map(isObject)).toEqual([false, false, false, false, false, false])
})
