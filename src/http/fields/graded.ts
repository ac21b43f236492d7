import { type Evidence, isWeaker } from '../../base/evidence.js'
import { isObject } from '../../storage/unknown.js'
import { marked, markOf } from './marks.js'
import type * as z from './zod.js'

type Schema = z.core.$ZodType

const graded = (grade: Evidence) => marked({ grade })

/** Marks the schema of a field that existing clients or public references of the live service show. */
export const observed = graded('observed')
/** Marks the schema of a field of our own design in an operation with a stronger grade. */
export const designed = graded('designed')

/** Marks the schemas of several fields as our own design. */
export const allDesigned = <T extends Record<string, z.ZodMiniType>>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, designed(schema)])) as T // Object.fromEntries loses the types of the keys.

/** The grade that the schema of a field, or what it wraps, is marked with. Without one, it has that of its operation or of the field that holds it. */
export const gradeOf = (schema: Schema): Evidence | undefined => markOf(schema, 'grade')

/** Whether a field is marked with a grade that is weaker than `least`. */
export function isWeakField(schema: Schema, least: Evidence): boolean {
  const grade = gradeOf(schema)
  return grade !== undefined && isWeaker(grade, least)
}

const definitionOf = (schema: Schema) => (schema as z.core.$ZodTypes)._zod.def // Every schema is one of these.

/** A field and its grade. */
export interface GradedField {
  /** As `spend.limit`. */
  readonly path: string
  readonly evidence: Evidence
}

/** The first field of `value` that is weaker than `least`. Undefined if there is none. */
export function weakField(schema: Schema, value: unknown, least: Evidence): GradedField | undefined {
  const definition = definitionOf(schema)
  switch (definition.type) {
    case 'object': {
      if (!isObject(value)) return undefined
      for (const [name, field] of Object.entries(definition.shape)) {
        if (value[name] === undefined) continue
        const evidence = gradeOf(field)
        if (evidence && isWeaker(evidence, least)) return { path: name, evidence }
        const inner = weakField(field, value[name], least)
        if (inner) return { ...inner, path: `${name}.${inner.path}` }
      }
      return undefined
    }
    case 'array':
      return Array.isArray(value) ? firstOf(value, (item) => weakField(definition.element, item, least)) : undefined
    case 'union':
      return firstOf(definition.options, (option) => weakField(option, value, least))
    case 'optional':
    case 'nullable':
      return weakField(definition.innerType, value, least)
    default:
      return undefined
  }
}

function firstOf<T>(items: readonly T[], find: (item: T) => GradedField | undefined): GradedField | undefined {
  for (const item of items) {
    const found = find(item)
    if (found) return found
  }
  return undefined
}

/** Returns a copy of `value` without the fields that are weaker than `least`. */
export function withoutWeak(schema: Schema, value: unknown, least: Evidence): unknown {
  const definition = definitionOf(schema)
  switch (definition.type) {
    case 'object': {
      if (!isObject(value)) return value
      const left: Record<string, unknown> = {}
      for (const [name, part] of Object.entries(value)) {
        const field = definition.shape[name] ?? definition.catchall
        if (!field) left[name] = part
        else if (!isWeakField(field, least)) left[name] = withoutWeak(field, part, least)
      }
      return left
    }
    case 'array':
      return Array.isArray(value) ? value.map((item) => withoutWeak(definition.element, item, least)) : value
    case 'record':
      return isObject(value)
        ? Object.fromEntries(
            Object.entries(value).map(([key, part]) => [key, withoutWeak(definition.valueType, part, least)]),
          )
        : value
    case 'union':
      return definition.options.reduce((left, option) => withoutWeak(option, left, least), value)
    case 'optional':
    case 'nullable':
      return withoutWeak(definition.innerType, value, least)
    default:
      return value
  }
}
