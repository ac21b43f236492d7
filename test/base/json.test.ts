import { expect, test } from 'vitest'
import { jsonCopy, withoutUndefined } from '../../src/base/json.js'

test('a copy of JSON equals the original and shares nothing with it', () => {
  const original = { list: [{ a: 1 }], text: 'a', none: null }
  const copy = jsonCopy(original)
  expect(copy).toEqual(original)
  expect(copy.list[0]).not.toBe(original.list[0])
})

test('withoutUndefined leaves out fields that hold undefined, and keeps those that hold null', () => {
  expect(Object.keys(withoutUndefined({ a: undefined, b: null, c: 0 }))).toEqual(['b', 'c'])
})
