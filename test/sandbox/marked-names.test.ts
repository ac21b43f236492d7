import { beforeAll, expect, test } from 'vitest'
import * as marks from '../../src/http/fields/marks.js'
import { z } from '../../src/http/fields/schema.js'
import type { Route } from '../../src/http/route.js'
import type { AnyCollection } from '../../src/storage/storage.js'

let names: typeof import('../../src/sandbox/journal/marked-names.js')

let copies = 0
/** What is known is known for good, so each test that learns takes a copy of its own. */
async function renew() {
  const module = '../../src/sandbox/journal/marked-names.js'
  names = await import(/* @vite-ignore */ `${module}?copy=${++copies}`)
}
beforeAll(renew)

const routes = () => {
  const { secret, generated } = marks
  const text = z.string()
  return [
    { params: z.object({ link: secret(text) }), query: z.object({ key: secret(text) }) },
    {
      body: z.object({ code: secret(text), hash: secret(text), plain: text }),
      result: z.object({ key: text, hash: generated(text), inner: z.array(z.object({ pin: secret(text) })) }),
      waits: z.object({ code: secret(text), made: generated(text) }),
    },
  ] as unknown as Route[]
}
const collections = [{ name: 'rows', secrets: ['sealed'] }, { name: 'others' }] as unknown as AnyCollection[]

test('before the names are known, each value may be a secret, and none is known to be generated', () => {
  expect(names.isSecretName('plain', 'x')).toBe(true)
  expect(names.isGenerated([], 'made')).toBe(false)
})

test('the names are loaded once, by the first service that is a sandbox', async () => {
  let loads = 0
  const loadRoutes = async () => {
    loads++
    return routes()
  }
  await names.knowMarks({} as never)
  expect([loads, names.isSecretName('plain', 'x')]).toEqual([0, true])
  await names.knowMarks({ sandbox: { loadRoutes, collections } } as never)
  expect([loads, names.isSecretName('plain', 'x')]).toEqual([1, false])
  await names.knowMarks({ sandbox: { loadRoutes, collections } } as never)
  names.learnMarks([], [])
  expect([loads, names.isSecretName('code', 'x')]).toEqual([1, true])
})

const NONCE = `0x${'Ab'.repeat(32)}`
test.each<readonly [string, string, boolean]>([
  // Always: by parameters, queries, bodies, answers, what waits, in lists, and by what is stored.
  ...['link', 'code', 'codes', 'pin', 'pins', 'sealed'].map((name) => [name, 'payment_required', true] as const),
  // Elsewhere it is generated or public.
  ['hash', 'x-1', false],
  ['made', 'x-1', false],
  ['plain', 'x-1', false],
  ['unknown', 'x-1', false],
  // Sometimes: by its value.
  ['key', 'x-1', true],
  ['keys', '"x-1"', true],
  ['key', 'balance_low', false],
  ['key', '"balance_low"', false],
  ['key', 'payment:12', false],
  ['key', '"sale-of_x:a:b"', false],
  ['key', 'delegate:12', true],
  ['key', 'payment:1 2', true],
  ['key', '_low', true],
  ['key', 'low_', true],
  ['key', 'Low', true],
  ['code', NONCE, true],
])('a value under the name %s, %s, may be a secret: %s', (name, value, expected) => {
  expect(names.isSecretName(name, value)).toBe(expected)
})

test('only a nonce that a chain shows is none', async () => {
  await renew()
  const nonces = z.object({ nonce: marks.secret(z.string()) })
  names.learnMarks([{ body: nonces }] as unknown as Route[], [])
  for (const open of [NONCE, `"${NONCE}"`]) expect(names.isSecretName('nonce', open)).toBe(false)
  for (const hidden of ['a1', `x${NONCE}`, `${NONCE}0`]) expect(names.isSecretName('nonce', hidden)).toBe(true)
})

test('a schema says what is generated, and a name where there is none', async () => {
  await renew()
  names.learnMarks(routes(), collections)
  const { Id } = marks
  expect([names.isGenerated([Id], 'plain'), names.isGenerated([z.string()], 'made')]).toEqual([true, false])
  expect([names.isGenerated([], 'made'), names.isGenerated([], 'plain')]).toEqual([true, false])
})

test('a body is judged by its own schema, and an answer only if it is the service’s own and no refusal', () => {
  const [query, body, result, waits] = [z.string(), z.number(), z.boolean(), z.unknown()]
  const route = (more: Partial<Route> = {}) => ({ query, body, result, waits, ...more }) as unknown as Route
  expect(names.queryPlace(route())).toEqual([query])
  expect(names.queryPlace(undefined)).toEqual([])
  expect(names.bodyPlace(route())).toEqual([body])
  expect(names.bodyPlace(route({ queryInBody: true } as never))).toEqual([body, query])
  expect(names.bodyPlace(undefined)).toEqual([])
  expect([200, 202, 399].map((status) => names.answerPlace(route(), status))).toEqual(Array(3).fill([result, waits]))
  expect([400, 500, null].flatMap((status) => names.answerPlace(route(), status))).toEqual([])
  expect(names.answerPlace(route({ relays: true } as never), 200)).toEqual([])
  expect(names.answerPlace(undefined, 200)).toEqual([])
})
