import type { Owner } from '../base/owner.js'
import type { DeadLetterSource } from '../http/context.js'
import { recordEvent } from '../jobs/events/event.js'
import type { EventType } from '../jobs/events/event-types.js'
import { BILLING_PERIOD_ENDS, BILLING_RETRY, invoices } from '../market/billing/invoice-row.js'
import {
  CHECKOUT_ATTEMPT_ENDS,
  CHECKOUT_EXPIRES,
  type CheckoutRow,
  checkoutCharges,
  checkoutOfAttempt,
  checkoutSeller,
  checkouts,
  isUser,
} from '../market/checkout/checkout-row.js'
import { heldPayments } from '../payments/payments/held-payment.js'
import { payments } from '../payments/payments/payment.js'
import { TRANSFER_EXPIRES, transfers } from '../payments/transfers/transfer.js'
import type { Reader, Writer } from '../storage/storage.js'

type Concern = { readonly owners: readonly [Owner, Owner?]; readonly type: EventType; readonly subject: string }
type Concerning = (tx: Reader, subject: string) => Promise<Concern | undefined>

const ofPayment: Concerning = async (tx, id) => {
  const payment = await tx.get(payments, Number(id))
  if (!payment) return undefined
  const { payee_owner, payer_owner, kind } = payment
  const owners: Concern['owners'] = kind === 'topup' ? [payee_owner] : [payer_owner, payee_owner]
  return { owners, type: 'payment.unsettled', subject: `payment:${id}` }
}

const ofCheckout = async (tx: Reader, checkout: CheckoutRow | undefined): Promise<Concern | undefined> =>
  checkout && {
    owners: [await checkoutSeller(tx, checkout)],
    type: 'checkout.unsettled',
    subject: `checkout:${checkout.id}`,
  }

const ofCharge: Concerning = async (tx, id) => {
  const charge = await tx.get(checkoutCharges, Number(id))
  const concern = charge && (await ofCheckout(tx, await tx.get(checkouts, charge.checkout_id)))
  if (!charge || !concern || !isUser(charge.payer)) return concern
  return { ...concern, owners: [concern.owners[0], charge.payer] }
}

const ofAccount: Concerning = async (_tx, id) => {
  return { owners: [`account:${Number(id)}`], type: 'billing.unsettled', subject: `account:${id}` }
}

const ofInvoice: Concerning = async (tx, id) => {
  const invoice = await tx.get(invoices, Number(id))
  return invoice && { owners: [`account:${invoice.account_id}`], type: 'billing.unsettled', subject: `invoice:${id}` }
}

const ofTransfer: Concerning = async (tx, id) => {
  const transfer = await tx.get(transfers, Number(id))
  return transfer && { owners: [transfer.sender_owner], type: 'transfer.unsettled', subject: `transfer:${id}` }
}

/** By the kind of a timer, or by the kind and purpose of a message. Other work concerns nobody's value. */
const concerns: Readonly<Record<string, Concerning>> = {
  card_topup: ofPayment,
  card_checkout: ofCharge,
  card_invoice: ofInvoice,
  refund_checkout: ofCharge,
  [heldPayments.timer]: ofPayment,
  [CHECKOUT_EXPIRES]: async (tx, id) => ofCheckout(tx, await tx.get(checkouts, Number(id))),
  [CHECKOUT_ATTEMPT_ENDS]: async (tx, attempt) => ofCheckout(tx, await checkoutOfAttempt(tx, attempt)),
  [BILLING_PERIOD_ENDS]: ofAccount,
  [BILLING_RETRY]: ofInvoice,
  [TRANSFER_EXPIRES]: ofTransfer,
}

/** Writes an event for the owners whom a dead letter concerns: it waits for an operator. */
export async function recordDeadLetter(tx: Writer, { id, kind, subject }: DeadLetterSource, at: number): Promise<void> {
  const concern = await concerns[kind]?.(tx, subject)
  if (concern) await recordEvent(tx, { ...concern, actor: 'service', data: { unsettled: id }, at })
}
