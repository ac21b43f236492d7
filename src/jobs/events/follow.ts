import type { Owner } from '../../base/owner.js'
import type { ServiceContext } from '../../http/context.js'
import { type Reader, StorageClosed } from '../../storage/storage.js'
import { type EventRow, events, findEvents, findMatching, showEvent, sweptUntil } from './event.js'

const PIECE = 100
/** Reads again after this time even without a write here, because another process may have written. */
const PAUSE_MS = 2000
/** A silent stream sends a comment this often, so that connections stay open. */
const HEARTBEAT_MS = 15_000
/** The stream ends after this time, and the client reconnects. */
const LONGEST_MS = 10 * 60_000

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
 * the sweep removed events since the last one that the client saw. Ends when the client's credential ends, or the
 * service closes.
 */
export async function* followEvents(following: FollowOptions, service: ServiceContext): AsyncGenerator<string> {
  const { storage, background, alarm } = service
  const { owner, type, isAuthenticated } = following
  const newest = { owner, type: undefined, past: undefined, limit: 1, reverse: true }
  let last = following.after ?? (await storage.read((tx) => findEvents(tx, newest)))[0]?.id ?? 0
  let silent = 0
  let isFirst = true
  const ended = new AbortController()
  const end = () => ended.abort()
  if (following.ending?.aborted) end()
  following.ending?.addEventListener('abort', end)
  const cancel = alarm.set(LONGEST_MS, end)
  // Writes that bring new events or may end the client's credential.
  const watched = [events.name, ...service.credentialsIn]
  const nextWrite = () => background.nextWrite(watched, PAUSE_MS, ended.signal)
  try {
    // Shows the client that it is connected.
    yield comment('following')
    // Waits from before each read, so that a write during the read causes another read.
    for (let written = nextWrite(); ; ) {
      const past = last
      const read = await storage.read(async (tx) => {
        if (!(await isAuthenticated(tx))) return undefined
        const found = await findMatching(tx, { owner, type, past, limit: PIECE })
        return { ...found, swept: isFirst ? await sweptUntil(tx) : 0 }
      })
      if (!read) return
      const { rows, swept } = read
      if (past > 0 && past < swept) {
        yield gapMessage({ after: past, until: swept })
        last = swept
      }
      isFirst = false
      if (rows.length > 0) yield rows.map(asMessage).join('')
      else if (silent >= HEARTBEAT_MS) yield comment('nothing new')
      silent = rows.length > 0 || silent >= HEARTBEAT_MS ? 0 : silent + PAUSE_MS
      last = Math.max(last, read.last ?? 0)
      if (rows.length === PIECE) continue
      if (!(await written)) return
      written = nextWrite()
    }
  } catch (cause) {
    // A reader who was slow to read on finds the service closed.
    if (!(cause instanceof StorageClosed)) throw cause
  } finally {
    cancel()
    following.ending?.removeEventListener('abort', end)
  }
}

/** Ends with one newline, because some clients take each empty line for the end of a message. */
const comment = (text: string): string => `: ${text}\n`

/** Tells a client that events may be missing. Its id makes the client continue behind the gap when it reconnects. */
const gapMessage = (gap: { after: number; until: number }): string => message(gap.until, 'events.removed', gap)

const asMessage = (event: EventRow): string => message(event.id, event.type, showEvent(event))

/** The id comes last, because some clients remember it at once, even if the stream is cut before the message ends. */
const message = (id: number, type: string, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify(data)}\nid: ${id}\n\n`
