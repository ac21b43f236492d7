import type { CardRow } from '../../base/message.js'
import type { ChargeResult } from '../../base/ports.js'
import { type Problem, problem } from '../../base/problem.js'
import type { ProblemFields } from '../../base/problem-fields.js'
import type { ServiceContext } from '../../http/context.js'
import type { Limits } from '../../http/limits.js'
import type { FlowRun } from '../../jobs/flows/flow.js'
import type { DigitalQuantityRow } from '../digital-quantities/digital-quantity.js'
import { toAmount } from '../ledger/amount.js'

/** Checks that the service has a card processor. Throws `processor_failed`. */
export function checkProcessor({ cards }: Pick<ServiceContext, 'cards'>): void {
  if (!cards)
    throw problem('processor_failed', { detail: 'No card processor is configured. Create the service with `cards`.' })
}

const MARGIN = 10_000 // How long recording the outcome of a charge may take before the service tries it again, in milliseconds.
/** How long only the caller delivers its charge, in milliseconds. */
export const chargeClaimMs = ({ cardMs }: Pick<Limits, 'cardMs'>): number => cardMs + MARGIN

/** Delivers the charge that a flow wrote, as its step. Returns its result, or undefined if that is not known yet. */
export const chargeNow = (
  message: CardRow,
  run: FlowRun,
  { background, limits, log }: Pick<ServiceContext, 'background' | 'limits' | 'log'>,
): Promise<ChargeResult | undefined> =>
  run
    .effect('charge the card', chargeClaimMs(limits), () => background.charge(message))
    .catch((cause: unknown) => {
      log.error(`the outcome of charge ${message.charge.id} could not be recorded and is tried again`, cause)
      return undefined
    })

/**
 * Says why a card did not pay: `card_declined`, or `processor_failed`, whose `outcome` says whether it may still be
 * charged. `failed` and `unknown` are the details.
 */
export function unchargedProblem(
  result: ChargeResult | undefined,
  told: { isPending: boolean; failed: string; unknown: string; fields?: ProblemFields },
): Problem {
  const { isPending, failed, unknown, fields = {} } = told
  if (isPending) return problem('processor_failed', { detail: unknown, fields: { ...fields, outcome: 'unknown' } })
  if (result?.status === 'declined') return cardDeclined(result.reason, fields)
  return problem('processor_failed', { detail: failed, fields: { ...fields, outcome: 'failed' } })
}

/** The problem `card_declined`, with the reason from the processor. */
export const cardDeclined = (reason: string, fields: ProblemFields = {}): Problem =>
  problem('card_declined', { detail: `The reason: ${reason}.`, fields: { reason, ...fields } })

/** Whether a charge may be this large. Without a limit one pending charge could reserve all supply. */
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
