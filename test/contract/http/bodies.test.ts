import { describe, expect, it } from 'vitest'
import type { ProblemCode } from '../../../src/base/problem.js'
import { createService } from '../../../src/index.js'
import { type Answer, type Call, caller } from '../../support/api.js'
import { contract, type Started } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { expectProblem, expectSoundLedger } from '../../support/scenes/market.js'
import { defaultDq, newSeller, newTwin, newUser } from '../../support/scenes/world.js'

const json = { 'content-type': 'application/json' }
const MEBIBYTE = 1_048_576

const rename = (call: Call, token: string, raw: string, headers: Record<string, string> = json): Promise<Answer> =>
  call('PUT', '/v4/account', { token, raw, headers })

contract('a body', (start) => {
  it('is read as JSON with each Content-Type of JSON', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'Application/JSON ;charset=utf-8',
      'application/vnd.api+json',
      'application/problem+json; x=y',
    ])
      expect((await rename(call, token, `{"name":"N of ${type}"}`, { 'content-type': type })).body.name).toBe(
        `N of ${type}`,
      )
  })

  it('may be a form, whose texts become the types of its fields', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const twin = await newTwin(call, token)
    const form = { descriptor: '42', dq: await defaultDq(call), cost: '0.25', twin_id: String(twin.id) }
    const answer = await call('POST', '/v4/commodity', { token, form })
    expect(answer.status).toBe(201)
    expect(answer.body).toMatchObject({ descriptor: '42', cost: 0.25, hostname: twin.hostname })
    for (const wrong of [{ cost: 'free' }, { cost: '' }, { cost: '0x10' }, { cost: 'Infinity' }, { twin_id: '1.5' }]) {
      const refused = await call('POST', '/v4/commodity', { token, form: { ...form, ...wrong } })
      expectProblem(refused, 400, 'field_invalid')
      expect(refused.body.field).toBe(Object.keys(wrong)[0])
    }
  })

  it('as a form with a field twice is 400 and names it, unless the field is unknown', {
    tags: 'everywhere',
  }, async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const twice = await rename(call, token, 'name=a&name=b', form)
    expectProblem(twice, 400, 'field_invalid')
    expect(twice.body.field).toBe('name')
    expect((await rename(call, token, 'name=a&x=1&x=2&__proto__=y', form)).body.name).toBe('a')
  })

  it('says so if a refused form looks like JSON', async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const refused = await call('POST', '/v4/commodity', { token, headers, raw: '{"descriptor":"X"}' })
    expect(refused.status).toBe(400)
    expect(refused.body).toMatchObject({
      code: 'field_invalid',
      error: expect.stringContaining('Content-Type: application/json'),
    })
    const form = await call('POST', '/v4/commodity', { token, headers, raw: 'descriptor=X' })
    expect(form.body.error).not.toContain('JSON')
  })

  it('in JSON must not have text for a number, nor a number for text', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const body = { descriptor: 'X', dq: await defaultDq(call), cost: 1, twin_id: (await newTwin(call, token)).id }
    for (const [field, wrong] of Object.entries({ descriptor: 1, cost: '1', twin_id: String(body.twin_id) })) {
      const answer = await call('POST', '/v4/commodity', { token, body: { ...body, [field]: wrong } })
      expectProblem(answer, 400, 'field_invalid')
      expect(answer.body.field).toBe(field)
    }
  })

  it('may contain unknown fields of any kind, which are ignored', async () => {
    const {
      call,
      state,
      made: { token },
    } = await startWith(start, newSeller)
    for (const unknown of [
      '"x":1',
      '"id":999',
      '"created_at":"0"',
      '"secrets":[]',
      '"x":{"y":[{"z":null}]}',
      '"":""',
      '"public_secret":"mp_x"',
    ])
      expect((await rename(call, token, `{"name":"N",${unknown}}`)).body.name).toBe('N')
    const kept = (await state()).rows.accounts ?? []
    expect(kept.map(({ id }) => id)).not.toContain(999)
    expect(JSON.stringify(kept)).not.toMatch(/"(x|secrets)"|"mp_x"|"created_at":"?0/)
  })

  it('may contain __proto__ and constructor, which are unknown fields', async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const tricks = [
      '{"__proto__":{"name":"N"}}',
      '{"constructor":{"prototype":{"name":"N"}}}',
      '{"__proto__":{"__proto__":null}}',
    ]
    for (const trick of tricks) expectProblem(await rename(call, token, trick), 400, 'field_invalid')
    expect((await rename(call, token, '{"__proto__":{"businessName":"B"},"name":"N"}')).body).toMatchObject({
      name: 'N',
      businessName: null,
    })
    expect(({} as { name?: unknown }).name).toBeUndefined()
    expectProblem(
      await call('POST', '/v4/account/register', {
        raw: '{"__proto__":{"dq":"x","email":"ada@example.test"}}',
        headers: json,
      }),
      400,
      'field_invalid',
    )
  })

  it.each([33, 1000, 100_000])('nested %i levels deep is 400, in a known field or not', async (depth) => {
    const {
      call,
      state,
      made: { token },
    } = await startWith(start, newSeller)
    const before = (await state()).rows
    for (const field of ['name', 'x'])
      for (const [open, close] of [
        ['[', ']'],
        ['{"a":', '}'],
      ] as const) {
        const deep = `${open.repeat(depth)}1${close.repeat(depth)}`
        expectProblem(await rename(call, token, `{"name":"N","${field}":${deep}}`), 400, 'field_invalid')
      }
    expect((await state()).rows).toEqual(before)
  })

  it('with an Idempotency-Key follows the same rules', { tags: 'everywhere' }, async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const twin = await newTwin(call, seller.token)
    const dq = await defaultDq(call)
    const headers = { ...json, 'idempotency-key': 'odd' }
    const sent = (unknown: string) =>
      call('POST', '/v4/commodity', {
        token: seller.token,
        headers,
        raw: `{"descriptor":"X","dq":"${dq}","cost":1,"twin_id":${twin.id},${unknown}}`,
      })
    for (const refused of [`"x":${'['.repeat(5000)}${']'.repeat(5000)}`, '"x":1e999', '"x":"\\ud800"'])
      expectProblem(await sent(refused), 400, 'field_invalid')
    const taken = await sent('"__proto__":{"x":-0,"y":1e21},"x":["\\ud83e\\uddee"]')
    expect(taken.status).toBe(201)
    expect((await sent('"x":["🧮"],"__proto__":{"y":1e21,"x":0}')).text).toBe(taken.text)
  })

  it('with U+0000 or half of a surrogate pair is 400, because not every storage can store it', {
    tags: 'everywhere',
  }, async () => {
    const {
      call,
      state,
      made: { token },
    } = await startWith(start, newSeller)
    const before = (await state()).rows
    for (const text of ['\\u0000', 'a\\u0000b', '\\ud83e', 'x\\uddee', '\\uddee\\ud83e']) {
      const answer = await rename(call, token, `{"name":"${text}"}`)
      expectProblem(answer, 400, 'field_invalid')
      expect(answer.body.field).toBe('name')
      expectProblem(await rename(call, token, `{"name":"N","x":{"${text}":1}}`), 400, 'field_invalid')
    }
    expect((await state()).rows).toEqual(before)
  })

  it('keeps text unchanged', { tags: ['everywhere', 'pages'] }, async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const scripts = ["'; drop table accounts; --", '<script>alert(1)</script>', '=1+1']
    for (const name of ['🧮', ...scripts, ' ', '\u00a0', '𝒜'.repeat(127)]) {
      expect((await call('PUT', '/v4/account', { token, body: { name } })).body.name).toBe(name)
      expect((await call('GET', '/v4/account', { token })).body.name).toBe(name)
    }
  })

  it('may start with a byte order mark', { tags: ['everywhere', 'pages'] }, async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    expect((await rename(call, token, '\ufeff{"name":"N"}')).body.name).toBe('N')
  })

  it('that is not UTF-8 is 400, and nothing of it is stored', { tags: ['everywhere', 'pages', 'worker'] }, async () => {
    const {
      call,
      state,
      made: { token },
    } = await startWith(start, newSeller)
    const before = (await state()).rows
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80]]) {
      const raw = new Uint8Array([...new TextEncoder().encode('{"name":"'), ...bytes, 0x22, 0x7d])
      expectProblem(await call('PUT', '/v4/account', { token, raw, headers: json }), 400, 'body_malformed')
    }
    expect((await state()).rows).toEqual(before)
  })
})

