import { problem } from '../base/problem.js'

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

  /** Counts one more. Throws `overloaded` if as many wait as may. */
  admit(): void {
    if (this.enter()) return
    throw problem('overloaded', {
      headers: { 'retry-after': String(RETRY_AFTER_S) },
      fields: { waiting: this.#count, queue: this.most },
    })
  }

  /** Counts one less. Call it once for each that was let in. */
  leave(): void {
    this.#count--
  }
}

/**
 * When to come back. The queue is far shorter than this. It need not grow or vary with the number of callers: a server
 * answers those beyond the queue a few at a time, so they come back a few at a time.
 */
const RETRY_AFTER_S = 1
