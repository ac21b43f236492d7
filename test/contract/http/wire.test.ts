import { afterEach, describe, expect, it } from 'vitest'
import { nodeServer } from '../../runtimes/node-server.js'
import type { ContractOptions, Running } from '../../runtimes/runtime.js'
import { caller } from '../../support/api.js'
import { readWire, sendLines, sendNode } from '../../support/contract/wire.js'
import { balanceOf, newCommodity, newPayer, newSeller, newSession, newTwin } from '../../support/scenes/world.js'

/** What only bytes on a connection can say: bodies of GETs, headers sent twice, lies about lengths. */

const open: Running[] = []
afterEach(async () => {
  for (const running of open.splice(0)) await running.close()
})

async function start(options: ContractOptions = {}) {
  const running = await nodeServer.start(options)
  open.push(running)
  const { host } = new URL(running.url)
  /** The lines of a request to the server, on a connection that closes after it. */
  const lines = (first: string, ...headers: string[]) => [first, `Host: ${host}`, 'Connection: close', ...headers]
  const send = async (first: string, headers: string[] = [], body: string | Buffer = '') =>
    readWire(await sendLines(running.url, lines(first, ...headers), body))
  return { url: running.url, state: running.state, call: caller(running), lines, send }
}

const json = { 'content-type': 'application/json' }

describe('the body of a GET', () => {
  it("shows a page its account's twin, by the public_secret in JSON or in a form", async () => {
    const { call, url } = await start()
    const seller = await newSeller(call)
    const twin = await newTwin(call, seller.token)
    for (const version of ['v4', 'v2'])
      for (const name of [twin.hostname, twin.id]) {
        const at = `${url}/${version}/twin/${name}`
        const byJson = await sendNode(at, {
          headers: json,
          body: JSON.stringify({ public_secret: seller.publicSecret }),
        })
        expect([byJson.status, byJson.body]).toEqual([200, { ...twin, key: null }])
        const form = { 'content-type': 'application/x-www-form-urlencoded' }
        const byForm = await sendNode(at, { headers: form, body: `public_secret=${seller.publicSecret}` })
        expect(byForm.body).toEqual(byJson.body)
        const byQuery = await sendNode(`${at}?public_secret=${seller.publicSecret}`, {})
        expect(byQuery.body).toEqual(byJson.body)
      }
  })

  it('with an unknown or mistyped public_secret is 401, and wins over the query', async () => {
    const { call, url } = await start()
    const seller = await newSeller(call)
    const { hostname } = await newTwin(call, seller.token)
    for (const public_secret of [
      `mp_${'0'.repeat(32)}`,
      7,
      null,
      [seller.publicSecret],
      { text: seller.publicSecret },
    ]) {
      const body = JSON.stringify({ public_secret })
      const { status, body: shown } = await sendNode(`${url}/v4/twin/${hostname}`, { headers: json, body })
      expect([status, shown.code]).toEqual([401, 'public_secret_unknown'])
    }
    const both = await sendNode(`${url}/v4/twin/${hostname}?public_secret=${seller.publicSecret}`, {
      headers: json,
      body: '{"public_secret":"mp_0"}',
    })
    expect(both.body.code).toBe('public_secret_unknown')
  })

  it("shows another user's record if it contains their email", async () => {
    const { call, url } = await start()
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller)
    const headers = { ...json, authorization: `Bearer ${seller.token}` }
    const at = `${url}/v4/user/${payer.id}`
    const right = await sendNode(at, { headers, body: JSON.stringify({ email: payer.email }) })
    expect([right.status, right.body.email]).toEqual([200, payer.email])
    expect((await sendNode(at, { headers, body: '{"email":"eve@example.test"}' })).body.code).toBe('not_found')
    const wrongType = await sendNode(at, { headers, body: '{"email":1}' })
    expect([wrongType.status, wrongType.body.field]).toEqual([400, 'email'])
  })

  it('may come in chunks', async () => {
    const { call, send } = await start()
    const seller = await newSeller(call)
    const { hostname } = await newTwin(call, seller.token)
    const body = JSON.stringify({ public_secret: seller.publicSecret })
    const chunked = [...body].map((letter) => `1\r\n${letter}\r\n`).join('')
    const headers = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
    const { status, text } = await send(`GET /v4/twin/${hostname} HTTP/1.1`, headers, `${chunked}0\r\n\r\n`)
    expect(status).toBe(200)
    expect(text).toContain(hostname)
  })

  it('is refused like any body: malformed, mistyped or too large', async () => {
    const { call, url } = await start({ limits: { bodyBytes: 100 } })
    const { hostname } = await newTwin(call, (await newSeller(call)).token)
    const ask = async (body: string, headers: Record<string, string>) => {
      const answer = await sendNode(`${url}/v4/twin/${hostname}`, { headers, body })
      return [answer.status, answer.body.code]
    }
    expect(await ask('{', json)).toEqual([400, 'body_malformed'])
    expect(await ask('{}', {})).toEqual([415, 'content_type_refused'])
    expect(await ask('{}', { 'content-type': 'text/plain' })).toEqual([415, 'content_type_refused'])
    expect(await ask('x'.repeat(101), json)).toEqual([413, 'body_too_large'])
  })

  it('of an operation without one is ignored, and the connection continues', async () => {
    const { lines, url } = await start()
    const first = [
      ...lines('GET /v4/dq HTTP/1.1', 'Content-Length: 5').filter((line) => !line.startsWith('Connection')),
    ]
    const second = lines('GET /v4/dq HTTP/1.1').join('\r\n')
    const text = await sendLines(url, first, `{{{{{${second}\r\n\r\n`)
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
  })
})