contract('a body that breaks off', (start) => {
  it('changes nothing', { tags: 'everywhere' }, async () => {
    const { url, fetch, call, state } = await start()
    const { token } = await newSeller(call)
    const before = (await state()).rows
    const pieces = [new TextEncoder().encode('{"name":"N"')]
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces.shift()
        if (piece) controller.enqueue(piece)
        else controller.error(new Error('gone'))
      },
    })
    const headers = { ...json, authorization: `Bearer ${token}` }
    const init: RequestInit & { duplex: 'half' } = { method: 'PUT', headers, body, duplex: 'half' }
    // Over a connection there is nobody left to answer.
    const response = await fetch(new Request(`${url}/v4/account`, init)).catch(() => undefined)
    if (response) expect([response.status, (await response.json()).code]).toEqual([400, 'body_malformed'])
    expect((await state()).rows).toEqual(before)
  })
})

contract('a body as large as the limit', (start) => {
  const sized = (size: number) => `{"name":"N","x":"${'x'.repeat(size - '{"name":"N","x":""}'.length)}"}`

  it('is accepted (default: a mebibyte); one more byte is 413 and changes nothing', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const {
      call,
      state,
      made: { token },
    } = await startWith(start, newSeller)
    expect((await rename(call, token, sized(MEBIBYTE))).status).toBe(200)
    const before = (await state()).rows
    const answer = await rename(call, token, sized(MEBIBYTE + 1))
    expectProblem(answer, 413, 'body_too_large')
    expect(answer.body.error).toContain(`${MEBIBYTE} bytes`)
    expect((await state()).rows).toEqual(before)
  })

  it('is counted in bytes, not in characters', { tags: 'everywhere' }, async () => {
    const { call } = await start({ limits: { bodyBytes: 100 } })
    const { token } = await newSeller(call)
    expect((await rename(call, token, sized(97).replace('x"}', '🧮"}'))).status).toBe(200)
    expectProblem(await rename(call, token, sized(98).replace('x"}', '🧮"}')), 413, 'body_too_large')
  })

  it('is counted as it arrives if it has no Content-Length', { tags: ['everywhere', 'pages', 'worker'] }, async () => {
    const started = await start({ limits: { bodyBytes: 1000 } })
    const { token } = await newSeller(started.call)
    const whole = await streamed(started, token, [sized(1000)])
    expect(whole.status).toBe(200)
    const inPieces = await streamed(started, token, [...sized(1000)])
    expect(inPieces.status).toBe(200)
    for (const pieces of [[sized(1001)], [...sized(1001)], Array.from({ length: 200 }, () => 'x'.repeat(1000))]) {
      const { status, body } = await streamed(started, token, pieces)
      expect([status, body.code]).toEqual([413, 'body_too_large'])
    }
    expect((await started.call('GET', '/v4/account', { token })).body.name).toBe('N')
  })
})

