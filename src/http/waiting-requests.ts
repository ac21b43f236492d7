import { type Problem, problem } from '../base/problem.js'

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

/** The refusal of a request beyond those that may wait. */
export const tooManyWait = ({ count, most }: WaitingRequests): Problem =>
  problem('overloaded', {
    // The queue is far shorter than this. It need not grow or vary with the number of callers: a server answers those beyond
    // the queue a few at a time, so they come back a few at a time.
    headers: { 'retry-after': '1' },
    fields: { waiting: count, queue: most },
  })
