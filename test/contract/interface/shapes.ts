/**
 * How a value must look. `| null` allows null. `fields`: an object with exactly these fields, each documented one and
 * each designed one. A field whose name ends in `?` may be absent.
 */
export type Shape = Kind | `${Kind} | null` | FieldsShape | ListShape | MapShape | readonly Shape[]

export type Kind = keyof typeof kinds
export type Fields = Readonly<Record<string, Shape>>

interface FieldsShape {
  readonly documented: Fields
  /** Fields of our own that this answer has, and the documentation does not show. */
  readonly designed: Fields
}
interface ListShape {
  readonly listOf: Shape
}
interface MapShape {
  readonly mapOf: readonly [key: Kind, value: Shape]
}

export const fields = (documented: Fields, designed: Fields = {}): FieldsShape => ({ documented, designed })
export const listOf = (item: Shape): ListShape => ({ listOf: item })
export const mapOf = (key: Kind, value: Shape): MapShape => ({ mapOf: [key, value] })

const matching = (pattern: RegExp) => (value: unknown) => typeof value === 'string' && pattern.test(value)

/** The kinds of single values. */
export const kinds = {
  string: (value: unknown) => typeof value === 'string',
  number: (value: unknown) => typeof value === 'number' && Number.isFinite(value),
  integer: (value: unknown) => Number.isSafeInteger(value),
  boolean: (value: unknown) => typeof value === 'boolean',
  object: (value: unknown) => isRecord(value),
  null: (value: unknown) => value === null,
  empty: (value: unknown) => value === '',
  UUID: matching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
  hash: matching(/^41[0-9a-f]{64}$/),
  hostname: matching(/^41[0-9a-f]{30}\.twin\.localhost$/),
  email: matching(/^[^@\s]+@[^@\s]+$/),
  'public secret': matching(/^mp_[0-9a-f]{32}$/),
  'client id': matching(/^mid_[0-9a-f]{32}$/),
  'client secret': matching(/^mc_[0-9a-f]{32}$/),
  token: matching(/^tqmt_[0-9a-f]{32}$/),
  'Unix seconds': (value: unknown) => Number.isSafeInteger(value) && Number(value) > 1e9 && Number(value) < 1e10,
  'Unix seconds in digits': matching(/^[1-9]\d{9}$/),
  'ISO 8601 with milliseconds': matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  decimal: matching(/^\d+(\.\d+)?$/),
  'receive or send': matching(/^(receive|send)$/),
  'header, query or url': matching(/^(header|query|url)$/),
} as const satisfies Record<string, (value: unknown) => boolean>

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What of a value differs from its shape: one line for each difference. */
export function differences(shape: Shape, value: unknown, at = 'answer'): string[] {
  if (typeof shape === 'string') return kindDifferences(shape, value, at)
  if ('documented' in shape) return fieldDifferences({ ...shape.documented, ...shape.designed }, value, at)
  if ('listOf' in shape)
    return Array.isArray(value)
      ? value.flatMap((item, n) => differences(shape.listOf, item, `${at}[${n}]`))
      : [`${at} is not a list`]
  if ('mapOf' in shape) return mapDifferences(shape, value, at)
  if (!Array.isArray(value)) return [`${at} is not a list`]
  const length = value.length === shape.length ? [] : [`${at} has ${value.length} entries, not ${shape.length}`]
  return [...length, ...shape.flatMap((each, n) => differences(each, value[n], `${at}[${n}]`))]
}

function kindDifferences(shape: Kind | `${Kind} | null`, value: unknown, at: string): string[] {
  const [kind = ''] = shape.split(' | ')
  const isAllowed = new Map<string, (value: unknown) => boolean>(Object.entries(kinds)).get(kind)
  if (!isAllowed) throw new Error(`No kind of value is called ${kind}.`)
  const matches = isAllowed(value) || (value === null && shape.endsWith(' | null'))
  return matches ? [] : [`${at} is ${JSON.stringify(value)}, not ${shape}`]
}

function fieldDifferences(all: Fields, value: unknown, at: string): string[] {
  if (!isRecord(value)) return [`${at} is not an object`]
  const named = new Map(Object.entries(all).map(([name, shape]) => [name.replace('?', ''), { name, shape }]))
  const extra = Object.keys(value).filter((name) => !named.has(name))
  return [
    ...extra.map((name) => `${at}.${name} is not in the table`),
    ...[...named].flatMap(([field, { name, shape }]) => {
      if (field in value) return differences(shape, value[field], `${at}.${field}`)
      return name.endsWith('?') ? [] : [`${at}.${field} is missing`]
    }),
  ]
}

function mapDifferences({ mapOf: [key, shape] }: MapShape, value: unknown, at: string): string[] {
  if (!isRecord(value)) return [`${at} is not a map`]
  const entries = Object.entries(value)
  if (entries.length === 0) return [`${at} is empty`]
  return entries.flatMap(([name, item]) => [
    ...differences(key, name, `${at}: the key ${name}`),
    ...differences(shape, item, `${at}[${name}]`),
  ])
}
