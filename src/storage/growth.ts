import type { ProblemCode } from '../base/problem.js'

/** The limits of growth that an option sets. `Limits` in `src/http/context.ts` holds them. */
export interface GrowthLimits {
  /**
   * How many things of one kind, such as twins, one owner may create within a day. An unproven user counts for the account
   * that created them. Callers without credentials count by their address, if it is public. Default: 20,000.
   */
  readonly newPerDay: number
  /**
   * How many bytes of large answers one owner may make the service store within a day, counted like `newPerDay`. Beyond
   * it, answers are given and not kept. Default: 1 GiB.
   */
  readonly storedBytesPerDay: number
}

export const defaultGrowth: GrowthLimits = { newPerDay: 20_000, storedBytesPerDay: 1_073_741_824 }

/** Whom a limit counts. `owner`: an account or user; an unproven user counts for the account that created them. */
export type CountedBy =
  | 'owner'
  | 'account'
  | 'user'
  | 'twin'
  | 'item'
  | 'cart'
  | 'checkout'
  | 'client'
  | 'connection'
  | 'email address'
  | 'client address'
  | 'owner or client address'
  | 'the service'

/** Who adds rows to a collection, and what ends its growth. `docs/limits.md` lists all of them. */
export type Growth = {
  /** Who adds rows, and by what. */
  readonly by: string
} & (Counted | { readonly bound: string })

interface Counted {
  /** How many rows at once, or within `withinMs`. A text names the option. */
  readonly most: number | `limits.${string}`
  readonly withinMs?: number
  readonly per: CountedBy
  /** The refusal of one more. `oldest ends`: nothing is refused, and the oldest one ends. */
  readonly beyond: ProblemCode | 'oldest ends'
}

export const isCounted = (growth: Growth | undefined): growth is Growth & Counted =>
  growth !== undefined && 'most' in growth

/** The growth of a collection whose new rows count towards `limits.newPerDay`. Routes that add some say `adds`. */
export const countedDaily = <By extends CountedBy = 'owner'>(by: string, per: By | 'owner' = 'owner'): Growth => ({
  by,
  most: 'limits.newPerDay',
  withinMs: 86_400_000,
  per,
  beyond: 'too_many_new',
})
