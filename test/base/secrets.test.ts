import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { systemRandom } from '../../src/base/ports.js'
import { keyring } from '../../src/base/secrets.js'

const key = new Uint8Array(randomBytes(32))
const keys = keyring(key, systemRandom)
const CONTEXT = 'outbox:1:text'

test('what is sealed opens under its key and context, and under no other', async () => {
  const sealed = await keys.seal('Your code is 123456.', CONTEXT)
  expect(await keys.open(sealed, CONTEXT)).toBe('Your code is 123456.')
  expect(await keys.open(sealed, 'outbox:2:text')).toBeUndefined()
  expect(await keyring(new Uint8Array(randomBytes(32)), systemRandom).open(sealed, CONTEXT)).toBeUndefined()
})

test('what was changed after it was sealed does not open', async () => {
  const sealed = await keys.seal('Your code is 123456.', CONTEXT)
  const changed = sealed.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))
  expect(await keys.open(changed, CONTEXT)).toBeUndefined()
})
