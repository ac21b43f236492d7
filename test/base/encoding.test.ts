import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { base64url, hexOf } from '../../src/base/encoding.js'

test('bytes of every length are written as Node writes them, in hex and in base64url', () => {
  for (let length = 0; length < 100; length++) {
    const bytes = randomBytes(length)
    expect(hexOf(bytes)).toBe(bytes.toString('hex'))
    expect(base64url(bytes)).toBe(bytes.toString('base64url'))
  }
})
