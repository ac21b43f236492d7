import { z } from '../../../src/http/fields/schema.js'

const candidates: readonly unknown[] = [
  'ada@example.test',
  'text',
  'client.sample',
  'https://shop.example.test',
  'guest',
  1,
  0.5,
  true,
  [],
  ['*'],
  {},
  null,
  `0x${'1'.repeat(40)}`,
  `0x${'1'.repeat(64)}`,
  { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload: {} },
  {
    ...{ scheme: 'exact', network: 'base-sepolia', maxAmountRequired: '1', maxTimeoutSeconds: 60 },
    ...{ asset: `0x${'1'.repeat(40)}`, payTo: `0x${'2'.repeat(40)}` },
  },
]

/** A body that a schema takes, every field given. */
export const samplesOf = ofEach((body: z.ZodMiniObject): Readonly<Record<string, unknown>> => {
  const samples = Object.fromEntries(Object.entries(body.shape).map(([field, schema]) => [field, sampleOf(schema)]))
  // Some fields of a few bodies exclude each other.
  return [samples, ...wholes].find((whole) => body.safeParse(whole).success) ?? samples
})

/** Bodies whose fields go together. */
const wholes: readonly Record<string, unknown>[] = [{ match: {}, at: 'before', do: { drop: true } }]

function sampleOf(schema: z.core.$ZodType): unknown {
  const named = (z.toJSONSchema(schema, { io: 'input' }) as Json).enum ?? []
  const taken = [...named, ...candidates].filter((candidate) => z.safeParse(schema, candidate).success)
  if (taken.length > 0) return taken[0]
  throw new Error(`no sample is taken by ${JSON.stringify(z.toJSONSchema(schema))}: add one to the candidates`)
}

/** A value of each JSON type that the schema does not name. */
export const wrongValuesOf = ofEach((schema: z.core.$ZodType): readonly unknown[] => {
  const named = typesOf(z.toJSONSchema(schema, { io: 'input' }) as Json)
  const values: [string, unknown][] = [
    ['string', 'text'],
    ['string', ''],
    ['number', 1.5],
    ['boolean', true],
    ['boolean', false],
    ['array', []],
    ['array', ['text']],
    ['object', {}],
    ['null', null],
  ]
  return values.filter(([type]) => !named.has(type)).map(([, value]) => value)
})

/** What is read of a schema, once: the loops over all operations ask for each of them again and again. */
function ofEach<S extends WeakKey, T>(read: (schema: S) => T): (schema: S) => T {
  const known = new WeakMap<S, T>()
  return (schema) => {
    if (!known.has(schema)) known.set(schema, read(schema))
    return known.get(schema) as T
  }
}

interface Json {
  type?: string | string[]
  anyOf?: Json[]
  oneOf?: Json[]
  enum?: unknown[]
  const?: unknown
}

function typesOf({ type, anyOf, oneOf }: Json): Set<string> {
  const parts = [...(anyOf ?? []), ...(oneOf ?? [])].flatMap((part) => [...typesOf(part)])
  const own = type === undefined ? [] : [type].flat()
  return new Set([...parts, ...own])
}
