import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { routeList, texts } from '../../scripts/route-table.js'
import { openapi } from '../../src/http/openapi/document.js'
import { createService } from '../../src/index.js'
import { isObject } from '../../src/storage/unknown.js'
import { type Answer, type CallOptions, caller } from '../support/api.js'
import { howMuch } from '../support/how-much.js'
import { newItem } from '../support/scenes/catalog.js'
import { newAgent } from '../support/scenes/oidc.js'
import { basic, newCommodity, newPayer, newSeller, newSession } from '../support/scenes/world.js'

/** Requests that only the OpenAPI document describes, and values that earlier answers had. */

const REQUESTS = howMuch(300, 20_000)
const BASE = 'http://127.0.0.1:4242'

interface Schema {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  pattern?: string
  minimum?: number
  maximum?: number
  maxLength?: number
  maxItems?: number
}

interface Operation {
  operationId: string
  security: Record<string, string[]>[]
  parameters: { name: string; in: string; required: boolean; schema: Schema }[]
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> }
}

const document = openapi({ routes: routeList, baseUrl: BASE, evidence: 'designed', texts }) as unknown as {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** These replace what the requests depend on, or move the clock. */
const left = new Set([
  'resetSandbox',
  'restoreSnapshot',
  'updateClock',
  'revokeOidcToken',
  'createUserSecrets',
  'forgetEncryptionKey',
])

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([, { operationId }]) => !left.has(operationId))
    .map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
)

const failures: unknown[] = []
const service = createService({
  sandbox: true,
  log: { error: (_message, cause) => void failures.push(cause) },
  upstream: { fetch: async () => new Response('{"sunny": true}', { headers: { 'content-type': 'application/json' } }) },
})

/** Values that fields had in answers, by the names of the fields. */
const known = new Map<string, unknown[]>()

function learn(value: unknown, name = ''): void {
  if (Array.isArray(value)) for (const part of value.slice(0, 3)) learn(part, name)
  else if (isObject(value)) for (const [inner, part] of Object.entries(value)) learn(part, inner)
  else if (value !== null) known.set(name, [value, ...(known.get(name) ?? [])].slice(0, 20))
}

/** A value of a field that an answer had, once the request is sent. */
class Known {
  constructor(
    readonly name: string,
    readonly pick: number,
  ) {}
}

function filled(value: unknown): unknown {
  if (value instanceof Known) {
    const values = known.get(value.name) ?? known.get('id') ?? []
    return values[value.pick % Math.max(1, values.length)]
  }
  if (Array.isArray(value)) return value.map(filled)
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, filled(part)])) : value
}

const anyJson = fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<unknown>

/** A value of a field: mostly one that is known or fits its schema. */
const fieldValue = (name: string, schema: Schema): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.nat(19).map((pick): unknown => new Known(name, pick)) },
    { weight: 6, arbitrary: fitting(schema) },
    { weight: 1, arbitrary: anyJson },
  )

function fitting(schema: Schema): fc.Arbitrary<unknown> {
  const { $ref, anyOf, type } = schema
  if ($ref !== undefined) return fitting(document.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {})
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if ('const' in schema) return fc.constant(schema.const)
  if (anyOf) return fc.oneof(...anyOf.map(fitting))
  if (Array.isArray(type)) return fc.oneof(...type.map((one) => fitting({ ...schema, type: one })))
  switch (type) {
    case 'string':
      // fast-check knows no lookahead.
      return schema.pattern === undefined || schema.pattern.includes('(?')
        ? fc.string({ maxLength: Math.min(40, schema.maxLength ?? 40) })
        : fc.stringMatching(new RegExp(schema.pattern), { size: '-1' })
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -3, max: schema.maximum ?? 1000 })
    case 'number':
      return fc.oneof(
        fc.integer({ min: -1, max: 2000 }).map((thousandths) => thousandths / 1000),
        fc.double(),
      )
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(fitting(schema.items ?? {}), { maxLength: Math.min(3, schema.maxItems ?? 3) })
    case 'object':
      return objectOf(schema)
    default:
      return anyJson
  }
}

function objectOf({ properties, required = [], additionalProperties }: Schema): fc.Arbitrary<unknown> {
  if (!properties) {
    const values = typeof additionalProperties === 'object' ? fitting(additionalProperties) : anyJson
    return fc.dictionary(fc.string({ maxLength: 8 }), values, { maxKeys: 3 })
  }
  const fields = Object.entries(properties).map(([name, schema]) => [name, fieldValue(name, schema)] as const)
  const whole = fc.record(Object.fromEntries(fields), { requiredKeys: required })
  return fc.oneof({ weight: 12, arbitrary: whole }, { weight: 1, arbitrary: fc.record(Object.fromEntries(fields)) })
}

