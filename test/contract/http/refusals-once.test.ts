import { describe, expect, it, vi } from 'vitest'
import { isProbe } from '../../../src/http/probes/paths.js'
import type { Route } from '../../../src/http/route.js'
import { createService } from '../../../src/index.js'
import { caller } from '../../support/api.js'
import { operations } from '../../support/contract/operations.js'
import {
  acceptedBy,
  allRefuse,
  bodyOfType,
  built,
  merged,
  newCallers,
  otherTypes,
  sampleOf,
  withBody,
} from '../../support/contract/refusals.js'
import { samplesOf, wrongValuesOf } from '../../support/contract/samples.js'
import { settledRows } from '../../support/contract/settled.js'
import { howMuch } from '../../support/how-much.js'
import { expectProblem } from '../../support/scenes/market.js'
import { startFailing } from '../../support/storage/failing-storage.js'

/** What the frame refuses wherever it runs is asked of every operation once: thousands of calls. */
vi.setConfig({ testTimeout: 60_000 })

describe('every operation with a body', () => {
  it('refuses a field of a wrong type and names it: 400 field_invalid', async () => {
    const service = createService({ sandbox: true })
    const call = caller({ url: service.baseUrl, fetch: service.fetch })
    const callers = await newCallers(call)
    for (const { route, absent } of withBody) {
      const body = route.body as NonNullable<Route['body']>
      for (const [field, schema] of Object.entries(body.shape))
        for (const wrong of wrongValuesOf(schema).slice(0, howMuch(1, undefined))) {
          const sent = { ...samplesOf(body), [field]: wrong }
          const answer = await call(route.method, absent, merged(acceptedBy(route, callers), { body: sent }))
          const named = (answer.body.field as string).split('.')[0]
          expect([route.id, answer.status, answer.body.code, named]).toEqual([route.id, 400, 'field_invalid', field])
        }
    }
    await service.close()
  })

  // The contract of refusals sends each type, to two operations.
  it.each(howMuch(['text/plain', ''], otherTypes))(
    'refuses the Content-Type "%s": 415 content_type_refused',
    async (type) => {
      const service = createService({ sandbox: true })
      const running = { url: service.baseUrl, fetch: service.fetch, state: () => service.sandbox.snapshot() }
      const call = caller(running)
      const callers = await newCallers(call)
      await allRefuse({ call, state: running.state }, withBody, [415, 'content_type_refused'], ({ route }) =>
        merged(acceptedBy(route, callers), bodyOfType(type)),
      )
      await service.close()
    },
  )
})

describe('every operation of a sandbox that is served over HTTP', () => {
  it('refuses changes by foreign pages without credentials: 403 origin_refused', async () => {
    const service = createService({ sandbox: true })
    const peerAddress = '127.0.0.1'
    const call = caller({ url: service.baseUrl, fetch: (request) => service.respond(request, { peerAddress }) })
    const changing = built.filter(({ route }) => route.method !== 'GET' && route.scope !== 'sandbox')
    const state = () => service.sandbox.snapshot()
    for (const origin of ['https://evil.example.test', 'null'])
      await allRefuse({ call, state }, changing, [403, 'origin_refused'], ({ route }) =>
        merged(sampleOf(route), { headers: { origin } }),
      )
    await service.close()
  })
})

describe('every operation that also takes its query as a body', () => {
  it('checks it like any body', async () => {
    const service = createService({ sandbox: true, limits: { bodyBytes: 1000 } })
    const url = 'http://127.0.0.1:4242'
    const callers = await newCallers(caller({ url, fetch: service.fetch }))
    const asked = built.filter(({ route }) => route.queryInBody)
    expect(asked.length).toBeGreaterThan(0)
    for (const [body, type, status, code] of [
      ['{', 'application/json', 400, 'body_malformed'],
      ['{}', 'text/plain', 415, 'content_type_refused'],
      ['x'.repeat(1001), 'application/json', 413, 'body_too_large'],
    ] as const) {
      // As a runtime hands it over: a Request can carry no body with a GET.
      const bytes = async (limit: number) => (body.length > limit ? undefined : new TextEncoder().encode(body))
      const call = caller({ url, fetch: (request) => service.respond(request, { body: bytes }) })
      const headers = { 'content-type': type }
      for (const { route, absent } of asked)
        expectProblem(await call(route.method, absent, merged(acceptedBy(route, callers), { headers })), status, code)
    }
  })
})

describe('every control of the sandbox, in a service without one', () => {
  it('does not exist: 404 no_such_path', async () => {
    const call = caller({ url: 'http://127.0.0.1:4242', fetch: createService().fetch })
    for (const { route, absent } of operations.filter((operation) => operation.route.scope === 'sandbox'))
      expectProblem(await call(route.method, absent, sampleOf(route)), 404, 'no_such_path')
  })
})

describe('every operation, when the storage fails', () => {
  it('answers its declared 500 without the cause, and works again afterwards', async () => {
    const { storage, logged, ...running } = startFailing()
    const call = caller(running)
    const callers = await newCallers(call)
    await settledRows(() => storage.export())
    const before = await storage.export()
    storage.failing = 'all'
    for (const { route, absent } of operations) {
      // What is about the service itself needs no storage.
      if (route.scope === 'meta' || route.isOpen || isProbe(route.path)) continue
      logged.length = 0
      const answer = await call(route.method, absent, merged(sampleOf(route), acceptedBy(route, callers)))
      expect([route.id, answer.status, answer.body.code]).toEqual([route.id, 500, route.failure ?? 'internal_error'])
      const more = route.refused?.oauthCode ? ['error_description', 'error_uri'] : ['docs']
      expect(Object.keys(answer.body).sort()).toEqual(
        ['code', 'error', 'status', ...more, ...(route.repeatsErrorAsMessage ? ['message'] : [])].sort(),
      )
      expect(answer.text).not.toMatch(/disk|private/)
      // Rounds of due work fail too, and say so.
      expect(logged.filter(([message]) => !String(message).startsWith('a round of'))).toHaveLength(1)
    }
    storage.failing = 'nothing'
    expect(await storage.export()).toEqual(before)
    for (const { route, absent } of operations)
      expect((await call(route.method, absent, acceptedBy(route, callers))).status, route.id).not.toBe(500)
  })
})

describe('a service whose storage fails when it starts', () => {
  it('answers 500, and starts with the next call after the storage works', async () => {
    const { storage, logged, service, url } = startFailing()
    storage.failing = 'all'
    const headers = { origin: 'https://shop.example.test' }
    const response = await service.fetch(new Request(`${url}/v4/dq`, { headers }))
    expect([response.status, (await response.json()).code]).toEqual([500, 'internal_error'])
    expect(response.headers.get('access-control-allow-origin')).toBe(headers.origin)
    expect(logged).toHaveLength(1)
    storage.failing = 'nothing'
    const call = caller({ url, fetch: service.fetch })
    expect((await call('GET', '/v4/dq')).body.digital_quantities).toHaveLength(1)
  })
})

describe('a control that needs no storage', () => {
  it('answers 500 when its clock fails', async () => {
    let isBroken = false
    const now = () => {
      if (isBroken) throw new Error('the clock is broken')
      return Date.now()
    }
    const service = createService({ sandbox: true, journal: false, clock: { now }, log: { error() {} } })
    const call = caller({ url: service.baseUrl, fetch: service.fetch })
    expect((await call('GET', '/_sandbox/health')).status).toBe(200)
    isBroken = true
    expectProblem(await call('GET', '/_sandbox/health'), 500, 'internal_error')
    isBroken = false
    await service.close()
  })
})
