const STEP = 0x6d2b79f5

/**
 * Returns the n-th number that a seed draws, from 0 to 1 and the same each time: mulberry32, which is no source of secrets.
 * The first is number 1.
 */
export function drawn(seed: number, n: number): number {
  const state = ((seed | 0) + Math.imul(n, STEP)) | 0
  let mixed = Math.imul(state ^ (state >>> 15), state | 1)
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}
