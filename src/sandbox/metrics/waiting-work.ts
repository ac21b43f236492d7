import type { OutboxRow } from '../../base/message.js'
import type { ServiceContext } from '../../http/context.js'
import { outbox } from '../../jobs/outbox/outbox.js'
import { timers } from '../../jobs/schedule/timer.js'
import type { Query } from '../../storage/storage.js'

/** A scrape counts this many rows of a kind at most, so that it costs the same however many wait. */
const MOST_COUNTED = 1000

/** Work of one kind that waits for its time, or for an operator. Each number stops at 1,000. */
export interface WaitingWork {
  /** Its time has come. */
  readonly due: number
  /** Its time comes later. */
  readonly later: number
  /** It failed too often, and waits for an operator. */
  readonly dead: number
  /** For how long the first of it is due, in seconds. 0 if nothing is. */
  readonly overdueSeconds: number
}

/** Messages of the outbox, and timers. */
export interface AllWaitingWork {
  readonly messages: WaitingWork
  readonly timers: WaitingWork
}

export const readWaitingWork = ({
  storage,
  clock,
}: Pick<ServiceContext, 'storage' | 'clock'>): Promise<AllWaitingWork> =>
  storage.read(async (tx) => {
    const at = clock.now()
    return {
      messages: withAside(await countWaiting((query) => tx.find(outbox, query), at), await tx.find(outbox, ASIDE), at),
      timers: await countWaiting((query) => tx.find(timers, query), at),
    }
  })

/** Messages whose time has come, and that wait for a place of their queue or of their owner. */
const ASIDE = { index: 'byWaiting', prefix: [], limit: MOST_COUNTED } as const

function withAside(waiting: WaitingWork, aside: readonly OutboxRow[], at: number): WaitingWork {
  const since = aside.map(({ waits_since }) => (at - (waits_since ?? at)) / 1000)
  return {
    ...waiting,
    due: Math.min(waiting.due + aside.length, MOST_COUNTED),
    overdueSeconds: Math.max(waiting.overdueSeconds, ...since),
  }
}

type Find = (query: Query<'byDue' | 'byParked'>) => Promise<readonly { readonly due_at: number | null }[]>

async function countWaiting(find: Find, at: number): Promise<WaitingWork> {
  const first = { prefix: [], limit: MOST_COUNTED }
  const earliest = await find({ ...first, index: 'byDue' })
  const due = earliest.filter(({ due_at }) => due_at !== null && due_at <= at)
  const later = await find({ ...first, index: 'byDue', after: [at, Number.MAX_SAFE_INTEGER] })
  const dead = await find({ ...first, index: 'byParked' })
  const since = due[0]?.due_at ?? at
  return {
    due: due.length,
    later: later.length,
    dead: dead.length,
    overdueSeconds: (at - since) / 1000,
  }
}
