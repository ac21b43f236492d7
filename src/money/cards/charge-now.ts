import type { CardRow } from '../../base/message.js'
import type { ChargeResult } from '../../base/ports.js'
import { type Problem, problem } from '../../base/problem.js'
import type { Limits, ServiceContext } from '../../http/context.js'

/** Throws `processor_failed` where no card can be charged. */
export function checkProcessor({ cards }: Pick<ServiceContext, 'cards'>): void {
  if (!cards)
    throw problem('processor_failed', { detail: 'No card processor is configured: create the service with `cards`.' })
}

/** In milliseconds: how long noting what came of a charge may take before the charge is taken for left behind. */
const MARGIN = 10_000

/** How long a charge is left to the caller who makes it, in milliseconds. */
export const chargeLease = ({ cardMs }: Pick<Limits, 'cardMs'>): number => cardMs + MARGIN

/** Has a charge made that the caller wrote. Gives what came of it, or undefined where that is not known yet. */
export const chargeNow = (
  message: CardRow,
  { background, log }: Pick<ServiceContext, 'background' | 'log'>,
): Promise<ChargeResult | undefined> =>
  background.charge(message).catch((cause: unknown) => {
    log.error(`what came of charge ${message.charge.id} could not be noted and is tried again`, cause)
    return undefined
  })

/** `card_declined`, by the reason that the processor gives. */
export const cardDeclined = (reason: string, fields: Readonly<Record<string, unknown>> = {}): Problem =>
  problem('card_declined', { detail: `The reason given: ${reason}.`, fields: { reason, ...fields } })
