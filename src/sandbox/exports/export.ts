import { load } from '../../base/load.js'
import { problem } from '../../base/problem.js'
import { visibleText } from '../../base/text/visible.js'
import type { ServiceContext } from '../../http/context.js'
import { type EntryFilter, matcher } from '../journal/journal.js'
import type { KeptEntry } from '../journal/kept-entry.js'
import { entryOf, openJournal } from '../journal/requests.js'
import { curlExport } from './curl.js'
import { harExport } from './har.js'
import { httpExport } from './http-file.js'
import { exportedCalls } from './named-secrets.js'

/** Forms in which entries can be taken elsewhere. */
export type ExportFormat = 'curl' | 'http' | 'har' | 'vitest'

/** Entries from one to another, both included, or those of them that match. */
export interface EntryRange extends EntryFilter {
  readonly from: string
  readonly to: string
}

/**
 * Writes an entry or a range for another tool. Every character of it can be seen. Throws `not_found`, and for a test
 * `not_replayable`.
 */
export async function exportEntries(
  which: string | EntryRange,
  format: ExportFormat,
  service: ServiceContext,
): Promise<string> {
  // In JSON and JavaScript an escape means its character. Calls for which that is not so are left out.
  return visibleText(await written(await entriesOf(which, service), format, service))
}

async function written(entries: readonly KeptEntry[], format: ExportFormat, service: ServiceContext): Promise<string> {
  if (format === 'vitest') {
    const { vitestExport } = await load(() => import('./vitest/test-file.js'))
    return vitestExport(entries, service)
  }
  if (format === 'har') return harExport(entries, service)
  const calls = exportedCalls(entries)
  return format === 'curl' ? curlExport(calls, service) : httpExport(calls, service)
}

async function entriesOf(which: string | EntryRange, service: ServiceContext) {
  if (typeof which === 'string') return [await entryOf(service, which)]
  const { from, to, ...filter } = which
  const entries = (await openJournal(service)).range(from, to)
  if (!entries) throw problem('not_found', { detail: 'The journal has no entry with one of these ids.' })
  return entries.filter(matcher(filter))
}
