import { type Evidence, evidenceGrades } from '../../../src/base/evidence.js'
import { isObject } from '../../../src/storage/unknown.js'

export interface Shape {
  /** Names of JSON types, with `integer` beside `number`. Empty: anything. */
  readonly types: ReadonlySet<string>
  readonly properties: ReadonlyMap<string, ShapeProperty>
  /** What further properties may be. Undefined: there are none that are known. */
  readonly rest?: Shape | undefined
  readonly items?: Shape | undefined
}

export interface ShapeProperty {
  readonly shape: Shape
  readonly isRequired: boolean
  readonly grade?: Evidence | undefined
}

export const anything: Shape = { types: new Set(), properties: new Map() }

export type Json = Readonly<Record<string, unknown>>

export const gradeIn = (part: Json): Evidence | undefined =>
  evidenceGrades.find((grade) => grade === part['x-evidence'])

/** Shapes inside of more than this many others may be anything. */
const MOST_DEPTH = 24

/** What a reference in the document leads to. Anything that cannot be found is an empty object. */
export function resolved(part: unknown, document: Json): Json {
  let found: unknown = part
  for (let steps = 0; isObject(found) && typeof found.$ref === 'string'; steps++) {
    if (steps > MOST_DEPTH || !found.$ref.startsWith('#/')) return {}
    found = found.$ref.slice(2).split('/').map(unescaped).reduce<unknown>(partOf, document)
  }
  return isObject(found) ? found : {}
}

const unescaped = (part: string): string => {
  const plain = part.replace(/~1/g, '/').replace(/~0/g, '~')
  try {
    return decodeURIComponent(plain)
  } catch {
    return plain
  }
}

const partOf = (found: unknown, name: string): unknown =>
  isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined

/** Each part of a document has one shape, however often it is referred to. */
const shapes = new WeakMap<Json, Shape>()

/** The shape that a JSON Schema describes: of OpenAPI 3.0, 3.1 or Swagger 2. References to other files allow anything. */
export function shapeOfSchema(schema: unknown, document: Json, depth = 0): Shape {
  const part = resolved(schema, document)
  const known = depth > MOST_DEPTH ? anything : shapes.get(part)
  if (known) return known
  // A part inside of itself may be anything there.
  shapes.set(part, anything)
  const shape = partShape(part, document, depth)
  shapes.set(part, shape)
  return shape
}

function partShape(part: Json, document: Json, depth: number): Shape {
  const inside = (inner: unknown) => shapeOfSchema(inner, document, depth + 1)
  const required = new Set(listOf(part.required))
  const property = ([name, inner]: [string, unknown]): [string, ShapeProperty] => {
    const grade = isObject(inner) ? gradeIn(inner) : undefined
    return [name, { shape: inside(inner), isRequired: required.has(name), grade }]
  }
  const rest = part.additionalProperties
  const own: Shape = {
    types: typesOf(part),
    properties: new Map(Object.entries(objectOf(part.properties)).map(property)),
    rest: part.additionalProperties === true ? anything : isObject(rest) ? inside(rest) : undefined,
    items: part.items === undefined ? undefined : inside(part.items),
  }
  const all = listOf(part.allOf).map(inside).reduce(both, own)
  return [part.anyOf, part.oneOf]
    .map((choices) => listOf(choices).map(inside))
    .reduce((shape, choices) => (choices.length === 0 ? shape : both(shape, choices.reduce(either))), all)
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const objectOf = (value: unknown): Json => (isObject(value) ? value : {})

function typesOf({ type, nullable, properties, items, ...part }: Json): ReadonlySet<string> {
  const named = (Array.isArray(type) ? type : [type]).filter((each) => typeof each === 'string' && each !== 'file')
  const values = 'const' in part ? [part.const] : listOf(part.enum)
  const types = new Set<string>(named)
  if (types.size === 0) for (const value of values) types.add(typeOf(value))
  if (types.size === 0 && properties) types.add('object')
  if (types.size === 0 && items) types.add('array')
  if (nullable === true && types.size > 0) types.add('null')
  return types
}

const typeOf = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value
}

/** A value that both shapes describe. */
function both(one: Shape, other: Shape): Shape {
  if (one === other) return one
  const properties = new Map(one.properties)
  for (const [name, property] of other.properties) {
    const known = properties.get(name)
    const isRequired = property.isRequired || known?.isRequired === true
    const shape = known ? both(known.shape, property.shape) : property.shape
    properties.set(name, { ...known, ...property, shape, isRequired })
  }
  // The types of the more exact one: a status that is an integer, and one of these integers.
  const types = one.types.size === 0 ? other.types : one.types
  return { types, properties, rest: one.rest ?? other.rest, items: one.items ?? other.items }
}

/** A value that one of two shapes describes. */
export function either(one: Shape, other: Shape): Shape {
  if (one === other) return one
  if (isAnything(one) || isAnything(other)) return anything
  const objects = [one, other].filter(({ types }) => types.has('object'))
  const names = new Set([...one.properties.keys(), ...other.properties.keys()])
  const properties = [...names].map((name): [string, ShapeProperty] => {
    const [a, b] = [one.properties.get(name), other.properties.get(name)]
    const isRequired = objects.every(({ properties: known }) => known.get(name)?.isRequired)
    const shapes = [a, b].flatMap((property) => (property ? [property.shape] : []))
    return [name, { shape: shapes.reduce(either), isRequired, grade: a?.grade ?? b?.grade }]
  })
  const shared = (a: Shape | undefined, b: Shape | undefined) => (a && b ? either(a, b) : (a ?? b))
  return {
    types: new Set([...one.types, ...other.types]),
    properties: new Map(properties),
    rest: shared(one.rest, other.rest),
    items: shared(one.items, other.items),
  }
}

export const isAnything = ({ types }: Shape): boolean => types.size === 0

export function shapeOfValue(value: unknown, depth = 0): Shape {
  if (depth > MOST_DEPTH) return anything
  const types = new Set([typeOf(value)])
  if (Array.isArray(value)) {
    const items = value.map((item) => shapeOfValue(item, depth + 1))
    return { types, properties: new Map(), ...(items.length > 0 && { items: items.reduce(either) }) }
  }
  const properties = Object.entries(objectOf(value)).map(([name, inner]): [string, ShapeProperty] => [
    name,
    { shape: shapeOfValue(inner, depth + 1), isRequired: true },
  ])
  return { types, properties: new Map(properties) }
}
