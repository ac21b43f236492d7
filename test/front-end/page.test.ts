// @vitest-environment happy-dom
import * as msw from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { handlers } from '../../adapters/msw.js'
import { createService, type FetchSource } from '../../src/index.js'
import { unhandled } from '../support/unhandled.js'

/** Of the page under test. */
const here = location.origin
const there = 'http://pay.example.test'

/** In Node, MSW 3 sees a request on its way to the network, and not what `fetch` was told. */
const showsCredentials = !('isPassthroughResponse' in msw)

const server = setupServer()
beforeAll(() => server.listen(unhandled('error')))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

/** Answers at `baseUrl`, sets a cookie where one is given, and notes what a server would have been sent. */
function noting(baseUrl: string, setCookie?: string) {
  const sent: (string | null)[] = []
  const respond = async ({ method }: Request, { headers, Response: Answer }: FetchSource = {}) => {
    // On its way to the network, happy-dom asks first whether a page may call another origin.
    if (method !== 'OPTIONS') sent.push(headers?.get('cookie') ?? null, headers?.get('origin') ?? null)
    const allowed = { 'access-control-allow-origin': here, 'access-control-allow-credentials': 'true' }
    return new (Answer as typeof Response)('noted', {
      headers: setCookie ? { ...allowed, 'set-cookie': setCookie } : allowed,
    })
  }
  server.use(...handlers({ baseUrl, respond }))
  return () => sent.splice(0)
}

const session = (id: string, path = '/') => `session_id=${id}; Path=${path}; HttpOnly; SameSite=Lax`

test.each([
  ['a GET of the own origin', here, 'GET', null],
  ['a HEAD of the own origin', here, 'HEAD', null],
  ['a POST of the own origin', here, 'POST', here],
  ['a DELETE of the own origin', here, 'DELETE', here],
  ['a GET of another origin', there, 'GET', here],
  ['a POST of another origin', there, 'POST', here],
])('%s sends the Origin header that a browser sends', async (_, base, method, origin) => {
  const sent = noting(base)
  await fetch(`${base}/x`, { method })
  expect(sent()[1]).toBe(origin)
})

test('a cookie hidden from scripts is sent back to its own service, if the request includes credentials', async () => {
  const sent = noting(`${here}/cookie`, session('ms_1', '/cookie'))
  const answer = await fetch('/cookie/x')
  expect([answer.headers.get('set-cookie'), document.cookie]).toEqual([null, ''])
  await fetch('/cookie/x')
  await fetch('/cookie/x', { credentials: 'include', method: 'POST' })
  expect(sent()).toEqual([null, null, 'session_id=ms_1', null, 'session_id=ms_1', here])
})

test('a cookie for scripts reaches a client that stores it', async () => {
  noting(here, 'theme=dark; Path=/')
  await fetch('/theme')
  expect(document.cookie).toBe('theme=dark')
  noting(here, 'theme=dark; Path=/; Max-Age=0')
  await fetch('/theme')
  // happy-dom takes a cookie that has ended for one until the clock's next millisecond.
  await expect.poll(() => document.cookie).toBe('')
})

test('an answer on its way to the network has its Set-Cookie, which happy-dom takes out of a Response', async () => {
  const setCookie = 'theme=dark; Path=/on-its-way'
  const respond = async (_: Request, { Response: Answer }: FetchSource = {}) =>
    new (Answer as typeof Response)('', { headers: { 'set-cookie': setCookie } })
  const baseUrl = `${here}/on-its-way`
  const request = new Request(`${baseUrl}/x`, { headers: { 'user-agent': 'a client of Node' } })
  const answer = await msw.getResponse(handlers({ baseUrl, respond }), request)
  expect(answer?.headers.get('set-cookie')).toBe(setCookie)
})

