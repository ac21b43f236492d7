import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { type Reader, StorageClosed } from '../../storage/storage.js'
import { type EventRow, findEvents, findMatching, newestBelow, showEvent, sweptUntil } from './event.js'

/** A stream ends after this time, and the client connects again. */
export const LONGEST_STREAM_MS = 10 * 60_000
type Streaming = Pick<ServiceContext, 'storage' | 'intake' | 'rules' | 'alarm'>

/**
 * Takes a place for a stream that stays open, until the returned function is called. Throws `too_many_streams` if those
 * of the owner are all taken, and `overloaded` if those of this process are.
 */
export async function takeStream(owner: Owner, service: Streaming): Promise<() => void> {
  const { storage, alarm } = service
  const { streams } = service.intake
  const responsible = await storage.read((tx) => service.rules.responsibleFor(tx, owner))
  const free = streams.take(responsible)
  if (!free) {
    const isOwn = streams.of(responsible) > 0
    const headers = { 'retry-after': '60' }
    const fields = { waiting: streams.most - streams.free, queue: streams.most }
    if (!isOwn) throw problem('overloaded', { headers, fields, detail: 'All streams of this process are taken.' })
    const limit = streams.of(responsible)
    throw problem('too_many_streams', { headers, detail: `${limit} are open.`, fields: { limit } })
  }
  // A client that never reads its stream must not keep the place.
  const cancel = alarm.set(LONGEST_STREAM_MS, free)
  return () => {
    cancel()
    free()
  }
}

/** The same chunks. Calls `leave` when they end, also if nobody began to read them. */
export function leaving<T>(chunks: AsyncIterator<T>, leave: () => void): AsyncIterator<T> {
  return {
    async next() {
      try {
        const next = await chunks.next()
        if (next.done) leave()
        return next
      } catch (cause) {
        leave()
        throw cause
      }
    },
    async return(value) {
      leave()
      return (await chunks.return?.(value)) ?? { done: true, value }
    },
  }
}

const EVENTS_PER_READ = 100
/** Reads again after this time even without a write here, because another process may have written. */
const PAUSE_MS = 2000
/** A silent stream sends a comment this often, so that connections stay open. */
const HEARTBEAT_MS = 15_000

export interface FollowOptions {
  readonly owner: Owner
  readonly type: string | undefined
  /** The id of the last event that the client saw. Default: only new events follow. */
  readonly after: number | undefined
  /** Whether the client's credential is still valid. */
  readonly isAuthenticated: (tx: Reader) => Promise<boolean>
  /** Ends the stream. */
  readonly ending: AbortSignal | undefined
}

/**
 * Streams an owner's events as they are written, oldest first, as server-sent events. Begins with `events.removed` if
 * the sweep removed events since the last one that the client saw, and sends it when the last one that the client saw is
 * in no state that is here: a reset, a restore or a rewind brought another. Ends when the client's credential ends, or the
 * service closes.
 */
export function followEvents(following: FollowOptions, service: ServiceContext): AsyncIterator<string> {
  const ended = new AbortController()
  // A client that leaves while it waits must not be waited for.
  return leaving(follow(following, ended, service), () => ended.abort())
}

async function* follow(following: FollowOptions, ended: AbortController, service: ServiceContext) {
  const { storage, background, alarm } = service
  // Alone with its storage, a process knows of every write.
  const pauseMs = storage.exclusive ? HEARTBEAT_MS : PAUSE_MS
  const { owner, type, isAuthenticated } = following
  let last = following.after
  const look = async (tx: Reader, unwatched: Reader): Promise<Seen | undefined> => {
    if (!(await isAuthenticated(tx))) return undefined
    if (last !== undefined) {
      const found = await findMatching(tx, { owner, type, past: last, limit: EVENTS_PER_READ })
      const until = found.rows.length > 0 ? undefined : await newestBelow(unwatched, last)
      return until === undefined ? found : { rows: [], isMore: false, gap: { after: last, until } }
    }
    const [newest] = await findEvents(tx, { owner, type: undefined, past: undefined, limit: 1, reverse: true })
    return { rows: [], last: newest?.id ?? 0, isMore: false }
  }
  // Shows the client that it is connected.
  let greeting = comment('following')
  let silent = 0
  const end = () => ended.abort()
  if (following.ending?.aborted) end()
  following.ending?.addEventListener('abort', end)
  const cancel = alarm.set(LONGEST_STREAM_MS, end)
  try {
    const swept = last ? await storage.read(sweptUntil) : 0
    if (last && last < swept) {
      greeting += gapMessage({ after: last, until: swept })
      last = swept
    }
    for (;;) {
      // The first look comes before the greeting, so that nothing is missed that happens once the client has an answer.
      const seen = await background.watch({ ms: pauseMs, ending: ended.signal }, look)
      const { value: read } = seen
      if (!read) return
      const { rows, gap } = read
      last = gap ? gap.until : Math.max(last ?? 0, read.last ?? 0)
      if (gap) greeting += gapMessage(gap)
      if (read.isMore) seen.end()
      if (greeting) yield greeting
      greeting = ''
      if (rows.length > 0) yield rows.map(asMessage).join('')
      else if (silent >= HEARTBEAT_MS) yield comment('nothing new')
      silent = rows.length > 0 || silent >= HEARTBEAT_MS ? 0 : silent + pauseMs
      if (read.isMore) continue
      if (!(await seen.changed)) return
    }
  } catch (cause) {
    // A reader who was slow to read on finds the service closed.
    if (!(cause instanceof StorageClosed)) throw cause
  } finally {
    cancel()
    following.ending?.removeEventListener('abort', end)
  }
}

interface Gap {
  readonly after: number
  readonly until: number
}

type Seen = Awaited<ReturnType<typeof findMatching>> & { readonly gap?: Gap }

/** Ends with one newline, because some clients take each empty line for the end of a message. */
const comment = (text: string): string => `: ${text}\n`

/** Tells a client that events may be missing. Its id makes the client continue behind the gap when it reconnects. */
const gapMessage = (gap: Gap): string => message(gap.until, 'events.removed', gap)
const asMessage = (event: EventRow): string => message(event.id, event.type, showEvent(event))

/** The id comes last, because some clients remember it at once, even if the stream is cut before the message ends. */
const message = (id: number, type: string, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify(data)}\nid: ${id}\n\n`
