import type { CardRow } from '../../base/message.js'
import type { ChargeResult } from '../../base/ports.js'
import { type Problem, problem } from '../../base/problem.js'
import type { Limits, ServiceContext } from '../../http/context.js'

/** Checks that the service has a card processor. Throws `processor_failed`. */
export function checkProcessor({ cards }: Pick<ServiceContext, 'cards'>): void {
  if (!cards)
    throw problem('processor_failed', { detail: 'No card processor is configured. Create the service with `cards`.' })
}

/** How long recording the outcome of a charge may take before the service tries the charge again, in milliseconds. */
const MARGIN = 10_000

/** How long only the caller delivers its charge, in milliseconds. */
export const chargeLease = ({ cardMs }: Pick<Limits, 'cardMs'>): number => cardMs + MARGIN

/** Delivers a charge that the caller wrote. Returns its result, or undefined if that is not known yet. */
export const chargeNow = (
  message: CardRow,
  { background, log }: Pick<ServiceContext, 'background' | 'log'>,
): Promise<ChargeResult | undefined> =>
  background.charge(message).catch((cause: unknown) => {
    log.error(`the outcome of charge ${message.charge.id} could not be recorded and is tried again`, cause)
    return undefined
  })

/** The problem `card_declined`, with the reason from the processor. */
export const cardDeclined = (reason: string, fields: Readonly<Record<string, unknown>> = {}): Problem =>
  problem('card_declined', { detail: `The reason: ${reason}.`, fields: { reason, ...fields } })
