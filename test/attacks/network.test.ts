import { describe, expect, it } from 'vitest'
import { serve } from '../../adapters/node.js'
import { demo } from '../../sandbox/seed/demo.js'
import { createService } from '../../src/index.js'
import { readWire, sendLines } from '../support/contract/wire.js'
import { attackedSandbox } from '../support/scenes/strangers.js'
import { tokenFor } from '../support/scenes/world.js'

const TOKEN = 'a-token-of-twenty-four-1'
const EVIL = 'https://evil.example.test'

const { target, refused } = attackedSandbox({
  controlToken: TOKEN,
  allowOrigins: ['http://shop.test:8080'],
})
/** Its controls ask everybody for the token (local-callers.test.ts). */
const { target: named } = attackedSandbox({ controlToken: TOKEN, allowHosts: ['sandbox'] })

const foreign = [
  EVIL,
  'http://evil.example.test:5173',
  'null',
  'http://localhost.evil.example.test',
  'http://evil-localhost',
  'http://127.0.0.1.evil.example.test:4242',
  'http://127.0.0.1@evil.example.test',
  'http://10.0.0.7:3000',
  'http://0.0.0.0:4242',
  'http://[::ffff:7f00:1]',
  'http://shop.test',
  'https://shop.test:8080',
  'chrome-extension://abcdefghijklmnop',
  'file://',
  'http://localhost:5173, https://evil.example.test',
]
const ofThisMachine = [
  'http://localhost:5173',
  'http://localhost:3000',
  'https://localhost:8443',
  'http://127.0.0.1:3000',
  'http://127.8.8.8',
  'http://[::1]:4000',
  'http://app.localhost:3000',
]

