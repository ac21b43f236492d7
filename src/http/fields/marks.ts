import { int, object, strictObject, string } from 'zod/mini'
import type { Evidence } from '../../base/evidence.js'
import type * as z from './zod.js'

export type FieldSchema = z.core.$ZodType

interface Marks {
  readonly grade?: Evidence
  readonly isSecret?: true
  readonly isGenerated?: true
}

const marksBySchema = new WeakMap<FieldSchema, Marks>()

/** Marks a copy of the schema, because features share schemas. */
export const marked =
  (marks: Marks) =>
  <T extends z.ZodMiniType>(schema: T): T => {
    const copy = schema.clone(schema._zod.def, { parent: true })
    marksBySchema.set(copy, { ...marksBySchema.get(schema), ...marks })
    return copy
  }

/** Marks a field whose value gives whoever has it a right. The journal, exports and comparisons never show it. */
export const secret = marked({ isSecret: true })
/** Marks a field whose value is another one in each repetition: an id, a time, a hash of such a value. */
export const generated = marked({ isGenerated: true })
export const Id = generated(int())
/** An id with random letters or digits. */
export const TextId = generated(string())
/** The name of a twin, which is random unless it was given. */
export const Hostname = generated(string())
/** A URL with an id or a token in it. Its token is never shown. */
export const Link = generated(string())
/** ISO 8601. */
export const IsoTime = generated(string())

/** The value of a mark of a schema, or of what it wraps. */
export function markOf<M extends keyof Marks>(schema: FieldSchema, mark: M): Marks[M] | undefined {
  const { innerType } = schema._zod.def as { innerType?: FieldSchema } // Wrappers have one.
  return marksBySchema.get(schema)?.[mark] ?? (innerType && markOf(innerType, mark))
}

function definitionOf(schema: FieldSchema): z.core.$ZodTypes['_zod']['def'] {
  const { def } = (schema as z.core.$ZodTypes)._zod // Every schema is one of these.
  return def.type === 'optional' || def.type === 'nullable' ? definitionOf(def.innerType) : def
}

export function fieldNames(schema: FieldSchema): string[] {
  const definition = definitionOf(schema)
  return definition.type === 'object' ? Object.keys(definition.shape) : []
}

/** The schemas that a value may have: several in a union, and none if nothing is known of it. */
export type SchemaPlace = readonly FieldSchema[]

export const isMarked = (place: SchemaPlace, mark: keyof Marks): boolean =>
  place.some((schema) => markOf(schema, mark) !== undefined)

export const isText = (place: SchemaPlace): boolean =>
  place.length > 0 && place.every((schema) => definitionOf(schema).type === 'string')

/** Where a field of a value is, or an item of a list. */
export const partsOf = (place: SchemaPlace, name: string): SchemaPlace =>
  place.flatMap((schema) => partOf(schema, name)).filter((part) => !saysNothing(part))

const saysNothing = (schema: FieldSchema): boolean =>
  /^(?:unknown|never)$/.test(schema._zod.def.type) && !marksBySchema.has(schema)

function partOf(schema: FieldSchema, name: string): SchemaPlace {
  const definition = definitionOf(schema)
  switch (definition.type) {
    case 'object': {
      const field = Object.hasOwn(definition.shape, name) ? definition.shape[name] : definition.catchall
      return field ? [field] : []
    }
    case 'record':
      return [definition.valueType]
    case 'array':
      return [definition.element]
    case 'tuple':
      return definition.items
    case 'union':
      return partsOf(definition.options, name)
    default:
      return []
  }
}

interface Field {
  readonly name: string
  readonly schema: FieldSchema
}

export function* fieldsIn(schema: FieldSchema): Generator<Field> {
  const definition = definitionOf(schema)
  if (definition.type === 'object')
    for (const [name, field] of Object.entries(definition.shape)) {
      yield { name, schema: field }
      yield* fieldsIn(field)
    }
  else for (const part of definition.type === 'union' ? definition.options : partOf(schema, '')) yield* fieldsIn(part)
}

const names = new WeakMap<z.ZodMiniType, string>()

/** An object schema with a name of its own, for a shape that several operations share. The OpenAPI document lists it. */
export function component<T extends z.core.$ZodLooseShape>(name: string, shape: T): ReturnType<typeof z.object<T>> {
  const schema = object(shape)
  names.set(schema, name)
  return schema
}

/** Like `component`, for a shape whose unknown fields are an error. `checks` add to it what its fields alone do not say. */
export function strictComponent<T extends z.core.$ZodLooseShape>(
  name: string,
  shape: T,
  ...checks: z.core.CheckFn<z.output<ReturnType<typeof z.strictObject<T>>>>[]
): ReturnType<typeof z.strictObject<T>> {
  const schema = strictObject(shape).check(...checks)
  names.set(schema, name)
  return schema
}

/** The name of a schema. A copy that was only marked with a grade has the name of its original. */
export function componentName(schema: z.ZodMiniType): string | undefined {
  const { parent, def } = schema._zod
  const original = parent?._zod.def === def ? parent : undefined
  return names.get(schema) ?? (original && componentName(original as z.ZodMiniType)) // A copy has its original's class.
}