/** Renames the account by a body that comes in pieces, of a length that is not announced. */
async function streamed(
  { url, fetch }: Started,
  token: string,
  pieces: string[],
): Promise<{ status: number; body: any }> {
  const encoder = new TextEncoder()
  const waiting = [...pieces]
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = waiting.shift()
      if (piece === undefined) controller.close()
      else controller.enqueue(encoder.encode(piece))
    },
  })
  const headers = { ...json, authorization: `Bearer ${token}` }
  const init: RequestInit & { duplex: 'half' } = { method: 'PUT', headers, body, duplex: 'half' }
  const response = await fetch(new Request(`${url}/v4/account`, init))
  return { status: response.status, body: await response.json() }
}

contract('an amount', (start) => {
  const wrong: [sent: string, code: ProblemCode][] = [
    ['-1', 'amount_invalid'],
    ['-0.001', 'amount_invalid'],
    ['0.0001', 'amount_invalid'],
    ['1.0001', 'amount_invalid'],
    ['1e-7', 'amount_invalid'],
    ['9007199254740.992', 'amount_invalid'],
    ['1e300', 'amount_invalid'],
    ['1e309', 'field_invalid'],
    ['-1e309', 'field_invalid'],
    ['"1"', 'field_invalid'],
    ['"0.25"', 'field_invalid'],
    ['""', 'field_invalid'],
    ['true', 'field_invalid'],
    ['false', 'field_invalid'],
    ['null', 'field_invalid'],
    ['[]', 'field_invalid'],
    ['[1]', 'field_invalid'],
    ['{}', 'field_invalid'],
    ['{"value":1}', 'field_invalid'],
  ]

  it("that is none is 400 as a commodity's cost, and nothing is created", async () => {
    const {
      call,
      state,
      made: { token },
    } = await startWith(start, newSeller)
    const [twin, dq] = [await newTwin(call, token), await defaultDq(call)]
    const before = (await state()).rows
    for (const [cost, code] of wrong)
      for (const path of ['/v4/commodity', '/v2/commodity/'])
        for (const key of [{}, { 'idempotency-key': `k ${cost}` }]) {
          const raw = `{"descriptor":"X","dq":"${dq}","twin_id":${twin.id},"cost":${cost}}`
          const answer = await call('POST', path, { token, raw, headers: { ...json, ...key } })
          expectProblem(answer, 400, code)
          if (code === 'field_invalid') expect(answer.body.field, cost).toBe('cost')
        }
    expect((await state()).rows).toEqual(before)
    expect((await call('GET', '/v4/commodities', { token })).body.commodities).toEqual([])
  })

  const nothing: typeof wrong = [
    ['0', 'amount_invalid'],
    ['-0', 'amount_invalid'],
  ]

  it('that is none, or nothing, is 400 to issue, and nothing moves', async () => {
    const {
      call,
      state,
      made: { hostname, token },
    } = await startWith(start, newUser, { balance: 5 })
    const [before, ledger] = [(await state()).rows, await expectSoundLedger(call)]
    for (const [amount, code] of [...wrong, ...nothing]) {
      const raw = `{"hostname":"${hostname}","amount":${amount}}`
      const answer = await call('POST', '/_sandbox/fund', { raw, headers: json })
      expectProblem(answer, 400, code)
      if (code === 'field_invalid') expect(answer.body.field, amount).toBe('amount')
    }
    expect((await state()).rows).toEqual(before)
    expect(await expectSoundLedger(call)).toEqual(ledger)
    expect(Object.values((await call('GET', `/v4/twin/${hostname}`, { token })).body.balances)).toEqual([5])
  })
})

describe('a runtime without request streams', () => {
  it('reads the whole body and counts it', async () => {
    const service = createService({ sandbox: true, limits: { bodyBytes: 100 } })
    const withoutStream = (request: Request) =>
      service.fetch(new Proxy(request, { get: (target, name) => (name === 'body' ? undefined : bound(target, name)) }))
    const call = caller({ url: 'http://127.0.0.1:4242', fetch: withoutStream })
    const { token } = await newSeller(call)
    expect((await rename(call, token, '{"name":"N"}')).body.name).toBe('N')
    expectProblem(await rename(call, token, `{"name":"${'n'.repeat(100)}"}`), 413, 'body_too_large')
  })
})

function bound(target: Request, name: string | symbol): unknown {
  const value = Reflect.get(target, name, target) as unknown
  return typeof value === 'function' ? value.bind(target) : value
}