describe('a website', () => {
  it.each(foreign)('cannot create an account from %s', async (origin) => {
    const { status, body } = await refused('POST /v4/account HTTP/1.1', [`Origin: ${origin}`])
    expect([status, body.code]).toEqual([403, 'origin_refused'])
    expect(body.error).toContain('start the sandbox with --allow-origin')
  })

  it.each(foreign)('cannot read answers from %s', async (origin) => {
    for (const path of ['/v4/dq', '/_sandbox/health', '/phone'])
      expect((await refused(`GET ${path} HTTP/1.1`, [`Origin: ${origin}`])).status).toBe(200)
    const ask = ['Access-Control-Request-Method: POST', 'Access-Control-Request-Headers: authorization']
    const { status, body } = await refused('OPTIONS /v4/account HTTP/1.1', [`Origin: ${origin}`, ...ask])
    expect([status, body.code]).toEqual([403, 'origin_refused'])
  })

  it.each(foreign)('cannot use the controls from %s', async (origin) => {
    for (const first of ['POST /_sandbox/reset', 'GET /_sandbox/outbox'])
      expect((await refused(`${first} HTTP/1.1`, [`Origin: ${origin}`])).body.code).toBe('sandbox_refused')
  })

  it('cannot send a form of any content type, nor use an unusual method', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ''])
      for (const path of ['/v4/account/register', '/v4/session/code', '/v4/oidc/reg', '/v4/oidc/token', '/mcp'])
        for (const origin of [EVIL, 'null']) {
          const headers = [`Origin: ${origin}`, ...(type ? [`Content-Type: ${type}`] : [])]
          const { status, body } = await refused(`POST ${path} HTTP/1.1`, headers, '{"email":"eve@example.test"}')
          expect([path, status, body.code]).toEqual([path, 403, 'origin_refused'])
        }
    expect((await refused('DELETE /v4/session HTTP/1.1', [`Origin: ${EVIL}`])).status).toBe(403)
  })

  it('cannot hide its Origin, because Sec-Fetch-Site still says cross-site or same-site', async () => {
    for (const site of ['cross-site', 'same-site', 'something-new']) {
      const { body } = await refused('POST /v4/account HTTP/1.1', [`Sec-Fetch-Site: ${site}`])
      expect(body.code).toBe('origin_refused')
      expect((await refused('POST /_sandbox/reset HTTP/1.1', [`Sec-Fetch-Site: ${site}`])).status).toBe(403)
      // An image or a script of the controls' answers; to open one by its address is no harm.
      const image = [`Sec-Fetch-Site: ${site}`, 'Sec-Fetch-Dest: image', 'Sec-Fetch-Mode: no-cors']
      expect((await refused('GET /_sandbox/outbox HTTP/1.1', image)).body.code).toBe('sandbox_refused')
      const opened = [`Sec-Fetch-Site: ${site}`, 'Sec-Fetch-Dest: document', 'Sec-Fetch-Mode: navigate']
      expect((await refused('GET /_sandbox/ledger HTTP/1.1', opened)).status).toBe(200)
    }
  })

  it('cannot use credentials that the browser adds: cookies and Basic credentials do not count', async () => {
    const { client_id, client_secret } = demo.account
    const basic = `Authorization: Basic ${btoa(`${client_id}:${client_secret}`)}`
    for (const path of ['/v4/account', '/v4/account/oauth/token', '/v4/user/oauth/token'])
      expect((await refused(`POST ${path} HTTP/1.1`, [`Origin: ${EVIL}`, basic])).body.code).toBe('origin_refused')
    const cookie = 'Cookie: session_id=ms_00000000000000000000000000000000'
    expect((await refused('POST /v4/account HTTP/1.1', [`Origin: ${EVIL}`, cookie])).body.code).toBe('origin_refused')
    expect((await refused('POST /v4/session/code HTTP/1.1', [`Origin: ${EVIL}`, cookie])).body.code).toBe('cross_site')
  })

  it("cannot spend a nonce at the shop's own server", async () => {
    const proof = '{"nonce":"0","timestamp":1}'
    for (const path of ['/shop/unlock', '/shop/unlock/', '//shop/../shop/unlock', '/x\\..\\shop\\unlock']) {
      const headers = [`Origin: ${EVIL}`, 'Content-Type: application/json']
      const { status, body } = await refused(`POST ${path} HTTP/1.1`, headers, proof)
      expect([path, [403, 404].includes(status), body.code]).toEqual([path, true, expect.any(String)])
    }
  })

  it('with its own token gets an answer that it cannot read', async () => {
    const { client_id, client_secret } = demo.account
    const token = await tokenFor(target().call, client_id, client_secret)
    const sent = [`Origin: ${EVIL}`, `Authorization: Bearer ${token}`, 'Content-Type: application/json']
    const { status, headers } = await target().send('PUT /v4/account HTTP/1.1', sent, '{"name":"N"}')
    expect([status, headers['access-control-allow-origin']]).toEqual([200, undefined])
  })

  it('can show the payment frame, which calls from its own origin', async () => {
    const path = `/v4/embed/${demo.commodities.song}`
    const headers = ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Dest: iframe', 'Referer: https://evil.example.test/']
    const frame = await target().send(`GET ${path} HTTP/1.1`, headers)
    expect([frame.status, frame.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    const own = [`Origin: ${target().url}`, 'Content-Type: application/json']
    const { status } = await target().send(
      'POST /v4/session/code HTTP/1.1',
      own,
      '{"email":"ada+code123456@example.test"}',
    )
    expect(status).toBe(202)
  })
})

describe('a page of this machine or of an allowed origin', () => {
  it.each([...ofThisMachine, 'http://shop.test:8080'])('calls and reads from %s', async (origin) => {
    const made = await target().send('POST /v4/account HTTP/1.1', [`Origin: ${origin}`, 'Content-Length: 0'])
    expect([made.status, made.headers['access-control-allow-origin']]).toEqual([201, origin])
    const asked = ['Access-Control-Request-Method: POST', 'Access-Control-Request-Headers: x-session-id']
    const preflight = await target().send('OPTIONS /v4/session/code HTTP/1.1', [`Origin: ${origin}`, ...asked])
    expect([preflight.status, preflight.headers['access-control-allow-headers']]).toEqual([204, 'x-session-id'])
    expect((await target().send('GET /_sandbox/outbox HTTP/1.1', [`Origin: ${origin}`])).status).toBe(200)
  })
})

describe('a service without a sandbox', () => {
  it('answers pages of every origin, at every host', async () => {
    const service = createService()
    const served = await serve(service, { port: 0 })
    const lines = ['POST /v4/account HTTP/1.1', 'Host: pay.example.test', `Origin: ${EVIL}`, 'Connection: close']
    const { status, headers } = readWire(await sendLines(served.url, [...lines, 'Content-Length: 0']))
    expect([status, headers['access-control-allow-origin']]).toEqual([201, EVIL])
    await served.close()
    await service.close()
  })
})

