import { expect, test } from 'vitest'
import { required } from '../../src/base/required.js'

test('required returns a value that is present, even an empty one', () => {
  expect([required(7, 'a'), required(0, 'b'), required('', 'c'), required(false, 'd')]).toEqual([7, 0, '', false])
})

test.each([null, undefined])('required names what is missing: %s', (value) => {
  expect(() => required(value, 'the receipt of checkout 7')).toThrow('the receipt of checkout 7 is missing')
})