test('a request that omits credentials carries no cookie, where MSW shows that it does', async () => {
  const sent = noting(`${here}/omit`, session('ms_3', '/omit'))
  await fetch('/omit/x')
  await fetch('/omit/x', { credentials: 'omit' })
  expect(sent()).toEqual([null, null, showsCredentials ? null : 'session_id=ms_3', null])
})

test('two services on one origin keep separate sessions', async () => {
  const [one, two] = [noting(`${here}/a`, session('ms_a', '/a')), noting(`${here}/ab`, session('ms_ab', '/ab'))]
  for (const path of ['/a/x', '/ab/x', '/a/x', '/ab/x']) await fetch(path)
  expect(one()).toEqual([null, null, 'session_id=ms_a', null])
  expect(two()).toEqual([null, null, 'session_id=ms_ab', null])
})

test('a cookie of another origin is sent only by requests that include credentials, where MSW shows them', async () => {
  const sent = noting(there, session('ms_2'))
  await fetch(`${there}/x`, { credentials: 'include' })
  await fetch(`${there}/x`, { credentials: 'include' })
  await fetch(`${there}/x`)
  expect(sent()).toEqual([null, here, showsCredentials ? 'session_id=ms_2' : null, here, null, here])
})

test('a reader signs in by cookie, stays signed in and signs out', async () => {
  const service = createService({ baseUrl: 'https://pay.example.test/money', sandbox: true })
  server.use(...handlers(service, { baseUrl: `${here}/signed-in` }))
  const headers = { 'content-type': 'application/json' }
  const call = async (method: string, path: string, body?: object) =>
    fetch(`/signed-in/v4/session${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  const email = 'reader@example.test'
  const reader = async () => (await (await call('GET', '')).json()).user?.email
  expect((await call('POST', '/code', { email })).status).toBe(202)
  const code = (await service.sandbox.outbox()).messages[0]?.codes[0]
  expect((await call('POST', '/verify', { email, code })).status).toBe(200)
  expect(await reader()).toBe(email)
  expect((await call('DELETE', '')).status).toBe(204)
  expect(await reader()).toBeUndefined()
  await service.close()
})

test('a page of another origin calls a service with a token', async () => {
  const service = createService({ baseUrl: there, sandbox: true })
  server.use(...handlers(service))
  const { accounts } = await service.sandbox.seed({ accounts: [{ name: 'The Daily Farthing' }] })
  const [account] = accounts
  const basic = `Basic ${btoa(`${account?.client_id}:${account?.client_secret}`)}`
  const answer = await fetch(`${there}/v4/account/oauth/token`, { method: 'POST', headers: { authorization: basic } })
  const authorization = `Bearer ${(await answer.json()).access_token}`
  const headers = { authorization, 'content-type': 'application/json' }
  const body = JSON.stringify({ name: 'The Weekly Farthing' })
  const changed = await fetch(`${there}/v4/account`, { method: 'PUT', headers, body })
  expect([changed.status, (await changed.json()).name]).toEqual([200, 'The Weekly Farthing'])
  await service.close()
})

test('a request by XMLHttpRequest is answered too', async () => {
  const sent = noting(there)
  const asked = new XMLHttpRequest()
  asked.open('POST', `${there}/x`)
  await new Promise((resolve) => {
    asked.onloadend = resolve
    asked.send('{}')
  })
  expect([asked.status, asked.responseText, sent()]).toEqual([200, 'noted', [null, here]])
})

test('a streamed answer ends when its caller aborts', async () => {
  const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('one')) })
  const respond = async (_: Request, { Response: Answer }: FetchSource = {}) => new (Answer as typeof Response)(body)
  server.use(...handlers({ baseUrl: here, respond }))
  const caller = new AbortController()
  const reader = (await fetch(here, { signal: caller.signal })).body?.getReader() as ReadableStreamDefaultReader
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('one')
  const waiting = reader.read()
  caller.abort()
  // happy-dom says it in its own words where MSW 3 answers.
  await expect(waiting).rejects.toMatchObject({ message: expect.stringMatching(/abort/i) })
})
