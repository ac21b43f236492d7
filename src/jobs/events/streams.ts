import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'

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