describe('a header that is sent twice', () => {
  it('Authorization: neither of the two counts: 401', async () => {
    const { call, send } = await start()
    const [one, other] = [await newSeller(call), await newSeller(call)]
    for (const second of [one, other]) {
      const headers = [`Authorization: Bearer ${one.token}`, `Authorization: Bearer ${second.token}`]
      const { status, body } = await send('GET /v4/account HTTP/1.1', headers)
      expect([status, body.code]).toEqual([401, 'bearer_required'])
    }
    const pair = (seller: typeof one) => `Authorization: Basic ${btoa(`${seller.clientId}:${seller.clientSecret}`)}`
    const exchanged = await send('POST /v4/account/oauth/token HTTP/1.1', [pair(one), pair(other), 'Content-Length: 0'])
    expect([exchanged.status, exchanged.body.code]).toEqual([401, 'client_unknown'])
  })

  it('Content-Type: is not supported: 415', async () => {
    const { call, send, state } = await start()
    const { token } = await newSeller(call)
    const before = (await state()).rows
    for (const second of ['application/json', 'application/x-www-form-urlencoded']) {
      const headers = [
        'Content-Type: application/json',
        `Content-Type: ${second}`,
        'Content-Length: 12',
        `Authorization: Bearer ${token}`,
      ]
      const { status, body } = await send('PUT /v4/account HTTP/1.1', headers, '{"name":"N"}')
      expect([status, body.code]).toEqual([415, 'content_type_refused'])
    }
    expect((await state()).rows).toEqual(before)
  })

  it('Idempotency-Key: both values make one different key', async () => {
    const { call, send } = await start()
    const seller = await newSeller(call)
    const { hash } = await newCommodity(call, seller, { cost: 0.25 })
    const payer = await newPayer(call, seller, { balance: 1 })
    const pay = (...keys: string[]) =>
      send(`POST /v4/payment/${hash} HTTP/1.1`, [
        `Authorization: Bearer ${payer.token}`,
        'Content-Length: 0',
        ...keys.map((key) => `Idempotency-Key: ${key}`),
      ])
    const replayed = []
    for (const keys of [['a'], ['b'], ['a', 'b'], ['a', 'b'], ['a, b']])
      replayed.push((await pay(...keys)).headers['idempotent-replayed'] ?? 'no')
    expect(replayed).toEqual(['no', 'no', 'no', 'true', 'true'])
    expect(await balanceOf(call, payer.token, payer.hostname)).toBe(0.25)
  })

  it('X-Session-ID: is not a session', async () => {
    const { call, send } = await start()
    const session = await newSession(call, 'ada@example.test')
    const { status, body } = await send('GET /v4/twins HTTP/1.1', [
      `X-Session-ID: ${session}`,
      `X-Session-ID: ${session}`,
    ])
    expect([status, body.code]).toEqual([401, 'sign_in_required'])
  })

  it('Origin: is a foreign origin', async () => {
    const { call, send, url } = await start()
    const session = await newSession(call, 'ada@example.test')
    const headers = [`Origin: ${url}`, `Origin: ${url}`, `Cookie: session_id=${session}`, 'Content-Length: 0']
    const { status, body } = await send('DELETE /v4/session HTTP/1.1', headers)
    expect([status, body.code]).toEqual([403, 'cross_site'])
  })

  it('Host, or Content-Length: is refused', async () => {
    const { send } = await start()
    const { status, body } = await send('GET /v4/dq HTTP/1.1', ['Host: 127.0.0.1'])
    expect([status, body?.code]).toEqual([400, 'header_malformed'])
    expect((await send('POST /v4/account HTTP/1.1', ['Content-Length: 0', 'Content-Length: 1'])).status).toBe(400)
  })
})

