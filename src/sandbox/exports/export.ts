import { load } from '../../base/parts.js'
import { problem } from '../../base/problem.js'
import { visibleText } from '../../base/text/visible.js'
import { VERSION } from '../../base/version.js'
import type { ServiceContext } from '../../http/context.js'
import { type EntryFilter, matcher } from '../journal/journal.js'
import type { KeptEntry } from '../journal/kept-entry.js'
import { entryOf, openJournal } from '../journal/requests.js'
import type { Entry, JournalMessage } from '../onion/entry.js'
import { curlExport, httpExport } from './request-files.js'

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
export async function exportEntries(which: string | EntryRange, format: ExportFormat, service: ServiceContext) {
  const entries = await entriesOf(which, service)
  // In JSON and JavaScript an escape means its character. Calls for which that is not so are left out.
  return visibleText(await writers[format](entries, service))
}

const writers = {
  curl: curlExport,
  http: httpExport,
  har: harExport,
  vitest: async (entries: readonly KeptEntry[], service: ServiceContext) =>
    (await load(() => import('./vitest/test-file.js'))).vitestExport(entries, service),
}

async function entriesOf(which: string | EntryRange, service: ServiceContext) {
  if (typeof which === 'string') return [await entryOf(service, which)]
  const { from, to, ...filter } = which
  const entries = (await openJournal(service)).range(from, to)
  if (!entries) throw problem('not_found', { detail: 'The journal has no entry with one of these ids.' })
  return entries.filter(matcher(filter))
}

/** Writes entries as an HTTP Archive (HAR 1.2). Secrets are not in it. */
function harExport(entries: readonly Entry[], { baseUrl }: { readonly baseUrl: string }): string {
  const calls = entries.filter(({ origin }) => origin !== 'timer' && origin !== 'delivery')
  const creator = { name: 'farthing', version: VERSION }
  const log = { version: '1.2', creator, entries: calls.map((each) => harEntry(each, baseUrl)) }
  return `${JSON.stringify({ log }, null, 2)}\n`
}

function harEntry({ id, at, ms, method, path, status, request, response }: Entry, baseUrl: string) {
  const query = path.includes('?') ? new URLSearchParams(path.replace(/^[^?]*\?/, '')) : []
  const time = ms ?? 0
  const text = response.body
  return {
    ...{ startedDateTime: at, time },
    request: {
      ...{ method, url: baseUrl + path, ...harMessage(request) },
      queryString: Array.from(query, ([name, value]) => ({ name, value })),
      ...(request.body !== null && { postData: { mimeType: typeOf(request), text: request.body } }),
    },
    response: {
      ...{ status: status ?? 0, statusText: '', ...harMessage(response) },
      content: { size: sizeOf(response), mimeType: typeOf(response), ...(text !== null && { text }) },
      redirectURL: response.headers.location ?? '',
    },
    ...{ cache: {}, timings: { send: 0, wait: time, receive: 0 } },
    comment: `${id}${request.cut || response.cut ? ', cut at 16 KiB' : ''}${status === null ? ', no answer' : ''}`,
  }
}

const harMessage = (message: JournalMessage) => ({
  ...{ httpVersion: 'HTTP/1.1', cookies: [], headersSize: -1, bodySize: sizeOf(message) },
  headers: Object.entries(message.headers).map(([name, value]) => ({ name, value })),
})

const sizeOf = ({ body }: JournalMessage): number => (body === null ? 0 : new TextEncoder().encode(body).length)
const typeOf = ({ headers }: JournalMessage): string => headers['content-type'] ?? 'application/json'
