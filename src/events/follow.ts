import type { ServiceContext } from '../context.js'
import type { Owner } from '../owner.js'
import { type EventRow, events, findEvents, showEvent } from './event.js'

const PIECE = 100
/** How long it looks at nothing new: another process may have written. Then it shows that it is still there. */
const PAUSE_MS = 2000
const HEARTBEAT_MS = 15_000
/** Then the follower comes again, which shows whether it still may. */
const LONGEST_MS = 10 * 60_000

export interface Following {
  readonly owner: Owner
  readonly type: string | undefined
  /** The last one seen; where absent, only what comes from now on. */
  readonly after: number | undefined
  /** Ends it. */
  readonly ending: AbortSignal | undefined
}

/** An owner's events as they are written, oldest first, in the format of server-sent events. */
export async function* followEvents(following: Following, service: ServiceContext): AsyncGenerator<string> {
  const { storage, background } = service
  const { owner, type } = following
  const newest = { owner, type: undefined, past: undefined, limit: 1, reverse: true }
  let last = following.after ?? (await storage.read((tx) => findEvents(tx, newest)))[0]?.id ?? 0
  let waited = 0
  let silent = 0
  // Tells the client at once that it is connected.
  yield ': following\n\n'
  while (waited < LONGEST_MS) {
    const past = last
    const rows = await storage.read((tx) => findEvents(tx, { owner, type, past, limit: PIECE }))
    if (rows.length > 0) yield rows.map(asMessage).join('')
    else if (silent >= HEARTBEAT_MS) yield ': nothing new\n\n'
    silent = rows.length > 0 || silent >= HEARTBEAT_MS ? 0 : silent
    last = rows.at(-1)?.id ?? last
    if (rows.length === PIECE) continue
    if (!(await background.nextWrite([events.name], PAUSE_MS, following.ending))) return
    waited += PAUSE_MS
    silent += PAUSE_MS
  }
}

const asMessage = (event: EventRow): string =>
  `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(showEvent(event))}\n\n`
