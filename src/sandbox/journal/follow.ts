import type { ServiceContext } from '../../http/context.js'
import type { Entry } from '../onion/entry.js'
import type { Journal } from './journal.js'
import { showEntry } from './kept-entry.js'
import { knowMarks } from './marked-names.js'

/** A silent stream sends a comment this often, so that connections stay open. */
const HEARTBEAT_MS = 15_000
/** How many entries wait for a reader who is slow. It loses the oldest of more. */
const MOST_WAITING = 1000

export interface Following {
  matches(entry: Entry): boolean
  /** Rejects if no entry can ever match. */
  check?(): Promise<void>
  /** The id of the last entry that the reader saw. Default: only new entries follow. */
  readonly after?: string | undefined
  readonly signal?: AbortSignal | undefined
}

type FollowedService = Pick<ServiceContext, 'background' | 'sandbox'>

/** Iterates entries as they end, oldest first, until the signal fires or the service closes. */
export async function* followEntries(
  journal: Journal,
  following: Following,
  service: FollowedService,
): AsyncGenerator<Entry> {
  for await (const entry of entriesOrSilence(journal, following, service)) if (entry) yield entry
}

/** The same as server-sent events. */
export async function* streamEntries(
  journal: Journal,
  following: Following,
  service: FollowedService,
): AsyncGenerator<string> {
  // Shows the client that it is connected.
  yield ': following\n'
  for await (const entry of entriesOrSilence(journal, following, service))
    yield entry ? `event: request\ndata: ${JSON.stringify(entry)}\nid: ${entry.id}\n\n` : ': nothing new\n'
}

/** Undefined stands for a silence. */
async function* entriesOrSilence(
  journal: Journal,
  { matches, check, after, signal }: Following,
  service: FollowedService,
): AsyncGenerator<Entry | undefined> {
  const { background } = service
  const waiting = after === undefined ? [] : journal.since(after).filter(matches)
  let waking = new AbortController()
  // Without a reason, each call would make an error with its stack.
  const wake = () => waking.abort('woken')
  const stopListening = journal.listen((entry) => {
    if (!matches(entry)) return
    waiting.push(entry)
    if (waiting.length > MOST_WAITING) waiting.shift()
    wake()
  })
  signal?.addEventListener('abort', wake)
  try {
    // While it loads what it needs, entries are heard already.
    await check?.()
    while (!signal?.aborted) {
      const isSilent = waiting.length === 0 && (await background.pause(HEARTBEAT_MS, waking.signal))
      if (isSilent) yield undefined
      else if (waiting.length === 0) return
      waking = new AbortController()
      // Not before there is something to show: it loads every route.
      if (waiting.length > 0) await knowMarks(service)
      // One by one: a reader who is slow loses entries, and those are never made.
      for (let entry = waiting.shift(); entry; entry = waiting.shift()) yield showEntry(entry)
    }
  } finally {
    stopListening()
    signal?.removeEventListener('abort', wake)
  }
}
