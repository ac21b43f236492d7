import { z } from '../../../http/fields/schema.js'

/** The state now, in a comparison. */
export const CURRENT = 'current'

const Name = z
  .string()
  .check(z.regex(/^(?!req_|current$)[A-Za-z0-9][\w.-]{0,63}$/, 'a name of letters, digits, ".", "_" and "-"'))

export const SavedSnapshotShape = z.strictObject({ name: Name, note: z.optional(z.string().check(z.maxLength(1000))) })

export const RewindShape = z.strictObject({ to: z.string() })
