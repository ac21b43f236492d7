import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import { z } from '../../http/fields/schema.js'
import type { Explanation } from '../explain/facts/explanation.js'
import { explainKey } from '../explain/part.js'
import type { Entry } from '../onion/entry.js'
import { checkOperation, FilterShape } from './filter.js'
import { followEntries } from './follow.js'
import { type EntryFilter, findJournal, type Journal, matcher } from './journal.js'
import { showEntry } from './kept-entry.js'
import { knowMarks } from './marked-names.js'

export const FollowQueryShape = z.strictObject(FilterShape)

export const RequestQueryShape = z.strictObject({
  ...FilterShape,
  after: z.optional(z.string()),
  limit: z.optional(z.int().check(z.minimum(1), z.maximum(1000))),
})

export interface RequestQuery extends EntryFilter {
  /** The id of the last entry of the page before. */
  readonly after?: string | undefined
  /** At most 1,000. Default: 20. */
  readonly limit?: number | undefined
}

/** A page of the journal, newest first. */
export interface RequestPage {
  readonly requests: Entry[]
  /** The `after` of the next page. Null at the end. */
  readonly next: string | null
  /** How many entries the journal has forgotten because of its limits. */
  readonly dropped: number
}

/** The journal of a sandbox. Each method throws `not_found` if the service keeps none. */
export interface Requests {
  /**
   * Returns entries, newest first: `await sandbox.requests.list({ operation_id: 'createPayment', status: 402 })`.
   * `q` is a text in the path, a body, the code or the id. Throws `cursor_invalid` if the entry `after` is gone.
   */
  list(query?: RequestQuery): Promise<RequestPage>
  /** Returns an entry by its id, the `X-Request-ID` of the answer. Throws `not_found`. */
  read(id: string): Promise<Entry>
  /**
   * Explains why the service answered a request as it did, from the state of that moment, and how to fix a refusal.
   * Throws `not_found`.
   */
  explain(id: string): Promise<Explanation>
  /** Iterates entries as they end. Ends when the signal fires or the service closes. */
  follow(query?: EntryFilter, options?: { signal?: AbortSignal | undefined }): AsyncGenerator<Entry>
  /** Forgets all entries. */
  clear(): Promise<void>
}

/** The journal of a service. Throws `not_found` if it keeps none. */
export function journalOf(service: Pick<ServiceContext, 'recorder'>): Journal {
  const journal = findJournal(service)
  if (journal) return journal
  throw problem('not_found', {
    detail: 'This service keeps no journal: it was created with `journal: false`, or with 0 entries.',
  })
}

/** The same, for whoever reads entries: what is secret in them is known from then on. */
export async function openJournal(service: Pick<ServiceContext, 'recorder' | 'sandbox'>): Promise<Journal> {
  const journal = journalOf(service)
  await knowMarks(service)
  return journal
}

/** Finds an entry by its id. Throws `not_found`. */
export async function entryOf(service: Pick<ServiceContext, 'recorder' | 'sandbox'>, id: string) {
  const entry = (await openJournal(service)).entry(id)
  if (entry) return entry
  throw problem('not_found', { detail: 'The journal has no entry with this id. It forgets the oldest first.' })
}

export function requestControls(service: ServiceContext): Requests {
  return {
    async list(query = {}) {
      const { after, limit = 20, ...filter } = checkShape(RequestQueryShape, query)
      const journal = await openJournal(service)
      const found = journal.find(filter, { after, limit: limit + 1 })
      if (!found) throw problem('cursor_invalid')
      if (found.length === 0) await checkOperation(filter, service)
      const shown = found.slice(0, limit)
      const next = found.length > limit ? (shown.at(-1)?.id ?? null) : null
      return { requests: shown.map(showEntry), next, dropped: journal.dropped }
    },
    async read(id) {
      return showEntry(await entryOf(service, id))
    },
    async explain(id) {
      const entry = await entryOf(service, id)
      const { explainEntry } = await service.options.parts.load(explainKey)
      const explanation = await explainEntry(entry, { findEarlier: journalOf(service).findBefore(id), service })
      return { ...explanation, entry: showEntry(entry) }
    },
    follow(query = {}, { signal } = {}) {
      const filter = checkShape(FollowQueryShape, query)
      const check = () => checkOperation(filter, service)
      return followEntries(journalOf(service), { matches: matcher(filter), check, signal }, service)
    },
    async clear() {
      journalOf(service).clear()
    },
  }
}
