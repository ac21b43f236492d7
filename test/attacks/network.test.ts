import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { nodeUpstream, serve } from '../../adapters/node.js'
import { demo } from '../../sandbox/seed/demo.js'
import { createService } from '../../src/index.js'
import { readWire, sendLines } from '../support/contract/wire.js'
import { startTarget, type Target } from '../support/scenes/strangers.js'
import { tokenFor } from '../support/scenes/world.js'

const TOKEN = 'a-token-of-twenty-four-1'
const EVIL = 'https://evil.example.test'

let target: Target
beforeAll(async () => {
  target = await startTarget({ controlToken: TOKEN, allowOrigins: ['http://shop.test:8080'], allowHosts: ['sandbox'] })
  await withSeller(target)
})
afterAll(() => target.close())

let before: unknown
beforeEach(() => {
  before = undefined
})
afterEach(async () => {
  if (before) expect(await target.state()).toEqual(before)
})

/** Whom the upstream calls pay. */
const withSeller = ({ service }: Target) =>
  service.sandbox.seed({ accounts: [{ name: 'A seller', hostname: 'seller.test' }] })

/** Sends what must be refused: after the test, everything is as it was before the first. */
async function refused(first: string, headers: readonly string[] = [], body = '') {
  before ??= await target.state()
  const answer = await target.send(first, headers, body)
  expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  expect(answer.headers['set-cookie']).toBeUndefined()
  return answer
}

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
  it.each(foreign)('cannot make an account from %s', async (origin) => {
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

  it('cannot send a form, whatever it calls its body, nor empty a field by a method of its own', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ''])
      for (const path of ['/v4/account/register', '/v4/session/code', '/v4/oidc/reg', '/v4/oidc/token', '/mcp'])
        for (const origin of [EVIL, 'null']) {
          const headers = [`Origin: ${origin}`, ...(type ? [`Content-Type: ${type}`] : [])]
          const { status, body } = await refused(`POST ${path} HTTP/1.1`, headers, '{"email":"eve@example.test"}')
          expect([path, status, body.code]).toEqual([path, 403, 'origin_refused'])
        }
    expect((await refused('DELETE /v4/session HTTP/1.1', [`Origin: ${EVIL}`])).status).toBe(403)
  })

  it('cannot leave its Origin out: what says cross-site or same-site is from another page', async () => {
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

  it('cannot have the browser add credentials: a cookie is none, nor are Basic credentials', async () => {
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

  it('with a token of its own is answered, and may not read it', async () => {
    const { client_id, client_secret } = demo.account
    const token = await tokenFor(target.call, client_id, client_secret)
    const sent = [`Origin: ${EVIL}`, `Authorization: Bearer ${token}`, 'Content-Type: application/json']
    const { status, headers } = await target.send('PUT /v4/account HTTP/1.1', sent, '{"name":"N"}')
    expect([status, headers['access-control-allow-origin']]).toEqual([200, undefined])
  })

  it('may show the payment frame, which calls from its own origin', async () => {
    const path = `/v4/embed/${demo.commodities.song}`
    const headers = ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Dest: iframe', 'Referer: https://evil.example.test/']
    const frame = await target.send(`GET ${path} HTTP/1.1`, headers)
    expect([frame.status, frame.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    const own = [`Origin: ${target.url}`, 'Content-Type: application/json']
    const { status } = await target.send(
      'POST /v4/session/code HTTP/1.1',
      own,
      '{"email":"ada+code123456@example.test"}',
    )
    expect(status).toBe(202)
  })
})

describe('a page of this machine, or one that is allowed', () => {
  it.each([...ofThisMachine, 'http://shop.test:8080'])('calls and reads from %s', async (origin) => {
    const made = await target.send('POST /v4/account HTTP/1.1', [`Origin: ${origin}`, 'Content-Length: 0'])
    expect([made.status, made.headers['access-control-allow-origin']]).toEqual([201, origin])
    const asked = ['Access-Control-Request-Method: POST', 'Access-Control-Request-Headers: x-session-id']
    const preflight = await target.send('OPTIONS /v4/session/code HTTP/1.1', [`Origin: ${origin}`, ...asked])
    expect([preflight.status, preflight.headers['access-control-allow-headers']]).toEqual([204, 'x-session-id'])
    expect((await target.send('GET /_sandbox/outbox HTTP/1.1', [`Origin: ${origin}`])).status).toBe(200)
  })
})

describe('a service that is no sandbox', () => {
  it('answers every page, by every name', async () => {
    const service = createService()
    const served = await serve(service, { port: 0 })
    const lines = ['POST /v4/account HTTP/1.1', 'Host: pay.example.test', `Origin: ${EVIL}`, 'Connection: close']
    const { status, headers } = readWire(await sendLines(served.url, [...lines, 'Content-Length: 0']))
    expect([status, headers['access-control-allow-origin']]).toEqual([201, EVIL])
    await served.close()
    await service.close()
  })
})

describe("a name of somebody else's", () => {
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

  it.each(strange)('is no way in: %s', async (host) => {
    const { port } = target
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

  it('is told that the sandbox is well, and nothing else', async () => {
    const { status, body } = await refused('GET /_sandbox/health HTTP/1.1', ['Host: sandbox.example.test'])
    expect([status, Object.keys(body).sort()]).toEqual([200, ['clock', 'evidence', 'name', 'ok', 'storage', 'version']])
    expect(JSON.stringify(body)).not.toContain(TOKEN)
  })

  it.each(['localhost', 'LOCALHOST', 'localhost.', 'app.localhost', '127.0.0.1', '[::1]', 'sandbox', 'Sandbox.'])(
    'that is of this machine, or allowed, is answered: %s',
    async (host) => {
      for (const name of [host, `${host}:99`])
        expect((await target.send('GET /v4/dq HTTP/1.1', [`Host: ${name}`])).status).toBe(200)
    },
  )
})

describe('a proxy, a tunnel or a container beside', () => {
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
    expect((await target.send('GET /_sandbox/health HTTP/1.1', [header])).status).toBe(200)
    expect((await target.send('GET /v4/dq HTTP/1.1', [header])).status).toBe(200)
  })

  it('uses the controls with the control token, and with nothing like it', async () => {
    const ask = async (...headers: string[]) =>
      (await target.send('GET /_sandbox/outbox HTTP/1.1', ['X-Forwarded-For: 10.0.0.7', ...headers])).status
    expect(await ask(`X-Control-Token: ${TOKEN}`)).toBe(200)
    expect(await ask(`Authorization: Bearer ${TOKEN}`)).toBe(200)
    for (const wrong of ['', ' ', TOKEN.slice(1), TOKEN.slice(0, -1), `${TOKEN}1`, TOKEN.toUpperCase(), 'undefined'])
      expect([wrong, await ask(`X-Control-Token: ${wrong}`)]).toEqual([wrong, 403])
    expect(await ask(`X-Control-Token: ${TOKEN}`, `X-Control-Token: ${TOKEN}`)).toBe(403)
    expect(await ask(`Authorization: Basic ${btoa(`x:${TOKEN}`)}`)).toBe(403)
    expect(
      (await target.send(`GET /_sandbox/outbox?control_token=${TOKEN} HTTP/1.1`, [passedOn[0] as string])).status,
    ).toBe(403)
  })

  it('by an unknown peer has no controls, nor where no token was set', async () => {
    const service = createService({ sandbox: true })
    const ask = async (peerAddress: string, headers: Record<string, string> = {}) => {
      const request = new Request(`${service.baseUrl}/_sandbox/outbox`, { headers })
      return (await service.fetch(request, { peerAddress })).status
    }
    expect([await ask('127.0.0.1'), await ask(''), await ask('10.0.0.7')]).toEqual([200, 403, 403])
    for (const token of ['', 'undefined', 'null']) expect(await ask('10.0.0.7', { 'x-control-token': token })).toBe(403)
    await service.close()
  })

  it("finds no token in what is stored, nor in a page's links", async () => {
    expect(JSON.stringify(await target.state())).not.toContain(TOKEN)
    for (const path of ['/', '/phone', '/v4/openapi.json', '/_sandbox/snapshot'])
      expect((await target.send(`GET ${path} HTTP/1.1`)).text).not.toContain(TOKEN)
  })
})

describe('the cookie of the control token', () => {
  const cookie = `Cookie: a=b; control_token=${TOKEN}`
  const beside = 'X-Forwarded-For: 10.0.0.7'

  it('is set by a page that is given the token in its address, which leads on without it', async () => {
    const { status, headers } = await target.send(`GET /phone?a=b&control_token=${TOKEN}&c=%0d%0a HTTP/1.1`, [beside])
    expect([status, headers.location]).toEqual([303, '/phone?a=b&c=%0D%0A'])
    expect(headers['set-cookie']).toBe(`control_token=${TOKEN}; Path=/; HttpOnly; SameSite=Strict`)
    expect([headers['referrer-policy'], headers['cache-control']]).toEqual(['no-referrer', 'no-store'])
    for (const path of [`//?control_token=${TOKEN}`, `/?control_token=${TOKEN}`])
      expect((await target.send(`GET ${path} HTTP/1.1`)).headers.location).toBe('/')
    for (const wrong of ['', 'x', `${TOKEN}x`])
      expect((await refused(`GET /?control_token=${wrong} HTTP/1.1`)).body.code).toBe('sandbox_refused')
    expect((await refused(`GET /?control_token=${TOKEN} HTTP/1.1`, ['Host: evil.example.test'])).status).toBe(421)
  })

  it('lets the pages of the sandbox use the controls', async () => {
    const own = [cookie, beside, `Origin: ${target.url}`]
    expect(
      (await target.send('GET /_sandbox/outbox HTTP/1.1', [cookie, beside, 'Sec-Fetch-Site: same-origin'])).status,
    ).toBe(200)
    expect(
      (await target.send('POST /_sandbox/clock HTTP/1.1', [...own, 'Content-Type: application/json'], '{"advance":0}'))
        .status,
    ).toBe(200)
  })

  it('authorizes no request of another page, nor one that does not say whose it is', async () => {
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
      return (await target.send(`${first} HTTP/1.1`, [cookie, beside, `Origin: ${origin}`])).status
    }
  })
})

describe('a request target', () => {
  it('with two Hosts, or one that is none, is refused, and its connection closed', async () => {
    const second = `GET /v4/dq HTTP/1.1\r\nHost: localhost\r\n\r\n`
    for (const hosts of [
      ['Host: 127.0.0.1', 'Host: evil.example.test'],
      ['Host: localhost', 'host: localhost'],
      ['Host: localhost, localhost'],
      ['Host: evil.example.test@localhost'],
      ['Host: localhost@evil.example.test'],
      ['Host: localhost:4242:80'],
      ['Host: localhost/evil'],
      ['Host: localhost#evil'],
      ['Host: localhost\\evil'],
      ['Host: local%68ost'],
      ['Host: [::1'],
      ['Host: localhost:99999'],
      ['Host: 127.0.0.999'],
      ['Host: é'],
      ['Host: localhost', ' .evil.example.test'],
      [`Host: ${'a'.repeat(8000)}`],
    ])
      for (const path of ['/', '/v4/dq', '*', 'http://localhost/v4/dq']) {
        const lines = [`${path === '*' ? 'OPTIONS' : 'GET'} ${path} HTTP/1.1`, ...hosts]
        const text = await sendLines(target.url, lines, second)
        expect([hosts, path, text.match(/HTTP\/1\.1 \d+/g)]).toEqual([hosts, path, ['HTTP/1.1 400']])
      }
  })

  it('that is a whole URL names the host, whatever Host says', async () => {
    const { port } = target
    const ask = async (address: string, ...headers: string[]) =>
      (await target.send(`GET ${address} HTTP/1.1`, headers)).status
    expect(await ask(`http://127.0.0.1:${port}/v4/dq`)).toBe(200)
    expect(await ask('HTTP://LOCALHOST/v4/dq', 'Host: evil.example.test')).toBe(200)
    expect(await ask('http://localhost/shop')).toBe(200)
    expect(await ask('http://evil.example.test/v4/dq', 'Host: localhost')).toBe(421)
    expect(await ask('http://localhost:80@evil.example.test/v4/dq')).toBe(400)
    expect(await ask('http://user@localhost/v4/dq')).toBe(400)
    const own = ['Host: localhost', 'Origin: http://evil.example.test', 'Content-Length: 0']
    expect((await target.send('POST http://evil.example.test/v4/account HTTP/1.1', own)).status).toBe(421)
  })

  it.each([
    'https://localhost/v4/dq',
    'ftp://localhost/',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'localhost:4242',
    'v4/dq',
    '?a',
    '*',
    'http:/v4/dq',
    'http:localhost',
    'http://',
    '#',
  ])('of another form is 400: %s', async (form) => {
    expect((await refused(`GET ${form} HTTP/1.1`)).status).toBe(400)
  })

  it.each([
    ['a tunnel', 'CONNECT evil.example.test:443 HTTP/1.1', NaN],
    ['a tunnel to the sandbox itself', 'CONNECT localhost:4242 HTTP/1.1', NaN],
    ['the whole server', 'OPTIONS * HTTP/1.1', 204],
    ['two slashes', 'GET //evil.example.test/v4/dq HTTP/1.1', 404],
    ['two slashes before a control', 'GET //_sandbox/outbox HTTP/1.1', 404],
    ['backslashes', 'GET /\\evil.example.test\\v4 HTTP/1.1', 404],
    ['steps up', 'GET /../../v4/dq HTTP/1.1', 200],
    ['an encoded slash', 'GET /v4%2fdq HTTP/1.1', 404],
    ['an encoded slash before a control', 'GET /_sandbox%2foutbox HTTP/1.1', 404],
    ['a broken escape', 'GET /v4/%zz HTTP/1.1', 404],
    ['a null', 'GET /v4/dq%00 HTTP/1.1', 404],
    ['a fragment', 'GET /v4/dq#a HTTP/1.1', 200],
  ])('that asks for %s is no failure: %s', async (_, first, status) => {
    expect((await refused(first)).status).toBe(status)
  })

  it('without a Host is served over HTTP/1.0, and refused over 1.1', async () => {
    expect(readWire(await sendLines(target.url, ['GET /v4/dq HTTP/1.0'])).status).toBe(200)
    expect(readWire(await sendLines(target.url, ['GET /v4/dq HTTP/1.1'])).status).toBe(400)
    expect((await target.send('GET /v4/dq HTTP/1.1', ['Host:'])).status).toBe(200)
  })
})

describe('an upstream call of a sandbox that is served', () => {
  const privateHosts = [
    '10.0.0.1',
    '192.168.1.1',
    '172.16.0.1',
    '3232235777',
    '0xc0a80101',
    '0300.0250.1.1',
    '192.168.1.1.',
    '[::ffff:192.168.1.1]',
    '[64:ff9b::192.168.1.1]',
    '[2002:c0a8:101::]',
    '[fd00::1]',
    '100.64.0.1',
    'router',
    'printer.local',
    'nas.home.arpa',
    'db.internal',
    'host.docker.internal',
  ]

  async function order(into: Target, serviceUrl: string) {
    const [user] = (await into.service.sandbox.credentials()).users
    const token = await tokenFor(into.call, `${user?.client_id}`, `${user?.client_secret}`)
    const body = { amount: 0.001, destination: 'seller.test', serviceUrl }
    const answer = await into.call('POST', '/v4/paywall', { token, body })
    return [answer.status, answer.body?.code ?? '', answer.body?.error ?? ''] as const
  }

  it.each(privateHosts)('does not reach the network behind it: %s', async (host) => {
    const [status, code, error] = await order(target, `http://${host}:81/`)
    expect([status, code]).toEqual([422, 'upstream_refused'])
    expect(error).toContain('start the sandbox with --allow-upstream')
  })

  it('does not reach it by a public name either, and reaches what is allowed', async () => {
    const connected: string[] = []
    const names: Record<string, string> = {
      'rebound.example.test': '192.168.1.1',
      'mapped.example.test': '::ffff:10.0.0.5',
      'cloud.example.test': '169.254.169.254',
      inside: '10.9.9.9',
      localhost: '127.0.0.1',
      'metadata-inside': '169.254.169.254',
    }
    const real = nodeUpstream({
      lookup: async (name) => {
        const address = names[name] ?? '192.0.2.1'
        return [{ address, family: address.includes(':') ? 6 : 4 }]
      },
    })
    const started = await startTarget({
      allowUpstream: ['inside', 'metadata-inside', '172.20.0.0/16', '169.254.169.254', '192.168.7.7'],
      upstream: {
        async fetch(request) {
          const { hostname } = new URL(request.url)
          const address = names[hostname] ?? hostname.replace(/[[\]]/g, '')
          if (!request.mayConnect(address)) return real.fetch(request)
          connected.push(address)
          return new Response('ok')
        },
      },
    })
    await withSeller(started)
    const codeOf = async (url: string) => (await order(started, url)).slice(0, 2).join(' ')
    for (const name of ['rebound', 'mapped', 'cloud'])
      expect([name, await codeOf(`http://${name}.example.test/`)]).toEqual([name, '502 upstream_failed'])
    expect(await codeOf('http://metadata-inside/')).toBe('502 upstream_failed')
    expect(await codeOf('http://169.254.169.254/')).toBe('422 upstream_refused')
    expect(await codeOf('http://172.21.0.1/')).toBe('422 upstream_refused')
    expect(connected).toEqual([])
    for (const host of [
      'inside',
      '172.20.3.4',
      '192.168.7.7',
      '[::ffff:172.20.3.4]',
      '127.0.0.1',
      'localhost',
      '[::1]',
      '8.8.8.8',
    ])
      expect([host, await codeOf(`http://${host}/`)]).toEqual([host, '200 '])
    await started.close()
  })

  it('cannot be made one to the controls of the sandbox itself, or of another', async () => {
    const other = await startTarget()
    for (const into of [target, other])
      for (const path of ['/_sandbox/outbox', '/_sandbox/snapshot'])
        for (const host of ['127.0.0.1', 'localhost']) {
          const url = `http://${host}:${into.port}${path}`
          const [status, , error] = await order(target, url)
          expect([status, error]).toEqual([403, expect.stringContaining('control token')])
        }
    await other.close()
  })
})
