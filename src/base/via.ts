import { problem } from './problem.js'

/** Value of the `Via` header on upstream calls (RFC 9110 section 7.6.3). */
export const VIA = '1.1 farthing'

/** How many upstream calls may follow from each other, through this or other farthing services. */
const MOST_HOPS = 3

/** How many upstream calls a request passed through: the endpoint of an item may be a farthing service. */
export const hopsIn = (headers: Pick<Headers, 'get'>): number =>
  (headers.get('via') ?? '').split(',').filter((entry) => /^\s*(?:[\w-]+\/)?[\w.]+\s+farthing(?![\w.-])/i.test(entry))
    .length

/** The `Via` header of an upstream call that follows from a request with this many hops. */
export const viaAfter = (hops: number): string => Array.from({ length: hops + 1 }, () => VIA).join(', ')

/** Checks the hops before value is held for an upstream call. Throws `too_many_hops`. */
export function checkHops(hops: number): void {
  if (hops >= MOST_HOPS) throw problem('too_many_hops', { facts: { hops, most: MOST_HOPS } })
}
