import { client } from 'farthing/client'
import { expect, test } from 'vitest'

// `farthing exec` sets these.
const { FARTHING_URL = '', FARTHING_USER_CLIENT_ID = '', FARTHING_USER_CLIENT_SECRET = '' } = process.env

test('a reader buys an article', async () => {
  const reader = client(FARTHING_URL).as({
    client_id: FARTHING_USER_CLIENT_ID,
    client_secret: FARTHING_USER_CLIENT_SECRET,
  })
  const paid = await reader.payments.create('00000000-0000-4000-8000-0000000000a1', { cost: 0.25 })
  expect(paid.amount).toBe(0.25)
})
