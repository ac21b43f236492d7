import type { CardRow, CardSubject, RefundRow } from '../../base/message.js'
import type { Cards, CardToSave, ChargeResult, RefundResult, SaveResult } from '../../base/ports.js'
import { type Problem, problem } from '../../base/problem.js'
import type { ProblemFields } from '../../base/problem-fields.js'
import type { ServiceContext } from '../../http/context.js'
import type { Limits } from '../../http/limits.js'
import type { FlowRun } from '../../jobs/flows/flow.js'
import type { DeliveryHandler } from '../../jobs/outbox/delivery.js'
import { attemptsOf, checkRate, countRate, type RateLimit, uncountRate } from '../../jobs/rates/rate.js'
import type { Reader, Writer } from '../../storage/storage.js'
import type { DigitalQuantityRow } from '../digital-quantities/digital-quantity.js'
import { toAmount } from '../ledger/amount.js'
import { hasReserved } from '../ledger/movement.js'

/** Runs once, when the result is known, in the transaction that records it. */
type Settle<Result> = (tx: Writer, ended: { id: number; result: Result }, service: ServiceContext) => Promise<void>
export type SettleCharge = Settle<ChargeResult>
export type SettleRefund = Settle<RefundResult>

/** Runs when a charge or refund is given up with an unknown outcome. Reports the id, which an operator can look up. */
type GiveUp<Lost> = (tx: Writer, lost: Lost & { id: number }, service: ServiceContext) => Promise<void>
export type GiveUpCharge = GiveUp<{ chargeId: string }>
export type GiveUpRefund = GiveUp<{ refundId: string }>

/** Delivers charges to the card processor. Each purpose settles its own results. */
export const cardDeliveryHandler = (
  settle: Readonly<Record<CardRow['purpose'], SettleCharge>>,
  lose: Readonly<Record<CardRow['purpose'], GiveUpCharge>>,
): DeliveryHandler<CardRow, ChargeResult> => ({
  async send({ charge }, service) {
    const result = await inTime(service, (cards) => cards.charge(charge))
    return known(result, ['succeeded', 'declined', 'unavailable'])
  },

  async settle(tx, { purpose, purpose_id, subjects, created_at }, result, service) {
    await settle[purpose](tx, { id: purpose_id, result }, service)
    const ended = { isDeclined: result.status === 'declined', at: service.clock.now() }
    await endCardTry(tx, { subjects, at: created_at }, ended)
    return 'sent'
  },

  giveUp: (tx, { purpose, purpose_id, charge }, service) =>
    lose[purpose](tx, { id: purpose_id, chargeId: charge.id }, service),
})

/** Delivers refunds to the card processor. Each purpose settles its own results. */
export const refundDeliveryHandler = (
  settle: Readonly<Record<RefundRow['purpose'], SettleRefund>>,
  lose: Readonly<Record<RefundRow['purpose'], GiveUpRefund>>,
): DeliveryHandler<RefundRow, RefundResult> => ({
  async send({ refund }, service) {
    return known(await inTime(service, (cards) => cards.refund(refund)), ['refunded', 'refused'])
  },

  async settle(tx, { purpose, purpose_id }, result, service) {
    await settle[purpose](tx, { id: purpose_id, result }, service)
    return result.status === 'refunded' ? 'sent' : 'failed'
  },

  giveUp: (tx, { purpose, purpose_id, refund }, service) =>
    lose[purpose](tx, { id: purpose_id, refundId: refund.id }, service),
})

/** Puts a card on file at the processor. An invalid or late answer counts as `unavailable`. */
export async function saveCard(card: CardToSave, service: Pick<ServiceContext, 'cards' | 'alarm' | 'limits' | 'log'>) {
  try {
    return known<SaveResult>(await inTime(service, (cards) => cards.save(card)), ['saved', 'declined', 'unavailable'])
  } catch (cause) {
    service.log.error(`card ${card.id} could not be put on file`, cause)
    return { status: 'unavailable' } as const
  }
}

function inTime<Result>(
  { cards, alarm, limits }: Pick<ServiceContext, 'cards' | 'alarm' | 'limits'>,
  ask: (cards: Cards) => Promise<Result>,
): Promise<Result> {
  if (!cards) throw new Error('no card processor is configured')
  const late = new Error(`the card processor did not answer within ${limits.cardMs} ms`)
  return new Promise<Result>((resolve, reject) => {
    const cancel = alarm.set(limits.cardMs, () => reject(late))
    ask(cards).then(resolve, reject).finally(cancel)
  })
}

