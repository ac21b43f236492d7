import { expect, test } from 'vitest'
import { accessSettings, sandboxAccess } from '../../src/sandbox/onion/access.js'
import {
  controlCookie,
  type GuardedRequest,
  guardCaller,
  guardChange,
  guardControls,
  isControlToken,
  isOnlyLocal,
  mayRead,
} from '../../src/sandbox/onion/guard.js'

const TOKEN = 'the-control-token'
const HOME = 'http://127.0.0.1:4242'
const FOREIGN = 'https://evil.example.test'

interface Sent {
  readonly url?: string
  readonly method?: string
  readonly peer?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly baseUrl?: string
  readonly access?: Parameters<typeof sandboxAccess>[0]
}

/** What the guards say to a request: `ok`, or the code of the refusal. */
function answers(sent: Sent) {
  const { url = `${HOME}/v4/dq`, method = 'GET', headers = {}, baseUrl = HOME, access = {} } = sent
  const peerAddress = 'peer' in sent ? sent.peer : '127.0.0.1'
  const guarded = { baseUrl, sandbox: sandboxAccess({ controlToken: TOKEN, ...access }) }
  const request: GuardedRequest & { path: string } = {
    ...{ url, method, headers: new Headers(headers), path: url.replace(/^https?:\/\/[^/]*/, '') },
    source: peerAddress === undefined ? {} : { peerAddress },
  }
  const said = (guard: () => void) => {
    try {
      guard()
      return 'ok'
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  return {
    request,
    guarded,
    caller: said(() => guardCaller(request, guarded)),
    change: said(() => guardChange(request, guarded)),
    session: said(() => guardChange(request, guarded, { takesSession: true })),
    control: said(() => guardControls(request, guarded)),
  }
}

const OURS = ['127.0.0.1:4242', '127.9.9.9', 'localhost', 'LOCALHOST:1', '[::1]:4242', 'pay.localhost', '[::1]']
const OTHERS = ['evil.example.test', 'localhost.example.test', '10.0.0.7', '127.0.0.1.example.test', '[::2]']

test('a host is known if it names this machine, the service, or is allowed, whatever its case and its last dot', () => {
  const at = (host: string, more: Sent = {}) => answers({ url: `http://${host}/v4/dq`, ...more }).caller
  for (const host of OURS) expect(at(host), host).toBe('ok')
  for (const host of OTHERS) expect(at(host), host).toBe('host_refused')
  const named = { baseUrl: 'https://pay.example.test', access: { allowHosts: ['sandbox', 'other:99'] } }
  for (const host of [
    'pay.example.test',
    'PAY.example.test.',
    'pay.example.test:1',
    'sandbox',
    'sandbox:7',
    'other:99',
  ])
    expect(at(host, named), host).toBe('ok')
  for (const host of ['other', 'other:98', 'x.pay.example.test', 'sandbox.example.test', 'sandbox..'])
    expect(at(host, named), host).toBe('host_refused')
  for (const url of ['http://user@127.0.0.1/', 'ftp://127.0.0.1/', 'http:///v4', '/v4/dq', 'http://127.0.0.1:x/'])
    expect(answers({ url }).caller, url).toBe('host_refused')
  for (const url of ['http://127.0.0.1', 'http://127.0.0.1?a', 'HTTPS://localhost#a'])
    expect(answers({ url }).caller).toBe('ok')
})

test('every host may ask whether the service is well, and a call over no network has none', () => {
  const url = 'http://evil.example.test/_sandbox/health'
  for (const each of [url, `${url}/`]) expect(answers({ url: each }).caller).toBe('ok')
  for (const each of [`${url}x`, `${url}//`]) expect(answers({ url: each }).caller).toBe('host_refused')
  expect(answers({ url: 'http://evil.example.test/', peer: undefined }).caller).toBe('ok')
  const { request, guarded } = answers({ url: 'http://evil.example.test/' })
  expect(() => guardCaller(request, { ...guarded, sandbox: undefined })).not.toThrow()
})

test.each([
  ['evil.example.test:7', 'evil.example.test'],
  ['[::2]', '[::2]'],
  [`${'a'.repeat(255)}`, 'a'.repeat(255)],
  [`${'a'.repeat(256)}`, 'HOST'],
  ['a b', 'HOST'],
  ["a'", 'HOST'],
])('the refusal of the host %s says how to allow %s', (host, shown) => {
  const { request, guarded } = answers({ url: `http://${host}/` })
  expect(() => guardCaller(request, guarded)).toThrow(
    expect.objectContaining({
      facts: expect.objectContaining({
        host: shown,
        detail: `To allow it, start the sandbox with --allow-host ${shown}.`,
      }),
    }),
  )
})

/** Each kind of page, and whether the sandbox trusts it. */
const PAGES: [headers: Record<string, string>, isTrusted: boolean, isOfDocument?: true][] = [
  [{}, true],
  [{ origin: HOME }, true],
  [{ origin: 'http://localhost:5173', 'sec-fetch-site': 'cross-site' }, true],
  [{ origin: 'https://shop.example.test' }, true],
  [{ origin: FOREIGN }, false],
  [{ origin: FOREIGN, 'sec-fetch-site': 'same-origin' }, false],
  [{ origin: 'null' }, false],
  [{ 'sec-fetch-site': 'same-origin' }, true],
  [{ 'sec-fetch-site': 'none' }, true],
  [{ 'sec-fetch-site': 'cross-site' }, false],
  [{ 'sec-fetch-site': 'same-site' }, false],
  [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' }, false],
  [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' }, false, true],
  [{ origin: FOREIGN, 'sec-fetch-dest': 'document' }, false],
]
const SAFE = ['GET', 'HEAD', 'OPTIONS']
const METHODS = [...SAFE, 'POST', 'PUT', 'DELETE', 'PATCH']
const CREDENTIALS = [
  { authorization: 'Bearer abc' },
  { authorization: 'bearer  abc' },
  { 'x-session-id': 's' },
  { 'x-control-token': 'x' },
]
const NO_CREDENTIALS = [
  {},
  { authorization: 'Basic abc' },
  { authorization: 'Bearer a b' },
  { authorization: 'x Bearer a' },
]
const access = { allowOrigins: ['https://shop.example.test'] }

test.each<(typeof PAGES)[number]>(PAGES)('a page that sends %j is trusted: %s', (headers, isTrusted, isOfDocument) => {
  const isForeignPage = headers.origin !== undefined && !isTrusted
  for (const method of METHODS) {
    const at = (more: Record<string, string> = {}) => answers({ method, headers: { ...headers, ...more }, access })
    const isSafe = SAFE.includes(method)
    expect(at().caller, method).toBe(method === 'OPTIONS' && isForeignPage ? 'origin_refused' : 'ok')
    expect(at().control, method).toBe(isTrusted || (isOfDocument && isSafe) ? 'ok' : 'sandbox_refused')
    for (const more of CREDENTIALS) expect(at(more).change).toBe('ok')
    for (const more of NO_CREDENTIALS) expect(at(more).change).toBe(isTrusted || isSafe ? 'ok' : 'origin_refused')
    const cookie = { cookie: 'a=b; session_id=ms_1' }
    expect(at(cookie).session).toBe(isTrusted || isSafe ? 'ok' : 'cross_site')
    expect(at(cookie).change).toBe(isTrusted || isSafe ? 'ok' : 'origin_refused')
    for (const other of ['session_id=', 'xsession_id=ms_1', 'session_ids=1'])
      expect(at({ cookie: other }).session).toBe(isTrusted || isSafe ? 'ok' : 'origin_refused')
  }
  const { origin } = headers
  const { request, guarded } = answers({ headers, access })
  if (origin === undefined) return
  expect(mayRead(origin, request, guarded)).toBe(isTrusted)
  expect(mayRead(origin, { ...request, source: {} }, guarded)).toBe(true)
  expect(mayRead(origin, request, { ...guarded, sandbox: undefined })).toBe(true)
})

test('a page under a name that is rebound to this machine is not of the service', () => {
  const rebound = { url: 'http://evil.example.test/v4/dq', headers: { origin: 'http://evil.example.test' } }
  expect(answers({ ...rebound, method: 'POST' })).toMatchObject({
    change: 'origin_refused',
    control: 'sandbox_refused',
  })
  const { request, guarded } = answers(rebound)
  expect(mayRead('http://evil.example.test', request, guarded)).toBe(false)
})

test.each([
  [FOREIGN, FOREIGN],
  ['null', 'ORIGIN'],
  [`https://${'a'.repeat(247)}`, `https://${'a'.repeat(247)}`],
  [`https://${'a'.repeat(248)}`, 'ORIGIN'],
  ["https://a'b", 'ORIGIN'],
  ['https://a b', 'ORIGIN'],
])('the refusal of the origin %s says how to allow %s', (origin, shown) => {
  const { request, guarded } = answers({ method: 'OPTIONS', headers: { origin } })
  expect(() => guardCaller(request, guarded)).toThrow(
    expect.objectContaining({
      facts: expect.objectContaining({ detail: expect.stringContaining(`--allow-origin ${shown}. `) }),
    }),
  )
  const silent = answers({ method: 'POST', headers: { 'sec-fetch-site': 'cross-site' } })
  expect(() => guardChange(silent.request, silent.guarded)).toThrow(
    expect.objectContaining({
      facts: expect.objectContaining({ detail: expect.stringContaining('--allow-origin ORIGIN. ') }),
    }),
  )
})

/** Who is not local holds the token, or may not use the controls. */
const STRANGERS: readonly (readonly [string, Sent])[] = [
  ['another machine', { peer: '10.0.0.7' }],
  ['an unknown machine', { peer: '' }],
  ['a proxy', { headers: { 'x-forwarded-for': '127.0.0.1' } }],
  ['a service with another name', { baseUrl: 'https://pay.example.test' }],
  ['a service with an allowed name', { access: { allowHosts: ['127.0.0.1', 'sandbox:4242'] } }],
]

test.each(STRANGERS)('%s needs the control token, in a header or as a cookie of the service’s own pages', (_, sent) => {
  const control = (headers: Record<string, string> = {}, more: Sent = {}) =>
    answers({ ...sent, ...more, headers: { ...sent.headers, ...headers } }).control
  const cookie = `a=b;control_token=${TOKEN}`
  expect(control()).toBe('sandbox_refused')
  for (const headers of [{ 'x-control-token': TOKEN }, { authorization: `Bearer ${TOKEN}` }, { cookie }])
    expect(control(headers)).toBe('ok')
  const wrong = [
    { 'x-control-token': 'x' },
    { authorization: 'Bearer x' },
    { authorization: TOKEN },
    { cookie: 'control_token=x' },
  ]
  for (const headers of wrong) expect(control(headers)).toBe('sandbox_refused')
  // What is sent by name counts before what a browser adds.
  expect(control({ cookie, 'x-control-token': 'x' })).toBe('sandbox_refused')
  expect(control({ cookie, authorization: 'Bearer x' })).toBe('sandbox_refused')
  for (const method of METHODS) {
    const isSafe = SAFE.includes(method)
    expect(control({ cookie }, { method })).toBe(isSafe ? 'ok' : 'sandbox_refused')
    expect(control({ cookie, 'sec-fetch-site': 'same-origin' }, { method })).toBe(isSafe ? 'ok' : 'sandbox_refused')
    expect(control({ cookie, 'sec-fetch-site': 'cross-site' }, { method })).toBe('sandbox_refused')
    expect(control({ cookie, origin: HOME }, { method })).toBe('ok')
    expect(control({ cookie, origin: FOREIGN }, { method })).toBe('sandbox_refused')
    expect(control({ 'x-control-token': TOKEN, origin: FOREIGN }, { method })).toBe('ok')
  }
})

test('without a control token nobody holds it, and without a sandbox nobody at all', () => {
  const headers = { 'x-control-token': 'undefined', cookie: 'control_token=undefined' }
  expect(answers({ peer: '10.0.0.7', headers, access: { controlToken: undefined } }).control).toBe('sandbox_refused')
  expect(isControlToken('', { controlToken: undefined })).toBe(false)
  expect([isControlToken(TOKEN, { controlToken: TOKEN }), isControlToken('x', { controlToken: TOKEN })]).toEqual([
    true,
    false,
  ])
  const { request, guarded } = answers({ peer: '10.0.0.7', headers: { 'x-control-token': TOKEN } })
  expect(() => guardControls(request, { ...guarded, sandbox: undefined })).toThrow(
    expect.objectContaining({ code: 'sandbox_refused' }),
  )
})

test('a sandbox is only local while each of its names is one of this machine', () => {
  const of = (baseUrl: string, ...allowHosts: string[]) =>
    isOnlyLocal({ baseUrl, sandbox: sandboxAccess({ allowHosts }) })
  expect([of(HOME), of(HOME, 'localhost:99', 'pay.localhost'), of('http://pay.localhost/x')]).toEqual([
    true,
    true,
    true,
  ])
  expect([of(HOME, 'localhost', 'sandbox'), of('https://pay.example.test'), of(HOME, '10.0.0.7:1')]).toEqual(
    Array(3).fill(false),
  )
  expect(isOnlyLocal({ baseUrl: HOME, sandbox: undefined })).toBe(true)
})

test('the cookie with the control token is for this site alone, and secure over TLS', () => {
  const cookie = 'control_token=t; Path=/; HttpOnly; SameSite=Strict'
  expect([controlCookie('t', 'http://a'), controlCookie('t', 'https://a')]).toEqual([cookie, `${cookie}; Secure`])
})

test.each<[keyof typeof accessSettings, string, string | undefined]>([
  ['controlToken', 'abc', 'abc'],
  ['controlToken', '!#-+-.:<-[]^~', '!#-+-.:<-[]^~'],
  ['controlToken', 'a'.repeat(256), 'a'.repeat(256)],
  ...['', 'a'.repeat(257), 'a b', 'a"b', 'a,b', 'a;b', 'a\\b', 'ä', ' a', 'a\n'].map(
    (text): [keyof typeof accessSettings, string, undefined] => ['controlToken', text, undefined],
  ),
  ['allowOrigins', ' https://Shop.example.test/ ', 'https://shop.example.test'],
  ['allowOrigins', 'https://shop.example.test:443', 'https://shop.example.test'],
  ['allowOrigins', 'http://shop:8080', 'http://shop:8080'],
  ['allowOrigins', 'NULL', 'null'],
  ['allowOrigins', 'chrome-extension://abc_d', 'chrome-extension://abc_d'],
  ['allowOrigins', 'xhttp://a:80', 'xhttp://a:80'],
  ['allowOrigins', 'https://a/b', undefined],
  ['allowOrigins', 'https://a//', undefined],
  ['allowOrigins', 'https://', undefined],
  ['allowOrigins', 'a.example.test', undefined],
  ['allowOrigins', '1http://a', undefined],
  ['allowHosts', ' Sandbox.example.test.:4242 ', 'sandbox.example.test:4242'],
  ['allowHosts', 'a:80', 'a:80'],
  ['allowHosts', '[::1]:1', '[::1]:1'],
  ['allowHosts', '[0:0::1]', '[::1]'],
  ['allowHosts', 'a_b-c', 'a_b-c'],
  ['allowHosts', 'a:99999', undefined],
  ...['', 'a:', 'a:123456', 'a..b', '.a', 'a b', 'a/b', 'x@a', '[::1', 'a:1x', '[:::]'].map(
    (text): [keyof typeof accessSettings, string, undefined] => ['allowHosts', text, undefined],
  ),
])('the setting %s reads "%s" as %s', (name, text, expected) => {
  expect(accessSettings[name].read(text)).toBe(expected)
  const given = name === 'controlToken' ? { [name]: text } : { [name]: [text] }
  if (expected === undefined)
    expect(() => sandboxAccess(given)).toThrow(
      new TypeError(`${name} must be ${accessSettings[name].expects}, not "${text}"`),
    )
  else
    expect(sandboxAccess(given)).toMatchObject(name === 'controlToken' ? { [name]: expected } : { [name]: [expected] })
})

test('nobody is allowed by default', () => {
  expect(sandboxAccess({})).toEqual({ controlToken: undefined, allowOrigins: [], allowHosts: [] })
})
