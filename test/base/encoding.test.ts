import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { base64url, hexOf } from '../../src/base/secrets.js'

test('hex and base64url encode bytes of every length as Node does', () => {
  for (let length = 0; length < 100; length++) {
    const bytes = randomBytes(length)
    expect(hexOf(bytes)).toBe(bytes.toString('hex'))
    expect(base64url(bytes)).toBe(bytes.toString('base64url'))
  }
})
