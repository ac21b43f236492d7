/** When an attempt may be repeated, and after which time. */

import { Refusal } from './refusal.js'

/** No wait is longer. A refusal that asks for more is thrown at once. */
const LONGEST_MS = 10_000
const FIRST_MS = 100

export interface Attempt {
  /** Counts from 0. */
  readonly number: number
  readonly retries: number
  /** Whether a second attempt changes nothing that the first one changed: it reads, or has an Idempotency-Key. */
  readonly isRepeatable: boolean
  readonly hasKey: boolean
}

/**
 * The milliseconds to wait before the next attempt, after a refusal or an error of the network. Undefined if there is no
 * next one.
 */
export function waitAfter(failure: unknown, attempt: Attempt): number | undefined {
  if (attempt.number >= attempt.retries) return undefined
  // Half of it is random, so that callers who failed together do not come back together.
  const backoff = FIRST_MS * 2 ** attempt.number * (0.5 + Math.random() / 2)
  if (!(failure instanceof Refusal)) return attempt.isRepeatable ? backoff : undefined
  const asked = Number(failure.headers.get('retry-after') ?? Number.NaN) * 1000
  if (!isTransient(failure, attempt, asked)) return undefined
  const wait = Number.isNaN(asked) ? backoff : asked
  return wait <= LONGEST_MS ? wait : undefined
}

function isTransient({ status, code }: Refusal, { isRepeatable, hasKey }: Attempt, asked: number): boolean {
  if (status === 429) return !Number.isNaN(asked)
  if (status === 503) return isRepeatable
  return hasKey && code === 'idempotency_in_progress'
}

/** Waits. Rejects with the reason of the signal if that fires. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** Waits for what other calls need too. Rejects with the reason of the signal if that fires first. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  signal.throwIfAborted()
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
