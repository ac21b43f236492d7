import type { Owner } from '../../base/owner.js'
import type { ServiceContext } from '../../http/context.js'
import type { Reader } from '../../storage/storage.js'
import { type EventRow, events, findEvents, showEvent } from './event.js'

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
 * Streams an owner's events as they are written, oldest first, as server-sent events. Ends when the client's
 * credential ends.
 */
export async function* followEvents(following: FollowOptions, service: ServiceContext): AsyncGenerator<string> {
  const { storage, background, alarm } = service
  const { owner, type, isAuthenticated } = following
  const newest = { owner, type: undefined, past: undefined, limit: 1, reverse: true }
  let last = following.after ?? (await storage.read((tx) => findEvents(tx, newest)))[0]?.id ?? 0
  let silent = 0
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
    yield ': following\n\n'
    // Waits from before each read, so that a write during the read causes another read.
    for (let written = nextWrite(); ; ) {
      const past = last
      const rows = await storage.read(async (tx) =>
        (await isAuthenticated(tx)) ? findEvents(tx, { owner, type, past, limit: PIECE }) : undefined,
      )
      if (!rows) return
      if (rows.length > 0) yield rows.map(asMessage).join('')
      else if (silent >= HEARTBEAT_MS) yield ': nothing new\n\n'
      silent = rows.length > 0 || silent >= HEARTBEAT_MS ? 0 : silent + PAUSE_MS
      last = rows.at(-1)?.id ?? last
      if (rows.length === PIECE) continue
      if (!(await written)) return
      written = nextWrite()
    }
  } finally {
    cancel()
    following.ending?.removeEventListener('abort', end)
  }
}

const asMessage = (event: EventRow): string =>
  `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(showEvent(event))}\n\n`
