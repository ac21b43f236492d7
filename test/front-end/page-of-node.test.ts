import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { handlers } from '../../adapters/msw.js'
import type { FetchSource } from '../../src/index.js'
import { unhandled } from '../support/unhandled.js'

/** A page with the `fetch` of Node, as jsdom often has it. That lets its caller send a Cookie, which happy-dom's does not. */

const here = 'http://localhost:3000'
const there = 'http://pay.example.test'

const server = setupServer()
beforeAll(() => {
  vi.stubGlobal('location', new URL(here))
  server.listen(unhandled('error'))
})
afterEach(() => server.resetHandlers())
afterAll(() => {
  server.close()
  vi.unstubAllGlobals()
})

/** Answers at `baseUrl` with a cookie that is hidden from scripts, and notes which ones a server would have been sent. */
function noting(baseUrl: string) {
  const sent: (string | null)[] = []
  const respond = async (_: Request, { headers, Response: Answer }: FetchSource = {}) => {
    sent.push(headers?.get('cookie') ?? null)
    const path = new URL(baseUrl).pathname
    return new (Answer as typeof Response)('noted', {
      headers: { 'set-cookie': `session_id=ms_kept; Path=${path}; HttpOnly; SameSite=Lax` },
    })
  }
  server.use(...handlers({ baseUrl, respond }))
  return sent
}

test.each([
  ["the page's own origin", `${here}/own`],
  ['another origin', `${there}/own`],
])('a Cookie that the caller sends to %s is believed', async (_, base) => {
  const sent = noting(base)
  const headers = { cookie: 'session_id=ms_own' }
  await (await fetch(`${base}/x`, { headers })).text()
  expect(sent).toEqual(['session_id=ms_own'])
})

test('a cookie of another origin is not sent to it without credentials', async () => {
  const sent = noting(`${there}/kept`)
  for (const credentials of ['include', 'same-origin'] as const)
    await (await fetch(`${there}/kept/x`, { credentials })).text()
  expect(sent).toEqual([null, null])
})