/** Checks the status of the processor's answer. Throws a TypeError, so that an unknown status counts as no answer. */
function known<Result extends { readonly status: string }>(result: Result, statuses: readonly string[]): Result {
  if (statuses.includes(result?.status)) return result
  throw new TypeError('the card processor answered with an unknown status')
}

/** Checks that the service has a card processor. Throws `processor_failed`. */
export function checkProcessor({ cards }: Pick<ServiceContext, 'cards'>): void {
  if (!cards)
    throw problem('processor_failed', { detail: 'No card processor is configured. Create the service with `cards`.' })
}

const MARGIN = 10_000 // How long recording the outcome of a charge may take before the service tries it again, in milliseconds.
/** How long only the caller delivers its charge, in milliseconds. */
const chargeClaimMs = ({ cardMs }: Pick<Limits, 'cardMs'>): number => cardMs + MARGIN

/** Delivers the charge that a flow wrote, as its step. Returns its result, or undefined if that is not known yet. */
export const chargeNow = (message: CardRow, run: FlowRun, { background, limits, log }: ServiceContext) =>
  run
    .effect('charge the card', chargeClaimMs(limits), () => background.charge(message))
    .catch((cause: unknown) => {
      log.error(`the outcome of charge ${message.charge.id} could not be recorded and is tried again`, cause)
      return undefined
    })

/** Says why a card did not pay: `card_declined`, or `processor_failed`, whose `outcome` says whether it may still be charged. */
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

const WINDOW = 15 * 60_000
const code = 'too_many_declines'
/** Declines of one user, account, link or network of guests. Unproven users count as the account that made them. */
const DECLINES: RateLimit = { kind: 'card_declines', most: 10, windowMs: WINDOW, code }
/** Declines of all guests of a seller together. A few, or those of one network, must not block honest guests. */
const GUEST_DECLINES: RateLimit = { kind: 'card_declines', most: 100, windowMs: WINDOW, code }
/** How long a try counts as pending. */
const PENDING_MS = 60_000
const declinesOf = (subject: CardSubject): RateLimit => (subject.startsWith('guests:') ? GUEST_DECLINES : DECLINES)

/** Tries without a known outcome. With the declines, or the charges that reserve supply, at most twice the limit. */
const pendingOf = (subject: CardSubject): RateLimit => ({
  kind: 'card_pending',
  most: declinesOf(subject).most * 2,
  windowMs: PENDING_MS,
  code: 'too_many_charges',
})

interface CardTry {
  readonly subjects: readonly CardSubject[]
  readonly at: number
}

/** Checks that a card may be tried, and counts the try as pending until `endCardTry`. Throws `too_many_declines`, `too_many_charges`. */
export async function beginCardTry(tx: Writer, { subjects, at }: CardTry): Promise<void> {
  for (const subject of subjects) await checkDeclines(tx, subject, at)
  for (const subject of subjects) await countRate(tx, pendingOf(subject), { subject, at })
}

async function checkDeclines(tx: Reader, subject: CardSubject, at: number): Promise<void> {
  await checkRate(tx, declinesOf(subject), { subject, at })
  const pending = pendingOf(subject)
  const declined = await attemptsOf(tx, declinesOf(subject), { subject, at })
  const isAtLimit = declined + (await attemptsOf(tx, pending, { subject, at })) >= pending.most
  if (!isAtLimit && !(await hasReserved(tx, subject, pending.most))) return
  throw problem(pending.code, {
    detail: 'Other cards are being charged now. Try again in 5 seconds.',
    headers: { 'retry-after': '5' },
  })
}

/** Records the outcome of a try, in the transaction that records the processor's answer. */
export async function endCardTry(
  tx: Writer,
  { subjects, at: begunAt }: CardTry,
  { isDeclined, at }: { isDeclined: boolean; at: number },
): Promise<void> {
  for (const subject of subjects) {
    await uncountRate(tx, pendingOf(subject), { subject, at: begunAt })
    if (isDeclined) await countRate(tx, declinesOf(subject), { subject, at })
  }
}
