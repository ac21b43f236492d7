import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { routeList } from '../../scripts/route-table.js'
import type { Route } from '../../src/http/route.js'
import { createService } from '../../src/index.js'
import type { State } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { howMuch } from '../support/how-much.js'
import { pay } from '../support/scenes/market.js'
import { authorizeApp, CALLBACK, CHALLENGE, newAgent, VERIFIER } from '../support/scenes/oidc.js'
import { basic, newCommodity, newPayer, newSeller, newSession } from '../support/scenes/world.js'

const BASE = 'http://127.0.0.1:4242'

const failures: unknown[] = []
const storage = memoryStorage()
const log = { error: (_message: string, cause?: unknown) => void failures.push(cause) }
/** How often the service called another host. It calls one that a caller names only so often, so it counts the calls. */
let upstreamCalls = 0
const upstream = {
  fetch: async () => {
    upstreamCalls += 1
    return new Response(null, { status: 404 })
  },
}
const service = createService({ sandbox: true, storage, log, upstream })

/** What is read for nothing but its method and path is left out. */
const built = routeList.filter(({ body, query, params }) => body ?? query ?? params)

/** A wrong try at a secret is counted, and what was paid and came to nothing is on record: these refusals leave a trace, as they must. */
const counted = new Set(['code_wrong', 'client_unknown', 'card_declined', 'upstream_failed'])

let state: State
/** What each field or part of a path may rightly be, by name: so that a request comes as far as the rules. */
let right: Record<string, unknown>
let headersOf: (route: Route) => Record<string, string>

beforeAll(async () => {
  const call = caller({ url: BASE, fetch: service.fetch })
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 5, email: 'payer@example.test' })
  const commodity = await newCommodity(call, seller)
  const { id, nonce, timestamp } = await pay(call, payer, commodity)
  const session = await newSession(call, payer.email)
  const agent = await newAgent(call, { email: payer.email })
  const { code } = await authorizeApp(call, agent.app, { email: payer.email })
  // A message on its way would change after each import.
  await vi.waitUntil(async () => {
    state = await storage.export()
    return state.rows.outbox?.every((row) => !('claim' in row) || row.claim === null)
  })
  const { hash, dq, hostname, twinId } = commodity
  right = { hash, dq, id, nonce, timestamp, hostname, twin_id: twinId, user_id: payer.id }
  Object.assign(right, { email: payer.email, public_secret: seller.publicSecret, cost: 0.25, amount: 0.25, after: id })
  Object.assign(right, { descriptor: 'A', name: 'Ada', limit: 5, from: timestamp, advance: '1m', kind: 'mail' })
  Object.assign(right, { client_id: agent.app.id, redirect_uri: CALLBACK, redirect_uris: [CALLBACK], state: 'a' })
  Object.assign(right, { response_type: 'code', code_challenge: CHALLENGE, code_challenge_method: 'S256', code })
  Object.assign(right, { grant_type: 'authorization_code', code_verifier: VERIFIER, scope: 'openid' })
  Object.assign(right, { token: agent.accessToken, id_token_hint: agent.idToken, token_endpoint_auth_method: 'none' })
  headersOf = ({ auth }) => {
    if (auth.includes('account')) return { authorization: `Bearer ${seller.token}` }
    if (auth.includes('user')) return { authorization: `Bearer ${payer.token}` }
    if (auth.includes('agent')) return { authorization: `Bearer ${agent.accessToken}` }
    if (auth.includes('guest')) return { 'x-session-id': session }
    return auth.includes('client') ? basic(seller.clientId, seller.clientSecret) : {}
  }
})

afterAll(() => service.close())

const oddTexts = ['', ' ', '0', '-1', '1.5', '1e400', 'null', '\0', '\ud800', 'é'.repeat(300), '__proto__', '../..']
const oddValues: unknown[] = [
  -1,
  0,
  0.25,
  1e308,
  2 ** 53,
  0.1 + 0.2,
  5e-324,
  true,
  null,
  [],
  {},
  [[]],
  { text: '1' },
  { toString: 1 },
]

/** As deep as a body may nest. */
const deep = Array.from({ length: 29 }).reduce<unknown>(
  (inner, _, level) => (level % 2 ? { a: inner } : [inner]),
  1e308,
)

const anything = () =>
  fc.oneof(
    fc.jsonValue({ maxDepth: 2, stringUnit: 'binary' }) as fc.Arbitrary<unknown>,
    fc.constantFrom(...oddTexts, ...oddValues, deep),
    fc.constantFrom(...Object.values(right)),
  )
const anyText = () => fc.oneof(fc.string({ unit: 'binary' }), anything().map(textOf))

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** Mostly the one that is right, or left out where there is none. */
const mostly = <T>(usual: T, others: fc.Arbitrary<T>, weight = 7) =>
  fc.oneof({ weight, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: others })

/** An object with the fields that a schema names, now and then a wrong one, or one that it does not name. */
const fieldsOf = (schema: Route['body'], others: () => fc.Arbitrary<unknown>) =>
  fc.record({
    ...Object.fromEntries(Object.keys(schema?.shape ?? {}).map((name) => [name, mostly(right[name], others())])),
    ...{ x: mostly(undefined, others()), constructor: mostly(undefined, others()) },
  }) as fc.Arbitrary<Record<string, unknown>>

