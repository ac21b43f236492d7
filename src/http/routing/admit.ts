import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../context.js'
import type { Route } from '../route.js'

/**
 * When to come back. The queue is far shorter than this. It need not grow or vary with the number of callers: a server
 * answers those beyond the queue a few at a time, so they come back a few at a time.
 */
const RETRY_AFTER_S = 1

/**
 * Lets a request wait for its first transaction, and returns a function that ends its waiting. It may be called twice.
 * Controls, and what is about the service itself, always pass and do not count. Throws `overloaded` if as many wait as may.
 * A request that was let in is never turned away later.
 */
export function admit({ scope }: Route, { waiting }: ServiceContext): () => void {
  if (scope === 'sandbox' || scope === 'meta') return () => {}
  if (!waiting.enter())
    throw problem('overloaded', {
      headers: { 'retry-after': String(RETRY_AFTER_S) },
      fields: { waiting: waiting.count, queue: waiting.most },
    })
  let isWaiting = true
  return () => {
    if (isWaiting) waiting.leave()
    isWaiting = false
  }
}