describe('a foreign host name', () => {
  const strange = [
    'evil.example.test',
    'localhost.evil.example.test',
    '127.0.0.1.evil.example.test',
    'evil-localhost',
    '0.0.0.0',
    '10.0.0.1',
    '169.254.169.254',
    '2130706433',
    '0x7f.1',
    '[::ffff:7f00:1]',
    '[::]',
    'sandbox.evil.example.test',
    `${'a'.repeat(63)}.${'b'.repeat(63)}.example.test`,
  ]

  it.each(strange)('is refused: %s', async (host) => {
    const { port } = target()
    for (const name of [host, `${host}:${port}`])
      for (const path of ['/', '/v4/dq', '/_sandbox/outbox']) {
        const byHost = await refused(`GET ${path} HTTP/1.1`, [`Host: ${name}`])
        expect([path, byHost.status, byHost.body.code]).toEqual([path, 421, 'host_refused'])
        expect(byHost.body.error).toContain('start the sandbox with --allow-host')
        const byTarget = await refused(`GET http://${name}${path} HTTP/1.1`)
        const isLocal = new URL(`http://${name}/`).hostname === '127.0.0.1'
        expect([path, byTarget.status]).toEqual([path, isLocal ? expect.any(Number) : 421])
      }
    const own = [`Host: ${host}:${port}`, `Origin: http://${host}:${port}`]
    expect((await refused('POST /v4/account HTTP/1.1', own)).status).toBe(421)
  })

  it('gets only the health of the sandbox', async () => {
    const { status, body } = await refused('GET /_sandbox/health HTTP/1.1', ['Host: sandbox.example.test'])
    expect([status, Object.keys(body).sort()]).toEqual([200, ['clock', 'evidence', 'name', 'ok', 'storage', 'version']])
    expect(JSON.stringify(body)).not.toContain(TOKEN)
  })

  it.each(['localhost', 'LOCALHOST', 'localhost.', 'app.localhost', '127.0.0.1', '[::1]', 'sandbox', 'Sandbox.'])(
    'is answered if it names this machine or is allowed: %s',
    async (host) => {
      for (const name of [host, `${host}:99`])
        expect((await named().send('GET /v4/dq HTTP/1.1', [`Host: ${name}`])).status).toBe(200)
    },
  )
})

describe('a proxy, a tunnel or a neighbouring container', () => {
  const passedOn = [
    'Forwarded: for=203.0.113.9',
    'X-Forwarded-For: 127.0.0.1',
    'X-Forwarded-Host: localhost',
    'x-forwarded-proto: https',
    'X-Forwarded-Anything: ',
    'X-Real-IP: 127.0.0.1',
    'Via: 1.1 proxy',
    'Via: 1.1 farthing',
  ]

  it.each(passedOn)('cannot use the controls: %s', async (header) => {
    for (const first of ['GET /_sandbox/outbox', 'POST /_sandbox/reset']) {
      const { status, body } = await refused(`${first} HTTP/1.1`, [header])
      expect([status, body.code]).toEqual([403, 'sandbox_refused'])
      expect(body.error).toContain('control token')
    }
    expect((await target().send('GET /_sandbox/health HTTP/1.1', [header])).status).toBe(200)
    expect((await target().send('GET /v4/dq HTTP/1.1', [header])).status).toBe(200)
  })

  it('can use the controls only with the exact control token', async () => {
    const ask = async (...headers: string[]) =>
      (await target().send('GET /_sandbox/outbox HTTP/1.1', ['X-Forwarded-For: 10.0.0.7', ...headers])).status
    expect(await ask(`X-Control-Token: ${TOKEN}`)).toBe(200)
    expect(await ask(`Authorization: Bearer ${TOKEN}`)).toBe(200)
    for (const wrong of ['', ' ', TOKEN.slice(1), TOKEN.slice(0, -1), `${TOKEN}1`, TOKEN.toUpperCase(), 'undefined'])
      expect([wrong, await ask(`X-Control-Token: ${wrong}`)]).toEqual([wrong, 403])
    expect(await ask(`X-Control-Token: ${TOKEN}`, `X-Control-Token: ${TOKEN}`)).toBe(403)
    expect(await ask(`Authorization: Basic ${btoa(`x:${TOKEN}`)}`)).toBe(403)
    expect(
      (await target().send(`GET /_sandbox/outbox?control_token=${TOKEN} HTTP/1.1`, [passedOn[0] as string])).status,
    ).toBe(403)
  })

  it('cannot use the controls from an unknown peer or without a token', async () => {
    const service = createService({ sandbox: true })
    const ask = async (peerAddress: string, headers: Record<string, string> = {}) => {
      const request = new Request(`${service.baseUrl}/_sandbox/outbox`, { headers })
      return (await service.respond(request, { peerAddress })).status
    }
    expect([await ask('127.0.0.1'), await ask(''), await ask('10.0.0.7')]).toEqual([200, 403, 403])
    for (const token of ['', 'undefined', 'null']) expect(await ask('10.0.0.7', { 'x-control-token': token })).toBe(403)
    await service.close()
  })

  it('finds no token in the state or in links of a page', async () => {
    expect(JSON.stringify(await target().state())).not.toContain(TOKEN)
    for (const path of ['/', '/phone', '/v4/openapi.json', '/_sandbox/snapshot'])
      expect((await target().send(`GET ${path} HTTP/1.1`)).text).not.toContain(TOKEN)
  })
})

