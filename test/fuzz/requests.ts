import fc from 'fast-check'
import { routeList, texts } from '../../scripts/route-table.js'
import { openapi } from '../../src/http/openapi/document.js'
import type { Route } from '../../src/http/route.js'
import { isObject } from '../../src/storage/unknown.js'
import { type CallerKind, callerKinds } from './world.js'

/** Requests that are mostly right, as the OpenAPI document describes them, and hostile in one place or another. */

interface Schema {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  items?: Schema
}

interface Operation {
  readonly operationId: string
  readonly parameters: { name: string; in: string; schema: Schema }[]
  readonly requestBody?: { content: Record<string, { schema: Schema }> }
}

const document = openapi({
  routes: routeList,
  baseUrl: 'http://127.0.0.1:4242',
  evidence: 'designed',
  texts,
}) as unknown as { paths: Record<string, Record<string, Operation>>; components: { schemas: Record<string, Schema> } }

/** These replace the state or its time, or make it unreadable, so that nothing could be checked afterwards. */
const left = new Set([
  'resetSandbox',
  'restoreSnapshot',
  'rewindSandbox',
  'forgetEncryptionKey',
  'seedSandbox',
  'updateClock',
])

const routes = new Map<string, Route>(routeList.map((route) => [route.id, route]))

export const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, operation]) => {
    const route = routes.get(operation.operationId)
    return route && !left.has(route.id) ? [{ ...operation, path, method: method.toUpperCase(), route }] : []
  }),
)

/** A value that earlier answers had in a field of this name. */
export class Known {
  constructor(
    readonly name: string,
    readonly pick: number,
  ) {}
}

const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) })

const hostileTexts = [
  ...[
    '',
    ' ',
    '0',
    '-1',
    '1e400',
    'NaN',
    'Infinity',
    'null',
    'undefined',
    '[object Object]',
    '../..',
    '%',
    '%00',
    '\0',
  ],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', '\u202e\u0007\u001b[31m', '\ud800', '\r\nX-A: 1'],
  ...['a'.repeat(10_000), '1 '.repeat(2000), '{'.repeat(500), "' OR 1=1 --", '<script>alert(1)</script>', '∞'],
]
const hostileValues: unknown[] = [
  ...[-1, 0, -0, 0.1 + 0.2, 1e-7, 2 ** 53, -(2 ** 53), 1e308, 5e-324, true, null, [], {}, [[[]]], [null], ['a', 'a']],
  ...[JSON.parse('{"__proto__": {"a": 1}}'), { constructor: { prototype: 1 } }, { toString: 1 }, { length: -1 }],
  ...[deep(12), deep(100), Array.from({ length: 200 }, (_, n) => n)],
]

const hostile = fc.oneof(fc.constantFrom<unknown>(...hostileTexts), fc.constantFrom<unknown>(...hostileValues))

const usualTexts = ['A', 'USD', 'Ada', 'client.note', 'https://app.example.test/', '2031-05-01T12:00:00Z', '1m']

/** Which of the known values: mostly one of the first, which are the caller's, and often one of someone else's. */
const pick = () => fc.oneof(fc.nat(5), fc.nat(99))

/** A value of a field: mostly one that is known or fits its schema. */
const valueFor = (name: string, schema: Schema): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 6, arbitrary: pick().map((at): unknown => new Known(name, at)) },
    { weight: 4, arbitrary: fitting(schema) },
    { weight: 1, arbitrary: hostile },
  )

function fitting(schema: Schema): fc.Arbitrary<unknown> {
  const { $ref, anyOf, type } = schema
  if ($ref !== undefined) return fitting(document.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {})
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if ('const' in schema) return fc.constant(schema.const)
  if (anyOf) return fc.oneof(...anyOf.map(fitting))
  if (Array.isArray(type)) return fc.oneof(...type.map((one) => fitting({ ...schema, type: one })))
  if (type === 'string') return fc.constantFrom(...usualTexts)
  if (type === 'integer') return fc.constantFrom(0, 1, 2, 20, 99, 100, 101, 1_000_000_000)
  if (type === 'number') return fc.constantFrom(0, 0.25, 0.01, 1, 5, 100, 1e9)
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  if (type === 'array') return fc.array(fitting(schema.items ?? {}), { maxLength: 3 })
  return type === 'object' && schema.properties ? fieldsOf(schema.properties) : hostile
}

