import { load } from '../../base/parts.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import { z } from '../../http/fields/schema.js'
import { FilterShape } from '../journal/filter.js'
import type { EntryRange, ExportFormat } from './export.js'

export const ExportFormatShape = z.enum(['curl', 'http', 'har', 'vitest'])

/** A range of entries, of which the filter takes some. */
export const RangeShape = z.strictObject({ ...FilterShape, from: z.string(), to: z.string(), as: ExportFormatShape })

const EntryExportShape = z.strictObject({ id: z.string(), as: ExportFormatShape })

/** Requests of the journal, written for other tools. */
export interface ExportControls {
  /**
   * Writes an entry, or a range of them, for another tool: `await sandbox.requests.export(id, 'curl')`. Secrets become
   * variables. `vitest` writes a whole test file, with the state before the first entry. Throws `not_found`, and for
   * `vitest` `not_replayable`.
   */
  export(which: string | EntryRange, format: ExportFormat): Promise<string>
}

export function exportControls(service: ServiceContext): ExportControls {
  return {
    async export(which, format) {
      if (typeof which === 'string') checkShape(EntryExportShape, { id: which, as: format })
      else checkShape(RangeShape, { ...which, as: format })
      return (await load(() => import('./export.js'))).exportEntries(which, format, service)
    },
  }
}
