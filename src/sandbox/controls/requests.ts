import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import { exportControls, RangeShape } from '../exports/controls.js'
import { streamEntries } from '../journal/follow.js'
import { type EntryFilter, matcher } from '../journal/journal.js'
import { journalOf } from '../journal/requests.js'

export { ExportFormatShape, exportControls } from '../exports/controls.js'
export { faultControls } from '../faults/controls.js'
export { RequestQueryShape, requestControls } from '../journal/requests.js'
export { ActAsShape, callerControls, ReplayShape, replayControls } from '../replay/controls.js'

export const streamRequests = (
  { after, ...filter }: EntryFilter & { readonly after?: string | undefined },
  signal: AbortSignal | undefined,
  service: ServiceContext,
) => streamEntries(journalOf(service), { matches: matcher(filter), after, signal }, service)

/** Writes a range of entries for another tool. Throws `field_invalid` if a part of the order is missing, and `not_found`. */
export async function exportRange(order: object, service: ServiceContext) {
  const { as, ...range } = checkShape(RangeShape, order)
  return [await exportControls(service).export(range, as), as] as const
}
