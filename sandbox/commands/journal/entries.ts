import { isOfForeignPage } from '../../../src/sandbox/journal/foreign-page.js'
import type { Entry } from '../../../src/sandbox/onion/entry.js'
import { Refusal } from '../../refusal.js'
import { callControls, type RunningService, type ServiceFlags } from '../running-service.js'

/** Which entries of the journal a command is about, as flags say it. */
export interface FilterFlags extends ServiceFlags {
  readonly operation?: string | undefined
  /** A number. */
  readonly status?: string | undefined
  readonly principal?: string | undefined
  readonly q?: string | undefined
}

export interface EntryQuery {
  readonly operation_id?: string
  readonly status?: number
  readonly principal?: string
  readonly q?: string
}

/** Throws `Refusal` for a status that is none. */
export const queryOf = ({ operation, status, principal, q }: FilterFlags): EntryQuery => ({
  ...(operation !== undefined && { operation_id: operation }),
  ...(status !== undefined && { status: wholeNumber('--status', status) }),
  ...(principal !== undefined && { principal }),
  ...(q !== undefined && { q }),
})

/** Throws `Refusal` for a text that is no positive number. */
export function wholeNumber(flag: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new Refusal(`${flag} must be a number, not ${JSON.stringify(text)}`)
}

/** How many entries one call reads, and how many are looked at for the last one. */
const PAGE = 500
const MOST_SEEN = 5000

/** The newest entries that match, newest first. */
async function* newestEntries(running: RunningService, query: EntryQuery): AsyncGenerator<Entry> {
  let after: string | undefined
  for (let seen = 0; seen < MOST_SEEN; seen += PAGE) {
    const page = await callControls(running, () =>
      running.service.requests.list({ ...query, limit: PAGE, ...(after !== undefined && { after }) }),
    )
    // JSON holds nothing undefined.
    yield* page.requests as Entry[]
    if (page.next === null) return
    after = page.next
  }
}

/** At most this many entries that match, oldest first. */
export async function lastEntries(running: RunningService, query: EntryQuery, most: number): Promise<Entry[]> {
  const found: Entry[] = []
  for await (const entry of newestEntries(running, query)) if (found.push(entry) === most) break
  return found.reverse()
}

const isRequest = (entry: Entry): boolean =>
  entry.origin !== 'timer' && entry.origin !== 'delivery' && !isOfForeignPage(entry)

/** What stands for an id. Calls of the controls, such as those of the dashboard, are not what a user asks for. */
const named: Readonly<Record<string, (entry: Entry) => boolean>> = {
  last: (entry) => isRequest(entry) && !entry.path.startsWith('/_sandbox/'),
  'last-error': (entry) => isRequest(entry) && (entry.status ?? 0) >= 400 && !entry.path.startsWith('/_sandbox/mcp'),
}

/** The id that a user means: `last`, `last-error`, or an id. Throws `Refusal`. */
export async function idOf(given: string, running: RunningService): Promise<string> {
  const fits = named[given]
  if (!fits) return checkedId(given)
  for await (const entry of newestEntries(running, {})) if (fits(entry)) return entry.id
  throw new Refusal(
    given === 'last'
      ? `the journal of ${running.url} has no request yet`
      : `the journal of ${running.url} has no refused request`,
  )
}

function checkedId(given: string): string {
  if (/^req_[\w-]+$/.test(given)) return given
  throw new Refusal(
    `${JSON.stringify(given)} is no id of a request, such as an X-Request-ID: choose one from farthing requests, or last or last-error`,
  )
}
