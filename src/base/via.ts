import { problem } from './problem.js'

/** What a service adds to the `Via` header of the upstream calls it makes (RFC 9110 section 7.6.3). */
export const VIA = '1.1 farthing'

/** How many upstream calls may follow from one another, by this service or another of its kind. */
const MOST_HOPS = 3

/** How many upstream calls a request has come through: an item whose endpoint is a service like this one makes such requests. */
export const hopsIn = (headers: Pick<Headers, 'get'>): number =>
  (headers.get('via') ?? '').split(',').filter((entry) => /^\s*(?:[\w-]+\/)?[\w.]+\s+farthing(?![\w.-])/i.test(entry))
    .length

/** The `Via` header of an upstream call that follows from a request with so many hops. */
export const viaAfter = (hops: number): string => Array.from({ length: hops + 1 }, () => VIA).join(', ')

/** Call it before anything is held for an upstream call. Throws `too_many_hops`. */
export function checkHops(hops: number): void {
  if (hops >= MOST_HOPS) throw problem('too_many_hops')
}
