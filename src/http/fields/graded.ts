import { type Evidence, isWeaker } from '../../base/evidence.js'
import { isObject } from '../../storage/unknown.js'
import { type FieldSchema, marked, markOf, partsOf, type SchemaPlace } from './marks.js'
import type * as z from './zod.js'

const graded = (grade: Evidence) => marked({ grade })

/** Marks the schema of a field that existing clients or public references of the live service show. */
export const observed = graded('observed')
/** Marks the schema of a field of our own design in an operation with a stronger grade. */
export const designed = graded('designed')

export const allDesigned = <T extends Record<string, z.ZodMiniType>>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, designed(schema)])) as T // Object.fromEntries loses the types of the keys.

/** The grade that the schema of a field, or what it wraps, is marked with. Without one, it has that of its operation or of the field that holds it. */
export const gradeOf = (schema: FieldSchema): Evidence | undefined => markOf(schema, 'grade')

export function isWeakField(schema: FieldSchema, least: Evidence): boolean {
  const grade = gradeOf(schema)
  return grade !== undefined && isWeaker(grade, least)
}

export interface GradedField {
  /** As `spend.limit`. */
  readonly path: string
  readonly evidence: Evidence
}

/** The first field of `value` that is weaker than `least`. Undefined if there is none. */
export const weakField = (schema: FieldSchema, value: unknown, least: Evidence): GradedField | undefined =>
  weakIn([schema], value, least)

function weakIn(place: SchemaPlace, value: unknown, least: Evidence): GradedField | undefined {
  const isList = Array.isArray(value)
  if (!isList && !isObject(value)) return undefined
  for (const [name, part] of Object.entries(value)) {
    const field = partsOf(place, name)
    const weak = isList || part === undefined ? undefined : field.find((schema) => isWeakField(schema, least))
    if (weak) return { path: name, evidence: gradeOf(weak) ?? least }
    const inner = weakIn(field, part, least)
    if (inner) return isList ? inner : { ...inner, path: `${name}.${inner.path}` }
  }
  return undefined
}

/** Returns a copy of `value` without the fields that are weaker than `least`. */
export const withoutWeak = (schema: FieldSchema, value: unknown, least: Evidence): unknown =>
  strongIn([schema], value, least)

function strongIn(place: SchemaPlace, value: unknown, least: Evidence): unknown {
  if (Array.isArray(value)) return value.map((item) => strongIn(partsOf(place, ''), item, least))
  if (!isObject(value) || place.length === 0) return value
  const left: Record<string, unknown> = {}
  for (const [name, part] of Object.entries(value)) {
    const field = partsOf(place, name)
    if (!field.some((schema) => isWeakField(schema, least))) left[name] = strongIn(field, part, least)
  }
  return left
}
