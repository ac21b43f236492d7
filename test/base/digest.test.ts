import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { digest } from '../../src/base/secrets.js'

test('a state has the same digests in every runtime', () => {
  const inJavaScript = (text: string) => bytesToHex(sha256(utf8ToBytes(text)))
  fc.assert(
    // Texts with halves of characters too.
    fc.property(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.constantFrom('', '\ud800', '\udc00'),
      (text, half) => {
        expect(digest(text + half)).toBe(inJavaScript(text + half))
      },
    ),
  )
})