const requests = fc.oneof(
  ...operations.map((operation) => {
    const { parameters, requestBody } = operation
    const schema = requestBody?.content['application/json']?.schema
    return fc.record({
      operation: fc.constant(operation),
      parameters: fc.record(Object.fromEntries(parameters.map(({ name, schema }) => [name, fieldValue(name, schema)]))),
      isSent: fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
      body: schema ? fitting(schema) : fc.constant(undefined),
      isForm: fc.nat(9).map((one) => one === 0),
      caller: fc.nat(11),
    })
  }),
)

/** The credentials for each security scheme. */
const credentials: Record<string, CallOptions> = {}
const call = caller({ url: BASE, fetch: service.fetch })

beforeAll(async () => {
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 500 })
  await newCommodity(call, seller)
  await newItem(call, seller)
  const agent = await newAgent(call, { email: payer.email })
  Object.assign(credentials, {
    accessToken: { token: seller.token },
    userToken: { token: payer.token },
    agentToken: { token: agent.accessToken },
    clientCredentials: { headers: basic(seller.clientId, seller.clientSecret) },
    sessionHeader: { session: await newSession(call, `guest-${payer.email}`) },
  })
  for (const [path, options] of [
    ['/v4/catalog/items', {}],
    ['/v4/commodities', { token: seller.token }],
    ['/v4/twins', { token: payer.token }],
    ['/v4/dq', {}],
    ['/_sandbox/test-values', {}],
  ] as const)
    learn((await call('GET', path, options)).body)
  learn({
    public_secret: seller.publicSecret,
    email: payer.email,
    user_id: payer.id,
    payment_method_id: 'pm_card_visa',
  })
})

afterAll(() => service.close())

/** URLs leave out parts of `.` and `..`. */
const pathPart = (text: string): string => encodeURIComponent(/^\.*$/.test(text) ? '0' : text)

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** Mostly credentials that the operation takes: tokens before sessions, because a session waits for its user's device. */
function optionsOf({ security }: Operation, pick: number): CallOptions {
  const names = security.flatMap((scheme) => Object.keys(scheme))
  const taken = names.flatMap((name) => (name === 'accessToken' ? ['accessToken', 'userToken'] : [name]))
  const usable = taken.filter((name) => name in credentials)
  const tokens = usable.filter((name) => name !== 'sessionHeader')
  const name = pick === 0 ? undefined : pick === 1 ? 'agentToken' : (tokens[pick % tokens.length] ?? usable[0])
  return (name !== undefined && credentials[name]) || {}
}

async function send({ operation, parameters, isSent, body, isForm, caller: pick }: Sent): Promise<Answer> {
  const values = filled(parameters) as Record<string, unknown> // An object stays one.
  const isGiven = ({ name, required }: Operation['parameters'][number], at: number) =>
    values[name] !== undefined && (required || isSent[at % isSent.length])
  const given = (place: string) => operation.parameters.filter((one, at) => one.in === place && isGiven(one, at))
  const query = new URLSearchParams(given('query').map(({ name }) => [name, textOf(values[name])]))
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => pathPart(textOf(values[name])))
  const options = optionsOf(operation, pick)
  const extra = given('header').map(({ name }) => [name, encodeURIComponent(textOf(values[name])) || '-'] as const)
  const sent = filled(body)
  const form = isForm && isObject(sent) ? Object.entries(sent).map(([name, part]) => [name, textOf(part)]) : undefined
  return call(operation.method, `${path}${query.size > 0 ? `?${query}` : ''}`, {
    ...options,
    headers: { ...options.headers, ...Object.fromEntries(extra) },
    ...(form ? { form: Object.fromEntries(form) } : sent !== undefined && { body: sent }),
  })
}

type Sent = typeof requests extends fc.Arbitrary<infer Value> ? Value : never

test(`${REQUESTS} requests from the document get answers that it shows, and none fails`, {
  timeout: 15 * 60_000,
}, async () => {
  const reached = new Map<string, number>()
  for (const sent of fc.sample(requests, { numRuns: REQUESTS, seed: 4243 })) {
    const { operationId } = sent.operation
    // `call` compares each answer with the document.
    const answer = await send(sent)
    const { status, body, text } = answer
    expect(failures, operationId).toEqual([])
    // What a service beyond ours, or a card processor for tests, does not answer is no failure of ours.
    if (status >= 500) expect(['upstream_failed', 'processor_failed'], `${operationId}: ${text}`).toContain(body?.code)
    if (status < 300) reached.set(operationId, (reached.get(operationId) ?? 0) + 1)
    if (status < 300 && isObject(body)) learn(body)
  }
  expect((await call('GET', '/_sandbox/ledger')).body).toMatchObject({ ok: true, broken: null })
  expect(reached.size).toBeGreaterThan(40)
})
