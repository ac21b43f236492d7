import type { CardRow, RefundRow } from '../../base/message.js'
import type { Cards, CardToSave, ChargeResult, RefundResult, SaveResult } from '../../base/ports.js'
import type { ServiceContext } from '../../http/context.js'
import type { DeliveryHandler } from '../../jobs/outbox/delivery.js'
import type { Writer } from '../../storage/storage.js'
import { endCardTry } from './declines.js'

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
