import { describe, expect, it } from 'vitest'
import { createService } from '../../../src/index.js'
import { type CallOptions, caller } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { expectProblem } from '../../support/scenes/market.js'
import { newSeller, newSession, newUser } from '../../support/scenes/world.js'

const PAGE = 'https://shop.example.test'

/** What the connection adds, and what only a body has. */
const ofTheConnection = ['connection', 'keep-alive', 'date', 'content-length', 'transfer-encoding']
/** Each answer has its own `x-request-id`. */
const kept = (headers: Headers) => [...headers].filter(([name]) => ![...ofTheConnection, 'x-request-id'].includes(name))

const allowed = (headers: Headers) => headers.get('allow')?.split(', ').sort()

contract('HEAD', (start) => {
  it('answers with the status and headers of GET and without a body', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const session = await newSession(call, 'ada@example.test')
    const asked: [string, CallOptions][] = [
      ['/v4/dq', {}],
      ['/v4/dq/', {}],
      ['/v4/openapi.json', {}],
      ['/v4/session', { session }],
      ['/v4/twins', { token: payer.token }],
      [`/v4/twin/${payer.hostname}/binder`, { token: payer.token }],
      [`/v4/twin/${payer.hostname}/inventory`, { token: payer.token, headers: { accept: 'application/json' } }],
      ['/v4/account', {}],
      ['/v4/account', { token: payer.token }],
      ['/v4/twin/999999', { token: payer.token }],
      ['/v4/nowhere', {}],
    ]
    for (const [path, options] of asked) {
      const [get, head] = [await call('GET', path, options), await call('HEAD', path, options)]
      expect(head.status, path).toBe(get.status)
      expect(kept(head.headers), path).toEqual(kept(get.headers))
      expect([get.text === '', head.text], path).toEqual([false, ''])
    }
  })

  it('is 405 for a path without GET', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const { status, headers, text } = await call('HEAD', '/v4/account/register')
    expect([status, allowed(headers), text]).toEqual([405, ['OPTIONS', 'POST'], ''])
  })
})

contract('OPTIONS', (start) => {
  it('answers the preflight of any origin with the requested headers', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call } = await start()
    const asks = {
      origin: PAGE,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'content-type,accept,x-session-id',
    }
    const { status, headers, text } = await call('OPTIONS', '/v2/commodity/some-hash?embed=false', { headers: asks })
    expect([status, text]).toEqual([204, ''])
    expect(Object.fromEntries(headers)).toMatchObject({
      'access-control-allow-origin': PAGE,
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'GET, HEAD, OPTIONS',
      'access-control-allow-headers': 'content-type,accept,x-session-id',
      'access-control-max-age': '600',
      allow: 'GET, HEAD, OPTIONS',
      vary: 'Origin',
    })
  })

  it('needs no credentials, whatever the operation does', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    for (const [path, methods] of [
      ['/v4/account', 'GET HEAD OPTIONS POST PUT'],
      ['/v4/paywall', 'OPTIONS POST'],
      ['/v4/session', 'DELETE GET HEAD OPTIONS POST'],
      ['/v4/twins/', 'GET HEAD OPTIONS'],
    ] as const) {
      const { status, headers } = await call('OPTIONS', path, { headers: { origin: PAGE } })
      expect([status, allowed(headers)], path).toEqual([204, methods.split(' ')])
    }
  })

  it('of an unknown path is 404', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    expectProblem(await call('OPTIONS', '/v4/nowhere', { headers: { origin: PAGE } }), 404, 'no_such_path')
  })
})

contract('a page of another origin', (start) => {
  it('may read every answer, success or error, and the relevant headers', {
    tags: ['everywhere', 'pages'],
  }, async () => {
    const { call } = await start()
    const headers = { origin: PAGE }
    const { token } = await newSeller(call)
    const json = { ...headers, 'content-type': 'application/json' }
    const answers = [
      await call('GET', '/v4/dq', { headers }),
      await call('POST', '/v4/account', { headers }),
      await call('GET', '/v4/account', { headers }),
      await call('GET', '/v4/account', { headers, token }),
      await call('POST', '/v4/session/code', { headers: json, raw: '{' }),
      await call('GET', '/v4/nowhere', { headers }),
      await call('PUT', '/v4/dq', { headers }),
      await call('GET', '/v4/user/%ff', { headers, token }),
      await call('GET', '/_sandbox/health', { headers }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 201, 401, 200, 400, 404, 405, 400, 200])
    for (const answer of answers) {
      expect(answer.headers.get('access-control-allow-origin')).toBe(PAGE)
      expect(answer.headers.get('access-control-allow-credentials')).toBe('true')
      expect(answer.headers.get('vary')).toBe('Origin')
      const exposed = answer.headers.get('access-control-expose-headers')?.split(', ')
      expect(exposed).toEqual(
        expect.arrayContaining(['X-Session-ID', 'X-Evidence', 'Retry-After', 'Idempotent-Replayed']),
      )
    }
  })

  it('is not named without an Origin header', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const { headers } = await call('GET', '/v4/dq')
    expect(headers.get('access-control-allow-origin')).toBeNull()
    expect(headers.get('vary')).toBe('Origin')
  })
})