describe('the cookie of the control token', () => {
  const cookie = `Cookie: a=b; control_token=${TOKEN}`
  const beside = 'X-Forwarded-For: 10.0.0.7'

  it('is set by a page with the token in its address, which then redirects to the address without it', async () => {
    const { status, headers } = await target().send(`GET /phone?a=b&control_token=${TOKEN}&c=%0d%0a HTTP/1.1`, [beside])
    expect([status, headers.location]).toEqual([303, '/phone?a=b&c=%0D%0A'])
    expect(headers['set-cookie']).toBe(`control_token=${TOKEN}; Path=/; HttpOnly; SameSite=Strict`)
    expect([headers['referrer-policy'], headers['cache-control']]).toEqual(['no-referrer', 'no-store'])
    for (const path of [`//?control_token=${TOKEN}`, `/?control_token=${TOKEN}`])
      expect((await target().send(`GET ${path} HTTP/1.1`)).headers.location).toBe('/')
    for (const wrong of ['', 'x', `${TOKEN}x`])
      expect((await refused(`GET /?control_token=${wrong} HTTP/1.1`)).body.code).toBe('sandbox_refused')
    expect((await refused(`GET /?control_token=${TOKEN} HTTP/1.1`, ['Host: evil.example.test'])).status).toBe(421)
  })

  it('lets the pages of the sandbox use the controls', async () => {
    const own = [cookie, beside, `Origin: ${target().url}`]
    expect(
      (await target().send('GET /_sandbox/outbox HTTP/1.1', [cookie, beside, 'Sec-Fetch-Site: same-origin'])).status,
    ).toBe(200)
    expect(
      (
        await target().send(
          'POST /_sandbox/clock HTTP/1.1',
          [...own, 'Content-Type: application/json'],
          '{"advance":0}',
        )
      ).status,
    ).toBe(200)
  })

  it('does not authorize requests of other pages or of unknown origin', async () => {
    const ask = async (first: string, ...headers: string[]) =>
      (await refused(`${first} HTTP/1.1`, [cookie, beside, ...headers])).status
    for (const origin of [EVIL, 'null', 'http://localhost:5173', 'http://evil.localhost', 'http://shop.test:8080'])
      for (const first of ['POST /_sandbox/reset', 'GET /_sandbox/outbox'])
        expect(await askCors(first, origin)).toBe(403)
    for (const site of ['cross-site', 'same-site'])
      expect(await ask('GET /_sandbox/outbox', `Sec-Fetch-Site: ${site}`, 'Sec-Fetch-Dest: document')).toBe(403)
    expect(await ask('POST /_sandbox/reset')).toBe(403)
    expect(await ask('POST /_sandbox/reset', 'Sec-Fetch-Site: same-origin')).toBe(403)
    async function askCors(first: string, origin: string) {
      return (await target().send(`${first} HTTP/1.1`, [cookie, beside, `Origin: ${origin}`])).status
    }
  })
})
