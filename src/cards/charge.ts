import type { ServiceContext } from '../context.js'
import type { CardRow, Courier } from '../outbox/outbox.js'
import type { ChargeResult } from '../ports.js'
import type { Writer } from '../storage/storage.js'

/** What is done once it is known what came of a charge, in the transaction that notes it: once. */
export type SettleCharge = (
  tx: Writer,
  charged: { readonly id: number; readonly result: ChargeResult },
  service: ServiceContext,
) => Promise<void>

/** Takes charges to the card processor; what comes of them is settled by what they pay for. */
export const cardCourier = (
  settle: Readonly<Record<CardRow['purpose'], SettleCharge>>,
): Courier<CardRow, ChargeResult> => ({
  async send({ charge }, { cards, alarm, limits }) {
    if (!cards) throw new Error('no card processor is configured')
    const ms = limits.cardMs
    const late = new Error(`the card processor did not answer within ${ms} ms`)
    return checkResult(
      await new Promise<ChargeResult>((resolve, reject) => {
        const cancel = alarm.set(ms, () => reject(late))
        cards.charge(charge).then(resolve, reject).finally(cancel)
      }),
    )
  },

  async settle(tx, { purpose, purpose_id }, result, service) {
    await settle[purpose](tx, { id: purpose_id, result }, service)
    return 'sent'
  },
})

/** Of an answer that is none, it is not known whether the card was charged. */
function checkResult(result: ChargeResult): ChargeResult {
  if (['succeeded', 'declined', 'unavailable'].includes(result?.status)) return result
  throw new TypeError('the card processor gave no ChargeResult')
}
