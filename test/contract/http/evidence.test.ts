import { expect, it } from 'vitest'
import { evidenceGrades, isWeaker } from '../../../src/base/evidence.js'
import { contract } from '../../support/contract/contract.js'
import { type Operation, operations } from '../../support/contract/operations.js'
import { expectProblem } from '../../support/scenes/market.js'

const isControl = ({ route }: Operation) => route.scope === 'sandbox'
const ofService = operations.filter(({ route }) => (route.scope ?? 'service') === 'service')
const isPage = ({ route }: Operation) => String(route.produces) === 'text/html' && String(route.auth) === 'guest'
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
      else expect(answer.body?.code, `${route.method} ${absent}`).not.toBe('evidence_refused')
    }
  })

  it.each(evidenceGrades)(
    '%s required: the controls and the OpenAPI document still answer',
    { tags: 'everywhere' },
    async (evidence) => {
      const { call } = await start({ evidence })
      expect((await call('GET', '/_sandbox/health')).body.evidence).toBe(evidence)
      expect((await call('POST', '/_sandbox/clock', { body: { advance: '1s' } })).status).toBe(200)
      expect((await call('GET', '/_sandbox/ledger')).status).toBe(200)
      expect((await call('GET', '/v4/openapi.json')).body.openapi).toBe('3.1.0')
    },
  )

  it('is not required of pages for people, nor of standard metadata', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start({ evidence: 'documented' })
    for (const found of [ofService.filter(isPage), ofService.filter(isMetadata)]) {
      expect(found.some(({ evidence }) => evidence === 'designed')).toBe(true)
      for (const { route, absent } of found)
        expect((await call(route.method, absent)).status, `${route.method} ${absent}`).not.toBe(501)
    }
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
    expectProblem(await call('GET', '/v2/commodity/some-hash'), 404, 'not_found')
    expectProblem(await call('GET', '/v4/commodity/some-hash'), 501, 'evidence_refused')
  })
})

contract('readOpenapi', (start) => {
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
