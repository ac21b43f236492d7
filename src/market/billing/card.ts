import { problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { saveCard } from '../../money/cards/charge.js'
import { cardDeclined, checkProcessor } from '../../money/cards/charge-now.js'
import { beginCardTry, endCardTry } from '../../money/cards/declines.js'
import type { Writer } from '../../storage/storage.js'
import {
  type CardOnFile,
  recordBillingEvent,
  type SubscriptionRow,
  subscriptionOf,
  subscriptions,
} from '../plans/subscription.js'
import { unpaidInvoice } from './invoice.js'
import { readBilling } from './show.js'

/** Has the card processor keep a card for an account. Throws `too_many_declines`, `card_declined`, `processor_failed`. */
export async function keepCard(
  accountId: number,
  paymentMethodId: string,
  service: ServiceContext,
): Promise<CardOnFile> {
  checkProcessor(service)
  const { storage, clock, random } = service
  const id = `card_${randomHex(random, 16)}`
  const tried = { subjects: [`account:${accountId}`] as const, at: clock.now() }
  await storage.write((tx) => beginCardTry(tx, tried))
  const result = await saveCard({ id, payment_method_id: paymentMethodId }, service)
  await storage.write((tx) => endCardTry(tx, tried, { isDeclined: result.status === 'declined', at: clock.now() }))
  if (result.status === 'saved') return { payment_method_id: result.payment_method_id, card: result.card }
  if (result.status === 'unavailable')
    throw problem('processor_failed', {
      detail: 'The card was not put on file, and nothing was charged: try again later.',
    })
  throw cardDeclined(result.reason)
}

/**
 * Puts an account's card on file, in place of the one before. Nothing is charged now: what is owed is tried by the new card next time.
 * Throws `too_many_declines`, `card_declined`, `processor_failed`, `charge_pending`.
 */
export async function replaceCard(accountId: number, paymentMethodId: string, service: ServiceContext) {
  const card = await keepCard(accountId, paymentMethodId, service)
  return service.storage.write(async (tx) => {
    const at = service.clock.now()
    const subscription = await subscriptionOf(tx, accountId)
    await putCard(tx, subscription, { card, at })
    return readBilling(tx, accountId, at)
  })
}

/** Throws `charge_pending`. */
export async function putCard(
  tx: Writer,
  subscription: SubscriptionRow,
  { card, at }: { readonly card: CardOnFile; readonly at: number },
): Promise<void> {
  const unpaid = await unpaidInvoice(tx, subscription)
  // The card that the account pays by now is put on file by that.
  if (unpaid?.charge?.by === 'account') throw problem('charge_pending', { fields: { invoice_id: unpaid.id } })
  tx.put(subscriptions, { ...subscription, card })
  const told = { card: { ...card.card } }
  await recordBillingEvent(tx, subscription.id, { type: 'billing.card_updated', by: 'account', data: told, at })
}

/** Takes an account's card off file, if it has one. Throws `card_in_use`. */
export async function removeCard(tx: Writer, accountId: number, at: number) {
  const subscription = await subscriptionOf(tx, accountId)
  if (subscription.plan !== 'free' || subscription.unpaid_invoice_id !== null) throw problem('card_in_use')
  if (subscription.card) {
    tx.put(subscriptions, { ...subscription, card: null })
    await recordBillingEvent(tx, accountId, { type: 'billing.card_removed', by: 'account', at })
  }
  return readBilling(tx, accountId, at)
}
