import { MAX_UNITS } from '../../money/ledger/amount.js'
import { type BinderRow, type BinderValue, binderFault } from './binder-file.js'

/** What the rows of one digital quantity add up to. Amounts are counts of 10^-9. */
export interface QuantityTally {
  readonly dq: string
  /** What the twin received. */
  readonly received: bigint
  /** What it received minus what it sent. */
  readonly net: bigint
  /** What it must have had before the oldest row, so that it was never below zero. */
  readonly opening: bigint
  readonly oldestAt: number
  /** How many decimals the finest amount has, and its line. */
  readonly finest: { readonly decimals: number; readonly line: number }
  readonly largest: { readonly nanos: bigint; readonly line: number }
}

/** Adds up the rows of a binder that come newest first. */
export class BinderTally {
  readonly #quantities = new Map<string, QuantityTally>()
  /** In the order in which the file names them. */
  readonly order: string[] = []

  add({ action, at, line }: Pick<BinderRow, 'action' | 'at' | 'line'>, { dq, nanos, decimals }: BinderValue): void {
    const change = action === 'receive' ? nanos : -nanos
    const known = this.#quantities.get(dq)
    if (!known) this.order.push(dq)
    const { received = 0n, net = 0n, opening = 0n } = known ?? {}
    const finest = known && known.finest.decimals >= decimals ? known.finest : { decimals, line }
    const largest = known && known.largest.nanos >= nanos ? known.largest : { nanos, line }
    this.#quantities.set(dq, {
      dq,
      received: received + (action === 'receive' ? nanos : 0n),
      net: net + change,
      // This row is older than those before it: what they need, it may have brought.
      opening: opening > change ? opening - change : 0n,
      oldestAt: at,
      finest,
      largest,
    })
  }

  has(dq: string): boolean {
    return this.#quantities.has(dq)
  }

  of(dq: string): QuantityTally | undefined {
    return this.#quantities.get(dq)
  }

  quantities(): readonly QuantityTally[] {
    return [...this.#quantities.values()]
  }
}

/** Prices settle to a thousandth, so a digital quantity that a binder brings has at least as many decimals if it can. */
const USUAL_DECIMALS = 3

/** How many decimals a digital quantity gets that only the binder names. Throws `binder_invalid` if no number fits. */
export function decimalsFor(tally: QuantityTally): number {
  const usual = Math.max(tally.finest.decimals, USUAL_DECIMALS)
  const decimals = fits(tally, usual) ? usual : tally.finest.decimals
  checkDecimals(tally, decimals)
  return decimals
}

/** Checks that a digital quantity with these decimals can hold what a binder names. Throws `binder_invalid`. */
export function checkDecimals(tally: QuantityTally, decimals: number): void {
  const { finest, largest } = tally
  checkFineness(finest, decimals)
  if (fits(tally, decimals)) return
  throw binderFault(largest.line, 'amount', `less: with ${decimals} decimals, all that is received is too much`)
}

/** Throws `binder_invalid` if an amount is finer than the smallest unit. */
export function checkFineness({ decimals, line }: QuantityTally['finest'], most: number): void {
  if (decimals > most)
    throw binderFault(line, 'amount', `a number with at most ${most} decimals, as its digital quantity has`)
}

const fits = ({ received, opening, largest }: QuantityTally, decimals: number): boolean =>
  unitsIn(received + opening, decimals) <= MAX_UNITS &&
  // From 2^52 units on, a JSON number may lose the last decimal.
  (decimals === 0 || unitsIn(largest.nanos, decimals) <= MAX_UNITS / 2n)

/** Converts a count of 10^-9 to smallest units. */
export const unitsIn = (nanos: bigint, decimals: number): bigint => nanos / 10n ** BigInt(9 - decimals)