/** Most of the fields, and now and then one that nobody named. */
const fieldsOf = (properties: Record<string, Schema>): fc.Arbitrary<Record<string, unknown>> =>
  fc
    .tuple(
      fc.record(
        Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueFor(name, schema)])),
        {
          requiredKeys: [],
        },
      ),
      fc.oneof({ weight: 8, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: fc.constantFrom(...extraFields) }),
    )
    .map(([fields, extra]) => ({ ...fields, ...extra }))

const extraFields: Record<string, unknown>[] = [
  JSON.parse('{"__proto__": {"is_admin": true}}'),
  { constructor: 1 },
  { id: 1, owner: 'account:2', user_id: 2 },
]

/** How a body is sent. */
export type Sending = 'json' | 'form' | 'type' | 'bytes' | 'chunks' | 'twice'
const sendings: Sending[] = ['json', 'form', 'type', 'bytes', 'chunks', 'twice']

const hostileHeaders: Record<string, string>[] = [
  { 'idempotency-key': 'again' },
  { 'idempotency-key': 'k'.repeat(5000) },
  { 'idempotency-key': ' ' },
  { authorization: 'Basic %%%' },
  { authorization: `Bearer ${'a'.repeat(9000)}` },
  { authorization: 'Bearer a, Bearer b' },
  { 'x-session-id': '__proto__' },
  { cookie: 'session_id=a; session_id=b' },
  { 'x-device-token': '\u00ff' },
  { accept: 'text/html, */*;q=0' },
  { 'x-forwarded-for': '1, 2, 3' },
  { traceparent: '00-0-0-0' },
  { 'mcp-method': 'tools/call', 'mcp-protocol-version': '1' },
]

const requestTo = (operation: (typeof operations)[number]) => {
  const schema = Object.values(operation.requestBody?.content ?? {})[0]?.schema
  return fc.record({
    id: fc.constant(operation.operationId),
    path: fc.constant(operation.path),
    values: fc.record(
      Object.fromEntries(operation.parameters.map(({ name, schema }) => [name, valueFor(name, schema)])),
      { requiredKeys: operation.parameters.filter((one) => one.in === 'path').map(({ name }) => name) },
    ),
    body: schema ? fitting(schema) : fc.constant(undefined),
    sending: fc.oneof(
      { weight: 12, arbitrary: fc.constant<Sending>('json') },
      { weight: 1, arbitrary: fc.constantFrom(...sendings) },
    ),
    caller: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...fittingCallers(operation.route)) },
      { weight: 1, arbitrary: fc.constantFrom(...callerKinds) },
    ),
    headers: fc.oneof(
      { weight: 8, arbitrary: fc.constant<Record<string, string>>({}) },
      { weight: 1, arbitrary: fc.constantFrom(...hostileHeaders) },
    ),
    /** Sent twice, and in the query twice. */
    isTwice: fc.nat(11).map((one) => one === 0),
  })
}

function fittingCallers({ auth }: Route): CallerKind[] {
  const kinds = auth.flatMap((kind): CallerKind[] => {
    if (kind === 'page') return ['session']
    return [kind === 'refresh' ? 'client' : kind]
  })
  return kinds.length > 0 ? kinds : ['none']
}

const arbitraries = operations.map(requestTo)
export type FuzzedRequest = ReturnType<typeof requestTo> extends fc.Arbitrary<infer Value> ? Value : never

/** A few requests, one after another. `only`: of this operation. */
export function anyRequests(only?: string): fc.Arbitrary<FuzzedRequest[]> {
  const wanted = arbitraries.filter((_, at) => only === undefined || operations[at]?.operationId === only)
  return fc.array(fc.oneof(...wanted), { minLength: 1, maxLength: 4 })
}

/** Fills in the values that the world knows. */
export function filled(value: unknown, known: ReadonlyMap<string, unknown[]>): unknown {
  if (value instanceof Known) {
    const values = known.get(value.name) ?? known.get('id') ?? []
    return values[value.pick % Math.max(1, values.length)]
  }
  if (Array.isArray(value)) return value.map((part) => filled(part, known))
  if (!isObject(value)) return value
  const result: Record<string, unknown> = {}
  for (const [name, part] of Object.entries(value))
    Object.defineProperty(result, name, {
      value: filled(part, known),
      enumerable: true,
      configurable: true,
      writable: true,
    })
  return result
}