describe('headers that lie', () => {
  it('CR or LF in a value is 400 and sets nothing', async () => {
    const { send } = await start()
    for (const value of ['a\rSet-Cookie: b=c', 'a\nSet-Cookie: b=c', 'a\0b']) {
      const { status, headers } = await send('GET /v4/session HTTP/1.1', [`Origin: ${value}`])
      // A bare LF ends a line for some parsers: then it is a header of its own, and says nothing here.
      expect([200, 400]).toContain(status)
      expect(headers['set-cookie'] ?? '').not.toContain('b=c')
    }
  })

  it('an invalid Host is 400 header_malformed for every path', async () => {
    const { url } = await start()
    for (const host of ['a b', '[', 'x:99999', '%', 'a@b:c'])
      for (const path of ['/v4/dq', '/v4/session', '/v4/twin/x']) {
        const text = await sendLines(url, [`GET ${path} HTTP/1.1`, `Host: ${host}`, 'Connection: close'])
        const { status, body } = readWire(text)
        expect([host, status, body?.code]).toEqual([host, 400, 'header_malformed'])
      }
  })

  it('a foreign Host does not reach the controls', async () => {
    const { url } = await start()
    for (const host of ['sandbox.example.test', '127.0.0.1.example.test', '10.0.0.1']) {
      const text = await sendLines(url, ['GET /_sandbox/clock HTTP/1.1', `Host: ${host}`, 'Connection: close'])
      expect(readWire(text).body.code).toBe('host_refused')
    }
  })

  it('HTTP/1.0 without a Host is served', async () => {
    const { url } = await start()
    expect(readWire(await sendLines(url, ['GET /v4/dq HTTP/1.0'])).status).toBe(200)
  })
})

describe('lengths that lie', () => {
  it('a length over the limit is 413 before the body arrives', async () => {
    const { send } = await start({ limits: { bodyBytes: 1000 } })
    const headers = ['Content-Type: application/json', 'Content-Length: 100000000000']
    const { status, text } = await send('POST /v4/account/register HTTP/1.1', headers, '{')
    expect(status).toBe(413)
    expect(text).toContain('body_too_large')
  })

  it('an endless body is 413 as soon as it is too large, and the next caller is served', async () => {
    const { send, call } = await start({ limits: { bodyBytes: 1000 } })
    const headers = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
    const { status, text } = await send(
      'POST /v4/account/register HTTP/1.1',
      headers,
      '400\r\n'.concat('x'.repeat(1024), '\r\n'),
    )
    expect(status).toBe(413)
    expect(text).toContain('body_too_large')
    expect((await call('GET', '/v4/dq')).status).toBe(200)
  })

  it('both a length and chunks are 400, because they could disagree', async () => {
    const { send } = await start()
    const headers = ['Content-Length: 2', 'Transfer-Encoding: chunked', 'Content-Type: application/json']
    expect((await send('POST /v4/account/register HTTP/1.1', headers, '2\r\n{}\r\n0\r\n\r\n')).status).toBe(400)
  })

  it('a caller who disconnects within the body changes nothing, and the next is served', async () => {
    const { call, url, lines, state } = await start()
    const { token } = await newSeller(call)
    const before = (await state()).rows
    const headers = ['Content-Type: application/json', 'Content-Length: 100', `Authorization: Bearer ${token}`]
    const { Socket } = await import('node:net')
    const socket = new Socket().connect(Number(new URL(url).port), '127.0.0.1')
    await new Promise<void>((resolve) => {
      socket.write(`${lines('PUT /v4/account HTTP/1.1', ...headers).join('\r\n')}\r\n\r\n{"name":"N"`, () => resolve())
    })
    socket.destroy()
    expect((await call('GET', '/v4/account', { token })).body.name).toBeNull()
    expect((await state()).rows).toEqual(before)
  })
})

describe('a HEAD', () => {
  it('has no body on the wire', async () => {
    const { url, lines } = await start()
    for (const path of ['/v4/dq', '/v4/nowhere', '/v4/openapi.json']) {
      const text = await sendLines(url, lines(`HEAD ${path} HTTP/1.1`))
      expect(text.slice(text.indexOf('\r\n\r\n'))).toBe('\r\n\r\n')
    }
  })
})

describe('pipelined requests', () => {
  it('are answered in order', async () => {
    const { url, lines } = await start()
    const keepAlive = lines('GET /v4/dq HTTP/1.1').filter((line) => !line.startsWith('Connection'))
    const others = ['GET /v4/nowhere HTTP/1.1', 'GET /v4/account HTTP/1.1'].map((first) => [
      first,
      ...keepAlive.slice(1),
    ])
    const last = lines('HEAD /v4/dq HTTP/1.1')
    const all = [...others, last].map((each) => `${each.join('\r\n')}\r\n\r\n`).join('')
    const text = await sendLines(url, keepAlive, all)
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['200', '404', '401', '200'].map((status) => `HTTP/1.1 ${status}`))
  })
})
