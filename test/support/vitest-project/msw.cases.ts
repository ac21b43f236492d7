import { farthingTest } from 'farthing/vitest'
import { setupServer } from 'msw/node'
import { afterAll, beforeAll, describe, expect } from 'vitest'

const server = setupServer()
// MSW 3 has the first name, MSW 2 the second.
const strict = { onUnhandledFrame: 'error', onUnhandledRequest: 'error' } as const
beforeAll(() => server.listen(strict))
afterAll(() => server.close())

const test = farthingTest({
  msw: server,
  baseUrl: 'http://pay.test',
  seed: { users: [{ email: 'reader@example.test' }] },
})
const sendCode = () =>
  fetch('http://pay.test/v4/session/code', {
    method: 'POST',
    body: JSON.stringify({ email: 'reader@example.test' }),
    headers: { 'content-type': 'application/json' },
  })

for (const name of ['a test', 'the next test'])
  test(`MSW answers with the service of ${name}`, async ({ sandbox }) => {
    expect((await sendCode()).ok).toBe(true)
    expect((await sandbox.outbox()).messages).toHaveLength(1)
  })

describe.concurrent('two tests at once that share a server', () => {
  for (const name of ['the first', 'the second'])
    test(`do not mix: ${name}`, async () => {
      await sendCode()
    })
})