contract('a path', (start) => {
  it('with an unsupported method is 405 and lists the supported ones', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call } = await start()
    for (const [method, path, allow] of [
      ['DELETE', '/v4/account', 'GET HEAD OPTIONS POST PUT'],
      ['PATCH', '/v4/account', 'GET HEAD OPTIONS POST PUT'],
      ['GET', '/v4/account/register', 'OPTIONS POST'],
      ['POST', '/v4/twin/some-name/binder', 'GET HEAD OPTIONS'],
      ['DELETE', '/v2/twin/nonce', 'GET HEAD OPTIONS POST PUT'],
    ] as const) {
      const answer = await call(method, path)
      expectProblem(answer, 405, 'method_not_allowed')
      expect(allowed(answer.headers), path).toEqual(allow.split(' '))
    }
  })

  it('that is unknown is 404 no_such_path', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const paths = [
      '/',
      '/v4',
      '/v4/',
      '/v5/dq',
      '/dq',
      '/v2/dq',
      '/v4/dq/more',
      '/v4//dq',
      '//v4/dq',
      '/V4/dq',
      '/v4/DQ',
      '/v4/dq;x',
      '/v4/%64q',
      '/v4/d%71',
      '/v4/%ff',
      '/%00',
      '/_sandbox',
      '/_sandbox/nothing',
      '/v4/__proto__',
      '/constructor',
    ]
    for (const path of paths)
      for (const method of ['GET', 'POST']) {
        const answer = await call(method, path)
        expectProblem(answer, 404, 'no_such_path')
        expect(answer.headers.get('x-evidence')).toBeNull()
      }
  })

  it('may end in a slash', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    expect((await call('GET', '/v4/dq/')).status).toBe(200)
    expect((await call('GET', '/v4/dq//')).status).toBe(200)
    expect((await call('POST', '/v4/account/')).status).toBe(201)
    expect((await call('GET', '/v4/twins/?limit=1', { token })).status).toBe(200)
    expectProblem(await call('GET', '/v4/twin/some-name/', { token }), 404, 'not_found')
  })

  it('with a percent-escape that is not UTF-8 is 400', { tags: ['everywhere', 'pages'] }, async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    for (const name of ['%ff', '%c3%28', '%', '%zz', 'a%e0%a4%a']) {
      const [twin, payment] = [`/v4/twin/${name}`, `/v2/payment/${name}/validate`]
      expectProblem(await call('GET', twin, { token }), 400, 'path_malformed')
      expectProblem(await call('POST', payment, { token, body: { nonce: 'n', timestamp: 1 } }), 400, 'path_malformed')
      expectProblem(await call('GET', `/v4/commodity/${name}`), 400, 'path_malformed')
    }
  })

  it('with an unknown name finds nothing', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    for (const name of [
      '%00',
      '%0d%0aSet-Cookie:%20a=b',
      '..%2f..%2faccount',
      '%F0%9F%A7%AE',
      'x'.repeat(4000),
      '__proto__',
      'null',
    ]) {
      const answer = await call('GET', `/v4/twin/${name}`, { token })
      expectProblem(answer, 404, 'not_found')
      expect(answer.headers.get('set-cookie')).toBeNull()
      expectProblem(await call('GET', `/v4/commodity/${name}`), 404, 'not_found')
    }
  })
})

contract('a query', (start) => {
  it('may contain unknown fields, which are ignored', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    for (const query of ['x=1&x=2', '__proto__=1', 'constructor=1&toString=2', '%ff=%ff', '&&=&', 'limit=1&LIMIT=x'])
      expect((await call('GET', `/v4/twins?${query}`, { token })).status, query).toBe(200)
  })

  it('with a field twice, or with U+0000 in it, is 400 and names the field', {
    tags: 'everywhere',
  }, async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    for (const [path, field] of [
      ['/v4/twins?limit=1&limit=1', 'limit'],
      ['/v4/user/1?email=a&email=b', 'email'],
      ['/v4/user/1?email=a%00', 'email'],
      ['/v4/commodities?after=%00', 'after'],
    ] as const) {
      const answer = await call('GET', path, { token })
      expectProblem(answer, 400, 'field_invalid')
      expect(answer.body.field).toBe(field)
    }
  })
})

describe('header injection', () => {
  const service = createService({ sandbox: true })
  const call = caller({ url: 'http://127.0.0.1:4242', fetch: service.fetch })

  it('is impossible with CR and LF, and reflected values stay one header', async () => {
    for (const name of ['origin', 'x-session-id', 'access-control-request-headers', 'idempotency-key'])
      expect(() => new Headers({ [name]: 'a\r\nset-cookie: b=c' })).toThrow(TypeError)
    const odd = 'null, https://a.example.test; "\t~é'
    const { status, headers } = await call('GET', '/v4/session', {
      headers: { origin: odd, cookie: 'session_id=x\ty' },
    })
    expect(status).toBe(200)
    expect(headers.get('access-control-allow-origin')).toBe(odd)
    expect(headers.get('set-cookie')).toBeNull()
  })
})

describe('a service without a sandbox', () => {
  it('has no controls, also for OPTIONS or a wrong method', async () => {
    const service = createService()
    const call = caller({ url: 'http://127.0.0.1:4242', fetch: service.fetch })
    for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE', 'PATCH'])
      for (const path of ['/_sandbox/health', '/_sandbox/clock', '/_sandbox/nothing'])
        expectProblem(await call(method, path), 404, 'no_such_path')
    expect(() => service.sandbox).toThrow(/sandbox: true/)
  })
})