/** In a query or form. */
const encoded = (fields: Record<string, unknown>): string =>
  new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, textOf(value)]])),
  ).toString()

const bodiesOf = ({ body }: Route) => {
  const json = { type: 'application/json' }
  const form = { type: 'application/x-www-form-urlencoded' }
  const whole = fc.record({
    type: fc.constantFrom(json.type, form.type, 'text/plain', 'application/json; charset=x', '='),
    text: fc.oneof(
      anything().map((value) => JSON.stringify(value)),
      fc.string({ unit: 'binary' }),
    ),
  })
  return fc.oneof(
    { weight: 8, arbitrary: fieldsOf(body, anything).map((fields) => ({ ...json, text: JSON.stringify(fields) })) },
    { weight: 2, arbitrary: fieldsOf(body, anyText).map((fields) => ({ ...form, text: encoded(fields) })) },
    { weight: 2, arbitrary: whole },
  )
}

function pathsOf({ path, params, versions = [] }: Route) {
  const parts = Object.fromEntries(
    Object.keys(params?.shape ?? {}).map((name) => [
      name,
      mostly(textOf(right[name]), fc.oneof(anyText().map(escaped), fc.constantFrom('%', '%FF', '%00', '..'))),
    ]),
  )
  const prefix = versions.length > 0 ? fc.constantFrom(...versions.map((version) => `/${version}`)) : fc.constant('')
  return fc
    .tuple(prefix, fc.record(parts))
    .map(([before, named]) => before + path.replace(/:(\w+)/g, (_, name: string) => named[name] || '0'))
}

/** Half of a surrogate pair has no UTF-8. */
const escaped = (text: string): string => encodeURIComponent(new TextDecoder().decode(new TextEncoder().encode(text)))

const oddHeaders = [{}, { authorization: 'Bearer none' }, { authorization: 'Basic %' }, { cookie: 'session_id=a' }]

const requestsTo = (route: Route) =>
  fc.record({
    path: pathsOf(route),
    query: fieldsOf(route.query, anyText).map(encoded),
    body: bodiesOf(route),
    auth: mostly(headersOf(route), fc.constantFrom<object>(...oddHeaders), 20),
    key: mostly<object>({}, fc.constantFrom({ 'idempotency-key': 'k' }, { 'idempotency-key': 'x'.repeat(256) })),
  })

type Sent = ReturnType<typeof requestsTo> extends fc.Arbitrary<infer S> ? S : never

function send(route: Route, { path, query, body: { type, text }, auth, key }: Sent): Promise<Response> {
  const { method } = route
  const headers = { ...auth, ...key, 'content-type': type }
  const request = new Request(`${BASE}${path}?${query}`, { method, headers, ...(method !== 'GET' && { body: text }) })
  const bytes = new TextEncoder().encode(text)
  return service.respond(request, method === 'GET' && route.queryInBody ? { body: async () => bytes } : {})
}

/** The collections whose rows differ; a refusal may be kept under its Idempotency-Key. */
function changed(before: State['rows'], after: State['rows']): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  names.delete('idempotency')
  return [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
}

/** Each takes as long as many requests. */
const MOST_RESTORES = howMuch(1, 200)

/** What a request may store, a service takes back over HTTP. */
async function expectTakenBack(): Promise<void> {
  const body = await (await service.fetch('/_sandbox/snapshot')).text()
  const headers = { 'content-type': 'application/json' }
  const answer = await service.fetch('/_sandbox/snapshot', { method: 'PUT', headers, body })
  expect(`${answer.status} ${await answer.text()}`).toBe('204 ')
}

describe('For any request', () => {
  /** Whether a request may have changed the state. To go back to it takes as long as the request. */
  let mayDiffer = true
  for (const route of built)
    test(`${route.id} does not fail, and a refused request changes nothing`, async () => {
      let restores = 0
      await fc.assert(
        fc.asyncProperty(requestsTo(route), async (sent) => {
          if (mayDiffer) {
            await service.sandbox.setClock({ set: Date.now() })
            await storage.import(state)
          }
          mayDiffer = true
          upstreamCalls = 0
          const { status, headers, ...response } = await send(route, sent).then(async (answer) => ({
            status: answer.status,
            headers: answer.headers,
            text: await answer.text(),
          }))
          expect({ failed: status >= 500, failures }).toEqual({ failed: false, failures: [] })
          if (status < 400) {
            expect((await service.sandbox.ledger()).broken).toBeNull()
            if (route.method !== 'GET' && restores++ < MOST_RESTORES) await expectTakenBack()
            return
          }
          const isJson = headers.get('content-type') === 'application/json'
          const body = isJson ? JSON.parse(response.text) : { status, error: response.text }
          expect(body).toMatchObject({ status, error: expect.any(String) })
          if (counted.has(body.code)) return
          const allowed = upstreamCalls > 0 ? ['rates'] : []
          const { rows } = await storage.export()
          const names = changed(state.rows, rows)
          expect(allowed).toEqual(expect.arrayContaining(names))
          mayDiffer = names.length > 0 || JSON.stringify(rows.idempotency) !== JSON.stringify(state.rows.idempotency)
        }),
        { numRuns: howMuch(4, 200) },
      )
    })
})
