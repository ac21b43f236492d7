import { z } from '../../http/fields/schema.js'

/** The name of a caller, as the journal shows it. */
export const PrincipalName = z
  .string()
  .check(
    z.regex(/^(guest|(account|user|agent):\d+|client:.+)$/, 'guest, or a caller such as account:1, user:2 or agent:3'),
  )
