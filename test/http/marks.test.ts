import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import { collections } from '../../src/collections.js'
import { type FieldSchema, fieldsIn, isMarked, markOf, partsOf } from '../../src/http/fields/marks.js'
import type { Route } from '../../src/http/route.js'
import { SCHEMA } from '../../src/migrations/schema.js'
import type { State } from '../../src/storage/storage.js'
import { takeTour } from '../support/examples/tour.js'

/** Names of secrets. A field with such a name, and texts in it, has the mark `secret`. */
const NAMED_LIKE_A_SECRET =
  /(^|[-_])(token|secrets?|password|nonce|codes?|key|verifier|assertion|session-id|session_id)$|Token$/i

/** Fields that are named like a secret and are none, and why. */
const PUBLIC: Readonly<Record<string, string>> = {
  public_secret: 'It stands in pages of sellers.',
  'verifyX402Payment.nonce': 'Single-use for its payer, who signs it. It gives nobody a right.',
  'settleX402Payment.nonce': 'Single-use for its payer, who signs it. It gives nobody a right.',
  public_key: 'It only verifies.',
  shortcode: 'The short name of a digital quantity.',
  'listErrorCodes.code': 'The code of an error.',
  'readErrorCode.code': 'The code of an error.',
  'listRequests.code': 'The code of an error.',
  'readRequest.code': 'The code of an error.',
  'explainRequest.code': 'The code of an error.',
  'replayRequest.code': 'The code of an error.',
  'readSnapshot.key': 'Whether the snapshot holds the key.',
}

const messages = (route: Route): FieldSchema[] =>
  [route.params, route.query, route.body, route.result, route.waits].filter((schema) => schema !== undefined)

const holdsText = (schema: FieldSchema): boolean => {
  const { type, innerType, element } = schema._zod.def as {
    type: string
    innerType?: FieldSchema
    element?: FieldSchema
  }
  const inner = innerType ?? element
  return type === 'string' || (inner !== undefined && holdsText(inner))
}

describe('a field of an operation', () => {
  const fields = routeList.flatMap((route) =>
    messages(route).flatMap((schema) => [...fieldsIn(schema)].map((field) => ({ ...field, id: route.id }))),
  )

  test('that is named like a secret has the mark', () => {
    expect(fields.length).toBeGreaterThan(2000)
    const named = fields.filter(({ name, schema }) => NAMED_LIKE_A_SECRET.test(name) && holdsText(schema))
    expect(named.length).toBeGreaterThan(50)
    const bare = named.filter(
      ({ id, name, schema }) => !markOf(schema, 'isSecret') && !(name in PUBLIC) && !(`${id}.${name}` in PUBLIC),
    )
    expect([...new Set(bare.map(({ id, name }) => `${id}: ${name}`))]).toEqual([])
  })

  test('that a test names as public exists, and has no mark', () => {
    for (const name of Object.keys(PUBLIC)) {
      const own = fields.filter((field) => field.name === name || `${field.id}.${field.name}` === name)
      expect(own.length, name).toBeGreaterThan(0)
      expect(own.filter(({ schema }) => markOf(schema, 'isSecret')).map(({ id }) => id)).toEqual([])
    }
  })
})

