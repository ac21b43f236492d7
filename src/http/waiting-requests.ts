import { problem } from '../base/problem.js'
import type { ServiceContext } from './context.js'
import type { Route } from './route.js'

/** Counts the requests of a service that wait for their first transaction, in the service and in the server that reads them. */
export class WaitingRequests {
  /** How many may wait. */
  readonly most: number
  #count = 0

  constructor(most: number) {
    this.most = most
  }

  /** How many wait now. */
  get count(): number {
    return this.#count
  }

  get hasRoom(): boolean {
    return this.#count < this.most
  }

  /** Counts one more. Returns false, and counts nothing, if as many wait as may. */
  enter(): boolean {
    if (this.#count >= this.most) return false
    this.#count++
    return true
  }

  /** Counts one less. Call it once for each `enter` that returned true. */
  leave(): void {
    this.#count--
  }
}

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
export function admit({ scope }: Route, { intake: { waiting } }: ServiceContext): () => void {
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
