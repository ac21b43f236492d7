import { expect, it } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { type Evidence, evidenceGrades, isWeaker } from '../../../src/base/evidence.js'
import { PAGE_CALL } from '../../../src/base/page-call.js'
import { gradeOf } from '../../../src/http/fields/graded.js'
import { createService } from '../../../src/index.js'
import { StorageUnavailable } from '../../../src/storage/storage.js'
import { contract } from '../../support/contract/contract.js'
import { type Operation, operations } from '../../support/contract/operations.js'
import { expectProblem } from '../../support/scenes/market.js'
import {
  asClient,
  claimsIn,
  exchangeCode,
  fill,
  newConfidentialApp,
  returned,
  signInAt,
  startInteraction,
} from '../../support/scenes/oidc.js'
import { defaultDq, newPayer, newSeller, newTwin } from '../../support/scenes/world.js'

const isControl = ({ route }: Operation) => route.scope === 'sandbox'
const ofService = operations.filter(({ route }) => (route.scope ?? 'service') === 'service')
const isPage = ({ route: { produces = [], auth } }: Operation) =>
  ['text/html', 'text/javascript'].includes(String(produces)) && ['guest', 'none'].includes(String(auth))
const isMetadata = ({ path }: Operation) => path.includes('/.well-known/')

contract('evidence', (start) => {
  it('is a header of every answer of every operation', async () => {
    const { call } = await start()
    for (const { route, absent, evidence } of operations.filter((operation) => !isControl(operation)))
      expect((await call(route.method, absent)).headers.get('x-evidence'), `${route.method} ${absent}`).toBe(evidence)
  })

  it('is exposed to pages', async () => {
    const { call } = await start()
    const { headers } = await call('GET', '/v4/dq', { headers: { origin: 'https://shop.example.test' } })
    expect(headers.get('x-evidence')).toBe('documented')
    expect(headers.get('access-control-expose-headers')).toContain('X-Evidence')
  })

  it.each(evidenceGrades)('%s required: weaker operations are 501, and no others', async (least) => {
    const { call } = await start({ evidence: least })
    for (const operation of ofService) {
      const { route, absent, evidence } = operation
      if (isPage(operation) || isMetadata(operation)) continue
      const answer = await call(route.method, absent)
      if (isWeaker(evidence, least)) expectProblem(answer, 501, 'evidence_refused')
      else expect(answer.status, `${route.method} ${absent}`).not.toBe(501)
    }
  })

  it.each(evidenceGrades)(
    '%s required: the controls still answer',
    { tags: ['everywhere', 'pages'] },
    async (evidence) => {
      const { call } = await start({ evidence })
      expect((await call('GET', '/_sandbox/health')).body.evidence).toBe(evidence)
      expect((await call('POST', '/_sandbox/clock', { body: { advance: '1s' } })).status).toBe(200)
      expect((await call('GET', '/_sandbox/ledger')).status).toBe(200)
    },
  )

  it('is not required of pages, of their script and calls, nor of standard metadata', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call } = await start({ evidence: 'documented' })
    for (const found of [ofService.filter(isPage), ofService.filter(isMetadata)]) {
      expect(found.some(({ evidence }) => evidence === 'designed')).toBe(true)
      for (const { route, absent } of found)
        expect((await call(route.method, absent)).status, `${route.method} ${absent}`).not.toBe(501)
    }
    const headers = { [PAGE_CALL]: 'embed' }
    expectProblem(await call('POST', '/v4/session/code', { headers, body: {} }), 400, 'field_invalid')
  })

  it('is checked first: a refused call does nothing and needs no credentials', async () => {
    const { call, state } = await start({ evidence: 'documented' })
    const before = (await state()).rows
    const json = { 'content-type': 'application/json' }
    expectProblem(await call('POST', '/v4/session/code', { raw: '{', headers: json }), 501, 'evidence_refused')
    expectProblem(
      await call('POST', '/v4/session/code', { body: { email: 'ada@example.test' } }),
      501,
      'evidence_refused',
    )
    expectProblem(await call('GET', '/v4/payments'), 501, 'evidence_refused')
    expect((await state()).rows).toEqual(before)
  })

  it("differs between versions of one operation: a commodity's read is documented as v2 and observed as v4", async () => {
    const { call } = await start({ evidence: 'documented' })
    expect((await call('GET', '/v2/commodity/some-hash')).status).toBe(404)
    expectProblem(await call('GET', '/v4/commodity/some-hash'), 501, 'evidence_refused')
  })
})

