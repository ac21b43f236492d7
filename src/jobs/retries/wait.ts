import type { ServiceContext } from '../../http/context.js'

/** How much longer than its wait a retry may be, so that work that failed together is not all tried again together. */
export const MOST_JITTER = 0.25

type Drawing = Pick<ServiceContext, 'random' | 'sandbox'>

/**
 * Returns a function that adds jitter to a wait, in milliseconds: always the same share, so that a body that runs twice
 * gets one result. A stopped clock has no jitter, because every run on it must be the same.
 */
export function drawJitter({ random, sandbox }: Drawing): (ms: number) => number {
  if (sandbox?.clock.mode === 'manual') return (ms) => ms
  const [high = 0, low = 0] = random.bytes(2)
  const share = (MOST_JITTER * (high * 256 + low)) / 65_536
  return (ms) => Math.round(ms * (1 + share))
}
