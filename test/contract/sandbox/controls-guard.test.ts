import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { serve } from '../../../adapters/node.js'
import { routeList } from '../../../scripts/route-table.js'
import { createService } from '../../../src/index.js'
import { caller } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { expectProblem } from '../../support/scenes/market.js'

const controls = routeList.filter(({ scope }) => scope === 'sandbox')

const bodies: Record<string, object> = {
  '/_sandbox/seed': { users: [{ email: 'eve@example.test' }] },
  '/_sandbox/fund': { hostname: 'nobody.twin.localhost', amount: 1 },
  '/_sandbox/clock': { advance: '1h' },
}

contract('The sandbox controls', (start) => {
  for (const { method, path } of controls.filter(({ isOpen }) => !isOpen))
    test(`refuse ${method} ${path} to a page of another origin, and change nothing`, async () => {
      const { call, url, state } = await start()
      const before = await state()
      const body = method === 'POST' ? (bodies[path] ?? {}) : undefined
      for (const origin of [
        'https://evil.example.test',
        'null',
        'http://127.0.0.1.example.test:1',
        `${new URL(url).origin}.example.test`,
      ])
        expectProblem(await call(method, path, { headers: { origin }, ...(body && { body }) }), 403, 'sandbox_refused')
      expect(await state()).toEqual(before)
    })

  test('answer pages of the service itself, and of this machine', { tags: 'everywhere' }, async () => {
    const { call, url } = await start()
    for (const origin of [new URL(url).origin, 'http://127.0.0.1:1', 'http://localhost:5173']) {
      expect((await call('GET', '/_sandbox/clock', { headers: { origin } })).status).toBe(200)
      expect((await call('POST', '/_sandbox/reset', { headers: { origin } })).status).toBe(204)
    }
  })

  test('tell everyone that the service is well', async () => {
    const { call } = await start()
    for (const origin of ['https://evil.example.test', 'null'])
      expect((await call('GET', '/_sandbox/health', { headers: { origin } })).body.ok).toBe(true)
  })
})

describe('The sandbox controls in process', () => {
  const service = createService({ sandbox: true, baseUrl: 'http://127.0.0.1:4242' })
  const ask = async (url: string, peerAddress?: string) =>
    (await service.respond(new Request(url), peerAddress === undefined ? {} : { peerAddress })).status
  const clock = 'http://127.0.0.1:4242/_sandbox/clock'

  test('answer peers of this machine alone', async () => {
    for (const peer of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1']) expect(await ask(clock, peer)).toBe(200)
    for (const peer of [
      '10.0.0.7',
      '203.0.113.9',
      '::ffff:10.0.0.7',
      'fe80::1',
      '1270.0.0.1',
      '127.0.0.1.example.test',
      '',
    ])
      expect(await ask(clock, peer)).toBe(403)
  })

  test('each refuse a stranger: another machine, a wrong token, a request passed on, a rebound name', async () => {
    const guarded = createService({ sandbox: true, controlToken: 'the-control-token' })
    const before = await guarded.sandbox.snapshot()
    const strangers: { host?: string; peer?: string; headers?: Record<string, string>; status: number }[] = [
      { peer: '203.0.113.9', status: 403 },
      { peer: '203.0.113.9', headers: { 'x-control-token': 'guessed' }, status: 403 },
      { peer: '203.0.113.9', headers: { authorization: 'Bearer guessed' }, status: 403 },
      { headers: { cookie: 'control_token=the-control-token', 'sec-fetch-site': 'cross-site' }, status: 403 },
      { headers: { 'x-forwarded-for': '127.0.0.1' }, status: 403 },
      { host: 'rebound.example.test:4242', status: 421 },
    ]
    for (const { method, path, isOpen } of controls)
      for (const { host = '127.0.0.1:4242', peer = '127.0.0.1', headers = {}, status } of isOpen ? [] : strangers) {
        const url = `http://${host}${path.replace(/:\w+/g, 'some')}`
        const request = new Request(url, { method, headers, ...(method === 'POST' && { body: '{}' }) })
        const answer = await guarded.respond(request, { peerAddress: peer, headers: new Headers(headers) })
        expect(answer.status, `${method} ${url} from ${peer}`).toBe(status)
      }
    expect(await guarded.sandbox.snapshot()).toEqual(before)
    await guarded.close()
  })

  test('answer under names of this machine, and under that of the base address', async () => {
    for (const host of ['localhost', '127.0.0.1:99', '[::1]', 'pay.localhost'])
      expect(await ask(`http://${host}/_sandbox/clock`)).toBe(200)
    for (const host of ['rebound.example.test', 'localhost.example.test', '127.0.0.1.example.test', '10.0.0.7'])
      expect(await ask(`http://${host}/_sandbox/clock`)).toBe(403)
    const named = createService({ sandbox: true, baseUrl: 'https://pay.example.test' })
    expect((await named.fetch(new Request('https://pay.example.test/_sandbox/clock'))).status).toBe(200)
    expect(
      (await named.respond(new Request('https://pay.example.test/_sandbox/clock'), { peerAddress: '10.0.0.7' })).status,
    ).toBe(403)
  })

  test('are not there where the sandbox is off, whatever is asked', async () => {
    const off = createService()
    const call = caller({ url: 'http://127.0.0.1:4242', fetch: off.fetch })
    for (const { method, path } of controls) {
      expectProblem(
        await call(method, path, method === 'POST' ? { body: bodies[path] ?? {} } : {}),
        404,
        'no_such_path',
      )
      for (const other of ['PATCH', 'OPTIONS']) expect((await call(other, path)).status).toBe(404)
    }
    expect(() => off.sandbox).toThrow('{ sandbox: true }')
  })
})

test('The sandbox controls of a server refuse a request whose Host is a name of someone else', async () => {
  const served = await serve((baseUrl) => createService({ baseUrl, sandbox: true }), { port: 0 })
  const ask = (host: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = httpRequest(`${served.url}/_sandbox/clock`, { headers: { host } }, (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      })
      sent.on('error', reject).end()
    })
  const { port } = new URL(served.url)
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`, `rebound.example.test:${port}`, 'rebound.example.test']
  expect(await Promise.all(hosts.map(ask))).toEqual([200, 200, 421, 421])
  await served.close()
})
