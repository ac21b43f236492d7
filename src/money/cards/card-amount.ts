import type { Limits } from '../../http/limits.js'
import type { DigitalQuantityRow } from '../digital-quantities/digital-quantity.js'
import { toAmount } from '../ledger/amount.js'

/**
 * Whether one charge of a card may be this large. What cards are charged for is reserved until the processor answers,
 * so without a limit one charge could reserve all supply and stop everybody's.
 */
export const isWithinCardMost = (
  units: bigint,
  { decimals }: Pick<DigitalQuantityRow, 'decimals'>,
  { cardAmount }: Pick<Limits, 'cardAmount'>,
): boolean => toAmount(units, decimals) <= cardAmount

/** Whether a card can be charged this amount: whole cents, and at least half a unit of the digital quantity. */
export function isChargeable(units: bigint, { decimals }: Pick<DigitalQuantityRow, 'decimals'>): boolean {
  const one = 10n ** BigInt(decimals)
  const cent = decimals > 2 ? 10n ** BigInt(decimals - 2) : 1n
  return units * 2n >= one && units % cent === 0n
}
