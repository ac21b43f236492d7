import { afterEach, expect, test } from 'vitest'
import { type Handler, type Served, serve } from '../../adapters/node.js'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { sendNode } from '../support/contract/wire.js'
import { deferred } from '../support/pieces.js'
import { expectProblem } from '../support/scenes/market.js'
import { newSeller } from '../support/scenes/world.js'

let served: Served | undefined
afterEach(() => served?.close())

async function seen(look: (request: Request) => unknown, path = '/a%20b?c=d', init?: RequestInit) {
  const handler: Handler = { fetch: async (request) => Response.json((await look(request)) ?? null) }
  served = await serve(handler, { port: 0 })
  return (await fetch(served.url + path, init)).json()
}

test('a handler gets the same request as from fetch', async () => {
  const init = { method: 'POST', headers: { 'X-One': '1', 'content-type': 'application/json' }, body: '{"paid":true}' }
  const look = async (request: Request) => ({
    method: request.method,
    path: request.url.slice(request.url.indexOf('/', 8)),
    one: request.headers.get('x-one'),
    names: [...request.headers.keys()].includes('content-type'),
    aborted: request.signal.aborted,
    tag: String(request),
    copy: await request.clone().text(),
    body: await request.json(),
    used: request.bodyUsed,
  })
  expect(await seen(look, '/a%20b?c=d', init)).toEqual({
    method: 'POST',
    path: '/a%20b?c=d',
    one: '1',
    names: true,
    aborted: false,
    tag: '[object Request]',
    copy: '{"paid":true}',
    body: { paid: true },
    used: true,
  })
})

test('a GET request has no body, and a request without a Host gets an answer', async () => {
  expect(await seen(({ body, method }) => ({ body, method }))).toEqual({ body: null, method: 'GET' })
  const { status } = await sendNode(`${served?.url}/x`, { headers: { host: '' } })
  expect(status).toBe(200)
})

test('the signal of the request aborts when the caller disconnects', async () => {
  const gone = deferred<void>()
  const handler: Handler = {
    fetch: ({ signal }) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          gone.resolve(undefined)
          resolve(new Response())
        }),
      ),
  }
  served = await serve(handler, { port: 0 })
  const controller = new AbortController()
  const asked = fetch(served.url, { signal: controller.signal }).catch(() => {})
  setTimeout(() => controller.abort(), 50)
  await asked
  await gone.promise
})

test('a strict mode refuses a documented body of a GET request that is sent as a query, where a body works', async () => {
  const service = createService({ sandbox: true, evidence: 'documented' })
  served = await serve(service, { port: 0 })
  const call = caller({ url: served.url, fetch, evidence: 'documented' })
  const seller = await newSeller(call)
  for (const [path, name] of [
    ['/v4/user/1', 'email'],
    ['/v4/twin/shop.twin.localhost', 'public_secret'],
    ['/v4/persona/41/verify', 'twin_id'],
  ] as const) {
    const refused = await call('GET', `${path}?${name}=1`, { token: seller.token })
    expectProblem(refused, 501, 'evidence_refused')
    expect(refused.body.error).toContain(`"${name}"`)
  }
  await service.close()
})