describe('what a random source made', () => {
  const drawn = new Set<string>()
  /** Texts of answers, without secrets. */
  const shown: { readonly at: string; readonly text: string }[] = []
  /** Values of fields with the mark `secret`. */
  const hidden = new Set<string>()
  const bare = new Set<string>()
  const states: State[] = []

  beforeAll(async () => {
    let reads = 0
    await takeTour(
      async (request, fetch) => {
        const isReset = new URL(request.url).pathname === '/_sandbox/reset'
        if (isReset || ++reads % 150 === 0) {
          const origin = new URL(request.url).origin
          states.push(JSON.parse(await (await fetch(new Request(`${origin}/_sandbox/snapshot`))).text()))
        }
        const response = await fetch(request)
        if (response.ok && response.headers.get('content-type')?.startsWith('application/json'))
          await look(request, response.clone())
        return response
      },
      { onBytes: (bytes) => draw(bytes) },
    )
  }, 300_000)

  function draw(bytes: Uint8Array): void {
    if (bytes.length < 8) return
    for (const encoding of ['hex', 'base64url'] as const) {
      const text = Buffer.from(bytes).toString(encoding)
      drawn.add(text)
      lengths.add(text.length)
    }
  }

  const lengths = new Set<number>()
  const holdsDrawn = (word: string, length: number): boolean => {
    for (let at = 0; at + length <= word.length; at++) if (drawn.has(word.slice(at, at + length))) return true
    return false
  }
  const isDrawn = (text: string): boolean =>
    [...text.matchAll(/[\w-]{11,}/g)].some(([word]) => [...lengths].some((length) => holdsDrawn(word, length)))

  async function look(request: Request, response: Response): Promise<void> {
    const entry = await response.json()
    const route = routeOf(request)
    if (!route?.result) return
    compare(entry, [route.result, ...(route.waits ? [route.waits] : [])], route.id, '')
  }

  function routeOf({ method, url }: Request): Route | undefined {
    const path = new URL(url).pathname.replace(/^\/v[234](?=\/)/, '')
    const fits = (each: Route) =>
      each.method === method && new RegExp(`^${each.path.replace(/[.]/g, '\\.').replace(/:\w+/g, '[^/]+')}$`).test(path)
    return routeList.find((each) => each.path === path && each.method === method) ?? routeList.find(fits)
  }

  function hide(value: unknown): void {
    if (typeof value === 'string' && value.length > 15) hidden.add(value)
    if (Array.isArray(value)) for (const each of value) hide(each)
  }

  function compare(value: unknown, place: readonly FieldSchema[], id: string, path: string): void {
    if (isMarked(place, 'isSecret')) return hide(value)
    if (typeof value === 'string') {
      shown.push({ at: `${id}${path}`, text: value })
      if (place.length > 0 && !isMarked(place, 'isGenerated') && isDrawn(value)) bare.add(`${id}${path}: ${value}`)
    }
    if (typeof value !== 'object' || value === null) return
    for (const [name, part] of Object.entries(value))
      compare(part, partsOf(place, name), id, Array.isArray(value) ? `${path}[]` : `${path}.${name}`)
  }

  test('has a mark in each answer', () => {
    expect(states.length).toBeGreaterThan(2)
    expect(shown.length).toBeGreaterThan(1000)
    expect(drawn.size).toBeGreaterThan(200)
    expect([...bare]).toEqual([])
  })

  test('or is a secret of one field is a secret of each', () => {
    expect(hidden.size).toBeGreaterThan(50)
    const leaks = shown.filter(({ text }) => hidden.has(text))
    expect([...new Set(leaks.map(({ at }) => at))]).toEqual([])
  })

  const known = new Map(collections.map((each) => [each.name, each]))
  const rows = () =>
    states.flatMap((state) =>
      Object.entries(state.rows).flatMap(([name, list]) => list.map((row) => [name, row] as const)),
    )
  const isHidden = (name: string, field: string) => {
    const { secrets = [], sealed = {} } = known.get(name) ?? {}
    return field === 'sealed' || secrets.includes(field) || field in sealed
  }

  test('is a secret of its row, or public in an answer', () => {
    const open = shown.map(({ text }) => text).join(' ')
    const found = new Set<string>()
    for (const [name, row] of rows())
      for (const [field, value] of Object.entries(row))
        if (!isHidden(name, field) && !(field in (known.get(name)?.refs ?? {})))
          for (const [word] of JSON.stringify(value ?? '').matchAll(/[\w-]{16,}/g))
            if (isDrawn(word) && !open.includes(word)) found.add(`${name}.${field}: ${word}`)
    expect([...found].sort()).toEqual([])
  })

  test('and a key of another row is a declared reference', () => {
    const keys = new Map<string, Set<string>>()
    for (const [name, { id }] of rows())
      if (typeof id === 'string' && id.length > 15) keys.set(id, (keys.get(id) ?? new Set()).add(name))
    expect(keys.size).toBeGreaterThan(20)
    const found = new Set<string>()
    for (const [name, row] of rows())
      for (const [field, value] of Object.entries(row)) {
        const others = [...(typeof value === 'string' ? (keys.get(value) ?? []) : [])].filter((each) => each !== name)
        const to = known.get(name)?.refs?.[field]
        if (others.length > 0 && to !== null && !others.includes(to ?? '')) found.add(`${name}.${field} → ${others}`)
      }
    expect([...found].sort()).toEqual([])
  })
})

describe('a field of a row', () => {
  /** test/shapes.test.ts holds them to the types of the rows: to read these takes seconds. */
  const shapes: Record<string, string> = JSON.parse(
    readFileSync(new URL(`../states/v${SCHEMA}.shapes.json`, import.meta.url), 'utf8'),
  )
  /** The fields at the top of a row's type. */
  const fieldsOf = (name: string): string[] => {
    let depth = 0
    const text = (shapes[name] ?? '').replace(/ \{"\w+":\{"fields".*$/, '')
    return [...text.matchAll(/[{[(]|[}\])]|(\w+)\??:(?= )/g)].flatMap(([part, field]) => {
      if (field !== undefined) return depth === 1 ? [field] : []
      depth += '{[('.includes(part) ? 1 : -1
      return []
    })
  }

  test('that is named like a secret is one', () => {
    const named = /(^|_)(token|digest|nonce|sealed|salt|mac|secret|key|codes?|challenge|delegate)$/
    const bare = collections.flatMap(({ name, secrets = [], sealed = {} }) =>
      fieldsOf(name)
        .filter((field) => named.test(field) && !secrets.includes(field) && !(field in sealed) && !(field in PUBLIC))
        .map((field) => `${name}.${field}`),
    )
    expect(collections.flatMap(({ name }) => fieldsOf(name)).length).toBeGreaterThan(300)
    expect([...new Set(bare)]).toEqual([])
  })

  test('that ends in `_id` says which collection it names', () => {
    const bare = collections.flatMap(({ name, refs = {} }) =>
      fieldsOf(name)
        .filter((field) => field.endsWith('_id') && !(field in refs))
        .map((field) => `${name}.${field}`),
    )
    expect([...new Set(bare)]).toEqual([])
    const names = new Set(collections.map(({ name }) => name))
    for (const { name, refs = {}, secrets = [] } of collections) {
      for (const field of [...Object.keys(refs), ...secrets]) expect(fieldsOf(name), name).toContain(field)
      for (const to of Object.values(refs)) expect(to === null || names.has(to ?? ''), `${name}: ${to}`).toBe(true)
    }
  })
})
