import type { Evidence } from '../../base/evidence.js'
import type * as z from './zod.js'

/** A schema of zod, or one inside it. */
export type FieldSchema = z.core.$ZodType

/** What a field says about its values besides their type. */
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

/** The value of a mark of a schema, or of what it wraps. */
export function markOf<M extends keyof Marks>(schema: FieldSchema, mark: M): Marks[M] | undefined {
  const { innerType } = schema._zod.def as { innerType?: FieldSchema } // Wrappers have one.
  return marksBySchema.get(schema)?.[mark] ?? (innerType && markOf(innerType, mark))
}