contract('evidence of fields', (start) => {
  const strict = async (evidence: Evidence) => {
    const started = await start({ evidence })
    const seller = await newSeller(started.call)
    const { token } = seller
    const dq = await defaultDq(started.call)
    const sale = { descriptor: 'PRESS', dq, cost: 0.25, twin_id: (await newTwin(started.call, token)).id }
    return { ...started, seller, token, dq, sale }
  }

  it('a weaker field of a request is 501 and named, and nothing happens', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call, token, sale, state } = await strict('documented')
    const before = (await state()).rows
    const body = { ...sale, payback: true }
    const refused = await call('POST', '/v4/commodity', { token, body })
    expectProblem(refused, 501, 'evidence_refused')
    expect(refused.body.error).toMatch(/The field "payback" is designed, and the mode is documented/)
    const page = await call('GET', '/v4/twins?limit=5', { token })
    expect(page.body.error).toMatch(/"limit" is designed/)
    const observed = await call('GET', '/v2/commodity/some-hash?embed=false')
    expect(observed.body.error).toMatch(/"embed" is observed/)
    const headers = { 'idempotency-key': 'once' }
    expect((await call('POST', '/v4/commodity', { token, body: sale, headers })).body.error).toMatch(/Idempotency-Key/)
    expect((await state()).rows).toEqual(before)
  })

  it('each operation refuses the weaker fields and the key that it knows', async () => {
    const { call } = await start({ evidence: 'documented' })
    const isWeak = ([, schema]: [string, object]) => gradeOf(schema as never) !== undefined
    const graded = ofService.filter((operation) => !isPage(operation) && !isMetadata(operation))
    let asked = 0
    for (const { route, absent } of graded.filter(({ evidence }) => evidence === 'documented')) {
      const [inQuery] = Object.entries(route.query?.shape ?? {}).filter(isWeak)
      const [inBody] = Object.entries(route.body?.shape ?? {}).filter(isWeak)
      for (const [path, options] of [
        ...(route.idempotent ? [[absent, { headers: { 'idempotency-key': 'k' } }] as const] : []),
        ...(inQuery ? [[`${absent}?${inQuery[0]}=1`, {}] as const] : []),
        ...(inBody ? [[absent, { body: { [inBody[0]]: 1 } }] as const] : []),
      ]) {
        expectProblem(await call(route.method, path, options), 501, 'evidence_refused')
        asked++
      }
    }
    expect(asked).toBeGreaterThan(15)
  })

  it('answers show no weaker field', { tags: 'everywhere' }, async () => {
    const { call, seller, token, sale, dq } = await strict('observed')
    expect(Object.keys((await call('GET', '/v4/twins', { token })).body)).toEqual(['twins'])
    const { body: commodity } = await call('POST', '/v4/commodity', { token, body: sale })
    expect(Object.keys(commodity).sort()).toEqual(['cost', 'descriptor', 'dq', 'hash', 'hostname'])
    const { token: payer } = await newPayer(call, seller, { balance: 1 })
    const path = `/v4/payment/${commodity.hash}`
    expectProblem(await call('POST', path, { token: payer, body: { cost: 0.25, dq } }), 501, 'evidence_refused')
    const paid = await call('POST', path, { token: payer, body: {} })
    expect(paid.status).toBe(202)
    expect(Object.keys(paid.body).sort()).toEqual(['nonce', 'timestamp'])
    const valid = await call('POST', `${path}/validate`, { token, body: paid.body })
    expect({ status: valid.status, body: valid.body }).toEqual({ status: 200, body: {} })
  })

  it('refusals show the documented fields', { tags: 'everywhere' }, async () => {
    const { call, token } = await strict('documented')
    for (const { status, body } of [
      await call('GET', '/v4/twins'),
      await call('GET', '/v4/nothing'),
      await call('PUT', '/v4/account', { token, body: {} }),
      await call('GET', '/v4/twin/unknown.twin.localhost', { token }),
    ])
      expect(body).toEqual({ error: expect.any(String), status })
  })

  it('every refusal of every operation shows the documented fields, or those of its standard', async () => {
    const { call } = await start({ evidence: 'documented' })
    const allowed = new Set(['error', 'status', 'changed', 'error_description', 'error_uri', 'message'])
    let refused = 0
    for (const operation of ofService.filter(({ evidence }) => evidence === 'documented'))
      for (const options of [
        { token: 'wrong' },
        operation.route.method === 'GET' ? {} : { raw: '{', headers: { 'content-type': 'application/json' } },
      ]) {
        const { status, body } = await call(operation.route.method, operation.absent, options)
        if (status < 400 || isPage(operation)) continue
        refused++
        const more = Object.keys(body).filter((name) => !allowed.has(name))
        expect(more, `${operation.route.method} ${operation.absent}`).toEqual(body.status === 501 ? ['code'] : [])
      }
    expect(refused).toBeGreaterThan(50)
  })

  it('the id of a twin in place of its hostname is what existing clients send', {
    tags: 'everywhere',
  }, async () => {
    for (const [evidence, expected] of [
      ['documented', 501],
      ['observed', 200],
    ] as const) {
      const { call, token, sale } = await strict(evidence)
      expect((await call('GET', `/v4/twin/${sale.twin_id}`, { token })).status).toBe(expected)
    }
  })

  it('claims about twins are our own: discovery, id tokens and introspection have none', {
    tags: 'everywhere',
  }, async () => {
    for (const [evidence, names] of [
      ['observed', []],
      ['designed', ['agent_twin_hostname', 'agent_twin_key', 'twin_hostname']],
    ] as const) {
      const { call } = await start({ evidence })
      const { body } = await call('GET', '/v4/oidc/.well-known/openid-configuration')
      expect(body.claims_supported.filter((name: string) => name.includes('twin')).sort()).toEqual(names)
      const app = await newConfidentialApp(call)
      const path = await startInteraction(call, app, { scope: 'openid twin' })
      const guest = (await call('GET', path)).headers.get('x-session-id') as string
      const { session } = await signInAt(call, path, 'ada@example.test', guest)
      const { code = '' } = returned(await fill(call, path, session, { answer: 'allow', account: 'none' }))
      const { access_token, id_token } = (await exchangeCode(call, app, code)).body
      const introspected = await asClient(call, app, 'token/introspection', { token: access_token })
      expect(introspected.body.active).toBe(true)
      const claims = { ...introspected.body, ...claimsIn(id_token) }
      expect(
        Object.keys(claims)
          .filter((name) => name.includes('twin'))
          .sort(),
      ).toEqual(names)
    }
  })

  it('a failure of the storage is 500 as documented, and 503 in weaker modes', async () => {
    for (const [evidence, status] of [
      ['documented', 500],
      ['observed', 503],
    ] as const) {
      const storage = memoryStorage()
      const service = createService({ evidence, log: { error: () => {} }, storage })
      await service.fetch('/v4/dq')
      const failure = () => Promise.reject(new StorageUnavailable('The disk is gone.'))
      storage.read = failure
      storage.write = failure
      for (const request of [
        new Request(`${service.baseUrl}/v4/dq`),
        new Request(`${service.baseUrl}/v4/account`, { method: 'POST' }),
      ]) {
        const answer = await service.fetch(request)
        const body = await answer.json()
        expect([answer.status, body.status, Object.keys(body).sort()]).toEqual([status, status, ['error', 'status']])
      }
      await service.close()
    }
  })

  it('a failing disk is 500 in each runtime, as documented', { tags: ['everywhere', 'pages', 'worker'] }, async () => {
    const { call } = await start({ evidence: 'documented' })
    const fault = { match: { port: 'storage' }, at: 'before', do: { error: 'ENOSPC' } }
    expect((await call('POST', '/_sandbox/faults', { body: fault })).status).toBe(201)
    const refused = await call('POST', '/v4/account')
    expect([refused.status, refused.body]).toEqual([500, { error: expect.any(String), status: 500 }])
  })

  it('the page of an embed sees every field', async () => {
    const { call, token } = await strict('documented')
    const headers = { [PAGE_CALL]: 'embed' }
    expect(Object.keys((await call('GET', '/v4/twins?limit=5', { token, headers })).body)).toEqual(['twins', 'next'])
    expectProblem(await call('GET', '/v4/twins', { headers }), 401, 'authorization_missing')
  })

  it('a required field is as strong as its operation, so no operation is out of reach', () => {
    const weak = operations.flatMap(({ route, path }) =>
      Object.entries({ ...route.query?.shape, ...route.body?.shape })
        .filter(([, schema]) => gradeOf(schema) && schema._zod.optin !== 'optional')
        .map(([name]) => `${route.method} ${path} ${name}`),
    )
    expect(weak).toEqual([])
  })

  it('discovery lists only what answers', { tags: 'everywhere' }, async () => {
    for (const evidence of evidenceGrades) {
      const { call, url } = await start({ evidence })
      const { body } = await call('GET', '/v4/oidc/.well-known/openid-configuration')
      const listed = Object.entries(body).filter(([name]) => /_endpoint$|^jwks_uri$/.test(name))
      expect(listed.length).toBe({ designed: 8, documented: 4 }[evidence as string] ?? 5)
      for (const [name, endpoint] of listed) {
        const method = /authorization|session|userinfo|jwks/.test(name) ? 'GET' : 'POST'
        expect((await call(method, String(endpoint).slice(url.length))).status, name).not.toBe(501)
      }
    }
  })
})

contract('readOpenapi', (start) => {
  it('answers in every mode', async () => {
    const { call } = await start({ evidence: 'documented' })
    expect((await call('GET', '/v4/openapi.json')).body.openapi).toBe('3.1.0')
  })

  it('GET /v4/openapi.json describes the service that it came from, to anyone', async () => {
    const { call, url } = await start()
    const { status, body, headers } = await call('GET', '/v4/openapi.json')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json')
    expect(body.servers).toEqual([{ url }])
    expect(Object.keys(body.paths)).toHaveLength(new Set(operations.map(({ path }) => path)).size)
    expect(body.paths['/v4/twin/{hostname}'].get).toMatchObject({ operationId: 'readTwin', 'x-evidence': 'documented' })
  })
})
