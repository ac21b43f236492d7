import type { CardRow } from '../../base/message.js'
import type { ChargeResult } from '../../base/ports.js'
import type { Problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { postCharge } from '../../jobs/outbox/outbox.js'
import { unchargedProblem } from '../../money/cards/charge-now.js'
import { beginCardTry } from '../../money/cards/declines.js'
import type { Writer } from '../../storage/storage.js'
import { plans } from '../plans/plan.js'
import type { CardOnFile } from '../plans/subscription.js'
import { cardName, formatDollars, invoiceName } from './invoice.js'
import { type InvoiceRow, invoices, type PendingCharge } from './invoice-row.js'
import { billingEmails } from './profile.js'

/**
 * Writes the charge of an invoice. The caller sends it, or the outbox if no caller waits. The message has the invoice's
 * id as `purpose_id`, and an invoice has one charge at a time.
 * `claim`: the token of the flow that sends it. Throws `too_many_declines`.
 */
export async function postInvoiceCharge(
  tx: Writer,
  invoice: InvoiceRow,
  { card, claim, at }: { readonly card: CardOnFile; readonly claim: string | undefined; readonly at: number },
  service: Pick<ServiceContext, 'random'>,
): Promise<CardRow> {
  const { id, account_id, plan, total } = invoice
  const by = claim === undefined ? 'service' : 'account'
  const charge: PendingCharge = { ...card, id: `invoice_${randomHex(service.random, 16)}`, by }
  tx.put(invoices, { ...invoice, charge, next_try_at: by === 'account' ? invoice.next_try_at : null })
  // The service's own charges do not count against the account's limit of declines.
  const subjects = by === 'account' ? ([`account:${account_id}`] as const) : []
  await beginCardTry(tx, { subjects, at })
  const [to = `account ${account_id}`] = await billingEmails(tx, account_id)
  const description = `${plans[plan].name} plan${invoice.number === null ? '' : `, invoice ${invoiceName(invoice)}`}`
  const { payment_method_id } = card
  return postCharge(tx, {
    to,
    subject: `Charge ${formatDollars(total)}`,
    text: `${description}: ${formatDollars(total)}, charged to the card on file, ${cardName(card.card)}.`,
    charge: {
      id: charge.id,
      payment_method_id,
      on_file: true,
      amount: total,
      decimals: 2,
      currency: 'USD',
      description,
    },
    purpose: 'invoice',
    purposeId: id,
    subjects,
    claim,
    at,
  })
}

/** Says why an invoice is not paid: see `unchargedProblem`. */
export const unpaidProblem = ({ id, charge }: InvoiceRow, result: ChargeResult | undefined): Problem =>
  unchargedProblem(result, {
    isPending: charge !== null,
    failed: 'Nothing was charged. Try again later with a new Idempotency-Key.',
    unknown: `It is not known yet whether the card was charged. farthing settles invoice ${id} by itself and never charges twice for it. Read its status with GET /v4/billing/invoices/${id}.`,
    fields: { invoice_id: id },
  })
