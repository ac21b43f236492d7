import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import nodeHttp, { type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { handlers } from '../../adapters/msw.js'
import { createService, type FetchSource, type Service } from '../../src/index.js'
import { caller } from '../support/api.js'
import { deferred, nextText, streamOfPieces } from '../support/pieces.js'
import { mailedCode } from '../support/scenes/sign-in.js'
import { newCommodity, newPayer, newSeller, newSession } from '../support/scenes/world.js'
import { setUp } from '../support/set-up.js'
import { unhandled } from '../support/unhandled.js'

const server = setupServer()
const open: Service[] = []

beforeAll(() => server.listen(unhandled('error')))
afterEach(async () => {
  server.resetHandlers()
  for (const service of open.splice(0)) await service.close()
})
afterAll(() => server.close())

/** A service that MSW answers with at `reached`, and how to call it there. */
function mocked(baseUrl: string, reached = baseUrl) {
  const service = createService({ baseUrl, sandbox: true })
  open.push(service)
  server.use(...handlers(service, { baseUrl: reached }))
  return { service, call: caller({ url: reached, fetch: (request) => fetch(request) }) }
}

test('a GET with a body says what to send instead, where the body is needed', async () => {
  const { service } = mocked('http://pay.example.test')
  const { accounts } = await service.sandbox.seed({ accounts: [{ name: 'Shop' }] })
  const [shop] = accounts
  const fields = JSON.stringify({ public_secret: shop?.public_secret })
  const get = async (path: string, sent: Record<string, string>, body?: string) => {
    const asked = nodeHttp.request(`http://pay.example.test${path}`, { headers: sent })
    asked.end(body)
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    const pieces = await answer.toArray()
    return { status: answer.statusCode, body: JSON.parse(pieces.join('')) }
  }
  const json = { 'content-type': 'application/json' }
  const path = `/v4/twin/${shop?.twin.hostname}`
  for (const sent of [
    { ...json, 'content-length': String(fields.length) },
    { ...json, 'transfer-encoding': 'chunked' },
  ])
    expect(await get(path, sent, fields)).toMatchObject({
      status: 400,
      body: {
        code: 'body_malformed',
        error: expect.stringContaining('MSW drops the body of a GET. Send its fields as'),
      },
    })
  expect((await get(`${path}?public_secret=${shop?.public_secret}`, json)).body.hostname).toBe(shop?.twin.hostname)
  // Operations without fields ignore a body, as everywhere.
  expect((await get('/v4/dq', { ...json, 'content-length': '2' }, '{}')).status).toBe(200)
})

/** Something that answers in a service's place. */
const answerer = (respond: (request: Request, source: FetchSource) => Response | Promise<Response>) => ({
  baseUrl: 'http://pay.example.test',
  respond: async (request: Request, source: FetchSource = {}) => respond(request, source),
})

/** A service all of whose answers are of one body. */
const streaming = (body: ReadableStream) => answerer((_, source) => new (source.Response as typeof Response)(body))

describe('handlers answer', () => {
  test('forms, with all headers of the request', async () => {
    const { call, service } = mocked('http://pay.example.test')
    const { token } = await newSeller(call)
    const body = new URLSearchParams({ email: 'ada@example.test' })
    const headers = { authorization: `Bearer ${token}` }
    const request = new Request(`${service.baseUrl}/v4/user`, { method: 'POST', headers, body })
    expect((await fetch(request)).status).toBe(201)
  })

  test('no request that MSW must refuse as unhandled', async () => {
    mocked('http://pay.example.test')
    const complained = vi.spyOn(console, 'error').mockImplementation(() => {})
    await expect(fetch('http://shop.example.test/')).rejects.toThrow()
    expect(complained).toHaveBeenCalled()
    complained.mockRestore()
  })

  test('for several services, each at its own address', async () => {
    const one = mocked('http://pay.example.test/x')
    const two = mocked('http://pay.example.test/xy')
    await newSeller(two.call)
    await newSeller(two.call)
    expect((await newSeller(one.call)).id).toBe(1)
    expect((await newSeller(two.call)).id).toBe(3)
  })

  test("Node's own HTTP client like fetch", async () => {
    mocked('http://pay.example.test')
    const sent = nodeHttp.request('http://pay.example.test/v4/account', { method: 'POST' })
    const answered = once(sent, 'response')
    sent.end()
    const [response] = (await answered) as [IncomingMessage]
    expect(response.statusCode).toBe(201)
    expect(JSON.parse((await response.setEncoding('utf8').toArray()).join('')).id).toBe(1)
  })

  test('refuse an invalid base URL when they are created', () => {
    expect(() =>
      handlers(
        answerer(() => new Response()),
        { baseUrl: '/pay' },
      ),
    ).toThrow(TypeError)
  })
})

describe('a service at a different address than its base URL', () => {
  const [own, reached] = ['https://pay.example.test/money', 'http://localhost:5173/api/pay/']

  test('works the same as at its base URL', async () => {
    const { service, call: below } = mocked(own, reached)
    const call: typeof below = (method, path, options) => below(method, path.slice(1), options)
    const seller = await newSeller(call)
    const { hash } = await newCommodity(call, seller)
    const seeded = await service.sandbox.seed({ users: [{ email: 'reader@example.test', balance: 1 }] })
    const { client_id, client_secret } = seeded.users[0] as { client_id: string; client_secret: string }
    const headers = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
    const token = (await call('POST', '/v4/user/oauth/token', { headers })).body.access_token
    expect((await call('POST', `/v4/payment/${hash}?x=1`, { token })).status).toBe(202)
    expect((await call('GET', '/v4/openapi.json')).body.servers).toEqual([{ url: own }])
  })

  test('sets its cookie for that address, and treats its pages as same-origin', async () => {
    mocked(own, reached)
    const issued = await fetch(`${reached}v4/session`)
    const { session_id } = await issued.json()
    expect(issued.headers.getSetCookie()).toEqual([`session_id=${session_id}; Path=/api/pay; HttpOnly; SameSite=Lax`])
    const cookie = `session_id=${session_id}`
    const end = (origin: string) => fetch(`${reached}v4/session`, { method: 'DELETE', headers: { cookie, origin } })
    expect((await end('http://localhost:5173')).status).toBe(204)
    expect((await end('https://shop.example.test')).status).toBe(403)
  })
})

describe('in Node, without a page', () => {
  test('the caller gets the session cookie and decides whether to send it back', async () => {
    const { call } = mocked('http://pay.example.test')
    const issued = await call('GET', '/v4/session')
    expect(issued.headers.getSetCookie()).toEqual([expect.stringMatching(/^session_id=ms_\w+; Path=\/; HttpOnly/)])
    const cookie = (issued.headers.getSetCookie()[0] ?? '').split(';')[0] as string
    const headers = { cookie, origin: 'http://pay.example.test' }
    const email = 'reader@example.test'
    await call('POST', '/v4/session/code', { headers, body: { email } })
    const signedIn = await call('POST', '/v4/session/verify', {
      headers,
      body: { email, code: await mailedCode(call, email) },
    })
    const fresh = (signedIn.headers.getSetCookie()[0] ?? '').split(';')[0] as string
    expect((await call('GET', '/v4/session', { headers: { cookie: fresh } })).body.user.email).toBe(email)
    for (const credentials of ['include', 'same-origin'] as const) {
      const answer = await fetch('http://pay.example.test/v4/session', { credentials })
      expect((await answer.json()).user).toBeNull()
    }
  })

  test('the next service at the same address does not know the sessions of an earlier test', async () => {
    const first = mocked('http://pay.example.test')
    await newSession(first.call, 'reader@example.test')
    server.resetHandlers()
    const second = mocked('http://pay.example.test')
    expect((await second.call('GET', '/v4/session')).body.user).toBeNull()
  })

  test('the handlers add no Origin', async () => {
    const { call } = mocked('http://pay.example.test')
    const { headers } = await call('GET', '/v4/dq')
    expect(headers.get('access-control-allow-origin')).toBeNull()
    expect((await call('GET', '/_sandbox/clock', { headers: { origin: 'https://shop.example.test' } })).status).toBe(
      403,
    )
  })
})

describe('an answer', () => {
  test('without a body stays without one', async () => {
    const { call } = mocked('http://pay.example.test')
    const head = await call('HEAD', '/v4/dq')
    expect([head.status, head.text, head.headers.get('content-type')]).toEqual([200, '', 'application/json'])
    const options = await call('OPTIONS', '/v4/dq')
    expect([options.status, options.text, options.headers.get('allow')]).toEqual([204, '', 'GET, HEAD, OPTIONS'])
    const { headers } = await call('GET', '/micropay.js')
    const etag = headers.get('etag') as string
    const again = await fetch('http://pay.example.test/micropay.js', { headers: { 'if-none-match': etag } })
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
  })

  test('that redirects is left to the caller', async () => {
    const location = 'http://shop.example.test/done?a=1'
    server.use(
      ...handlers(
        answerer(
          (_, { Response }) =>
            new (Response as typeof globalThis.Response)(null, { status: 303, headers: { location } }),
        ),
      ),
    )
    const answer = await fetch('http://pay.example.test/go', { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([303, location])
    server.use(http.get('http://shop.example.test/done', () => HttpResponse.text('done')))
    expect(await (await fetch('http://pay.example.test/go')).text()).toBe('done')
  })

  test('that is a stream arrives in pieces', async () => {
    const { stream, give, close } = streamOfPieces()
    server.use(...handlers(streaming(stream)))
    const reader = (await fetch('http://pay.example.test/')).body?.getReader() as ReadableStreamDefaultReader
    for (const piece of ['one', 'two', 'three']) {
      give(piece)
      expect(await nextText(reader)).toBe(piece)
    }
    close()
    expect(await nextText(reader)).toBeUndefined()
  })

  test('that is a binder as CSV arrives whole', async () => {
    const { call } = mocked('http://pay.example.test')
    const seller = await newSeller(call)
    const { token, hostname } = await newPayer(call, seller, { balance: 1 })
    const answer = await call('GET', `/v4/twin/${hostname}/binder`, { token, headers: { accept: 'text/csv' } })
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(answer.text.trimEnd().split('\n')).toHaveLength(2)
  })

  test('that fails midway throws for the caller', async () => {
    const { stream, give, fail } = streamOfPieces()
    server.use(...handlers(streaming(stream)))
    const reader = (await fetch('http://pay.example.test/')).body?.getReader() as ReadableStreamDefaultReader
    give('half')
    expect(await nextText(reader)).toBe('half')
    fail(new Error('the disk is gone'))
    // On the way to the network, MSW 3 ends the connection.
    await expect(reader.read()).rejects.toThrow(/the disk is gone|terminated/)
  })

  test('stops when its caller aborts', async () => {
    const { stream, give, cancelled } = streamOfPieces()
    server.use(...handlers(streaming(stream)))
    const caller = new AbortController()
    const answer = await fetch('http://pay.example.test/', { signal: caller.signal })
    const reader = answer.body?.getReader() as ReadableStreamDefaultReader
    give('one')
    expect(await nextText(reader)).toBe('one')
    caller.abort()
    await expect(reader.read()).rejects.toMatchObject({ name: 'AbortError' })
    await expect(cancelled).resolves.toMatchObject({ name: 'AbortError' })
  })

  test('that has not begun stops when its caller aborts', async () => {
    const asked = deferred<void>()
    const waiting = deferred<Response>()
    server.use(
      ...handlers(
        answerer(() => {
          asked.resolve()
          return waiting.promise
        }),
      ),
    )
    const caller = new AbortController()
    const answer = fetch('http://pay.example.test/', { signal: caller.signal })
    await asked.promise
    caller.abort()
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' })
    waiting.resolve(new Response())
  })
})

test('the body of a request reaches the service in pieces', async () => {
  const { stream, give, close } = streamOfPieces()
  const heard: string[] = []
  const one = deferred<void>()
  server.use(
    ...handlers(
      answerer(async (request) => {
        const reader = request.body?.getReader() as ReadableStreamDefaultReader
        for (let piece = await nextText(reader); piece !== undefined; piece = await nextText(reader)) {
          heard.push(piece)
          one.resolve()
        }
        return new Response('heard')
      }),
    ),
  )
  const init: RequestInit & { duplex: 'half' } = { method: 'POST', body: stream, duplex: 'half' }
  const answer = fetch('http://pay.example.test/', init)
  give('one')
  await one.promise
  expect(heard).toEqual(['one'])
  give('two')
  close()
  expect(await (await answer).text()).toBe('heard')
  expect(heard.join('')).toBe('onetwo')
})

test('does not keep the process alive', async () => {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  await setUp()
  await mkdir(join(root, '.farthing'), { recursive: true })
  const folder = await mkdtemp(join(root, '.farthing', 'msw-'))
  await writeFile(
    join(folder, 'run.mjs'),
    `import { createService } from 'farthing'
     import { handlers } from 'farthing/msw'
     import { setupServer } from 'msw/node'
     const server = setupServer()
     server.listen()
     for (let number = 1; number <= 20; number++) {
       const baseUrl = 'http://pay-' + number + '.localhost'
       server.use(...handlers(createService({ baseUrl, sandbox: true })))
       console.log((await fetch(baseUrl + '/v4/account', { method: 'POST' })).status)
     }`,
  )
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'run.mjs')], { timeout: 20_000 })
  expect(stdout).toBe('201\n'.repeat(20))
  await rm(folder, { recursive: true })
})
