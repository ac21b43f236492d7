import { suggestName } from '../../base/text/nearest-name.js'
import type { ServiceContext } from '../../http/context.js'
import { fieldRefused } from '../../http/fields/field.js'
import { z } from '../../http/fields/schema.js'
import { sandboxOf } from '../onion/context.js'
import { PrincipalName } from '../onion/principal-name.js'
import type { EntryFilter } from './journal.js'

/** The fields by which entries are found. */
export const FilterShape = {
  operation_id: z.optional(z.string()),
  status: z.optional(z.int().check(z.minimum(100), z.maximum(599))),
  principal: z.optional(PrincipalName),
  q: z.optional(z.string()),
  trace: z.optional(z.string()),
}

/**
 * Checks that entries of an operation can be there at all. Call it when none is found: it loads every route. Throws
 * `field_invalid`.
 */
export async function checkOperation(
  { operation_id: id }: Pick<EntryFilter, 'operation_id'>,
  service: Pick<ServiceContext, 'sandbox'>,
): Promise<void> {
  if (id === undefined) return
  const { loadOperations, kindsOfWork } = sandboxOf(service)
  const names = [...(await loadOperations()).map((operation) => operation.id), ...kindsOfWork]
  if (names.includes(id)) return
  throw fieldRefused('operation_id', 'is no operation, no timer and no kind of message', suggestName(id, names))
}
