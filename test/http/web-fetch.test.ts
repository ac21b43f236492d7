import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServerAdapter } from '@whatwg-node/server'
import { expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { createService, type ServiceOptions } from '../../src/index.js'

function start(options: ServiceOptions = {}) {
  const service = createService({ sandbox: true, ...options })
  onTestFinished(() => service.close())
  return service
}

const json = { 'content-type': 'application/json' }
const register = { method: 'POST', headers: json, body: JSON.stringify({ email: 'ada@example.test' }) }

test('service.fetch stands in for the global fetch', async () => {
  const service = start()
  expectTypeOf(service.fetch).toExtend<typeof fetch>()
  const stored: typeof fetch = service.fetch
  expect((await stored('/v4/dq')).status).toBe(200)
})

test('service.fetch takes a string, a URL or a Request, and resolves relative URLs', async () => {
  const service = start({ baseUrl: 'https://pay.example.test/money/' })
  const inputs = [
    'v4/dq',
    '/v4/dq',
    '/money/v4/dq',
    './v4/dq?x=1#y',
    'https://pay.example.test/money/v4/dq',
    new URL('https://pay.example.test/money/v4/dq'),
    new Request('https://pay.example.test/money/v4/dq'),
  ]
  for (const input of inputs) expect([String(input), (await service.fetch(input)).status]).toEqual([String(input), 200])
  await expect(service.fetch('http://')).rejects.toThrow(TypeError)
})

test('an init overrides the method, headers and body of a Request', async () => {
  const service = start()
  const { accounts } = await service.sandbox.seed({ accounts: [{ name: 'Shop' }] })
  const basic = btoa(`${accounts[0]?.client_id}:${accounts[0]?.client_secret}`)
  const post = { method: 'POST', headers: { authorization: `Basic ${basic}` } }
  const { access_token } = await (await service.fetch('v4/account/oauth/token', post)).json()
  const headers = { ...json, authorization: `Bearer ${access_token}` }
  const request = new Request(`${service.baseUrl}/v4/account`, { method: 'PUT', headers, body: '{"name":"A"}' })
  expect((await (await service.fetch(request.clone(), { body: '{"name":"B"}' })).json()).name).toBe('B')
  expect((await service.fetch(request, { headers: json })).status).toBe(401)
})

test('an init may stream a body, with duplex as in the global fetch', async () => {
  const service = start()
  const { users } = await service.sandbox.seed({ users: [{ email: 'bea@example.test' }] })
  expect(users).toHaveLength(1)
  const body = () =>
    new ReadableStream({
      start(controller) {
        for (const piece of ['{"email":', '"bea@example.test"}']) controller.enqueue(new TextEncoder().encode(piece))
        controller.close()
      },
    })
  const streamed = { method: 'POST', headers: json, body: body(), duplex: 'half' } as RequestInit
  expect((await service.fetch('v4/session/code', streamed)).status).toBe(202)
  await expect(service.fetch('v4/session/code', { ...register, body: body() })).rejects.toThrow(/duplex/)
})

test('a signal ends a call that waits and a body that streams, with its own reason', async () => {
  const service = start()
  const reason = new Error('enough')
  await expect(service.fetch('v4/dq', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  const { session_id } = await service.sandbox.signIn('ada@example.test')
  const stopped = new AbortController()
  const headers = { 'x-session-id': session_id, accept: 'text/event-stream' }
  const stream = await service.fetch('v4/events', { headers, signal: stopped.signal })
  const reading = stream.text()
  stopped.abort(reason)
  await expect(reading).rejects.toBe(reason)
  const late = new AbortController()
  const unanswered = service.fetch(new Request(`${service.baseUrl}/v4/dq`, { signal: late.signal }))
  late.abort(reason)
  await expect(unanswered).rejects.toBe(reason)
})

test('a GET with a body is refused like in the global fetch, and says what to send', async () => {
  const service = start()
  for (const init of [{ body: '{}' }, { method: 'get', body: '{}' }, { method: 'HEAD', body: '{}' }])
    await expect(service.fetch('v4/dq', init)).rejects.toThrow(
      'A GET request cannot have a body in fetch. Send its fields as query parameters',
    )
})

test('what a framework passes beside its Request changes nothing', async () => {
  const service = start()
  const request = () => new Request(`${service.baseUrl}/v4/dq`)
  const environments = [{}, { incoming: {}, outgoing: {} }, { remoteAddr: { hostname: '127.0.0.1' } }] as RequestInit[]
  for (const environment of environments) expect((await service.fetch(request(), environment)).status).toBe(200)
  const server = createServer(
    createServerAdapter((request: Request, context: object) => service.fetch(request, context)),
  )
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const answer = await fetch(`http://127.0.0.1:${port}/v4/session/code`, register)
  expect(answer.status).toBe(202)
})

test('a Request of a foreign class can be changed too', async () => {
  const service = start()
  const real = new Request(`${service.baseUrl}/v4/session/code`, register)
  const { url, method, headers, body, signal } = real
  const foreign = { url, method, headers, body, signal } as Request
  expect((await service.fetch(foreign, { body: register.body })).status).toBe(202)
  expect((await service.fetch(foreign, { signal: new AbortController().signal })).status).toBe(202)
})

test('fetch does not drop what a runtime knows about a caller', async () => {
  const service = start()
  const request = new Request(`${service.baseUrl}/_sandbox/clock`)
  // Were it read as an init, a stranger would pass for a call in process.
  const source = { peerAddress: '203.0.113.7' }
  await expect(service.fetch(request, source as RequestInit)).rejects.toThrow('respond(request, source)')
  expect((await service.respond(request, source)).status).toBe(403)
})
