import type { CardRow } from '../../base/message.js'
import type { ChargeResult } from '../../base/ports.js'
import { problem } from '../../base/problem.js'
import { randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { postCharge } from '../../jobs/outbox/outbox.js'
import { cardDeclined, chargeLease } from '../../money/cards/charge-now.js'
import { beginCardTry } from '../../money/cards/declines.js'
import type { Writer } from '../../storage/storage.js'
import { plans } from '../plans/plan.js'
import type { CardOnFile } from '../plans/subscription.js'
import { cardName, formatDollars, type InvoiceRow, invoiceName, invoices, type PendingCharge } from './invoice.js'
import { billingEmails } from './profile.js'

/**
 * Writes the charge that an invoice is to be paid by, and the invoice that waits for it: for the caller to make, or,
 * where no caller waits, for the outbox. The message itself says so by its `purpose_id`, and one charge runs at a time.
 * Throws `too_many_declines`.
 */
export async function postInvoiceCharge(
  tx: Writer,
  invoice: InvoiceRow,
  { card, by, at }: { readonly card: CardOnFile; readonly by: PendingCharge['by']; readonly at: number },
  { random, limits }: Pick<ServiceContext, 'random' | 'limits'>,
): Promise<CardRow> {
  const { id, account_id, plan, total } = invoice
  const charge: PendingCharge = { ...card, id: `invoice_${randomHex(random, 16)}`, by }
  tx.put(invoices, { ...invoice, charge, next_try_at: by === 'account' ? invoice.next_try_at : null })
  // What the service charges of itself is no try of the account's.
  const subjects = by === 'account' ? ([`account:${account_id}`] as const) : []
  await beginCardTry(tx, { subjects, at })
  const [to = `account ${account_id}`] = await billingEmails(tx, account_id)
  const description = `${plans[plan].name} plan${invoice.number === null ? '' : `, invoice ${invoiceName(invoice)}`}`
  const { payment_method_id } = card
  return postCharge(tx, {
    to,
    subject: `Charge ${formatDollars(total)}`,
    text: `${description}: ${formatDollars(total)}, charged to the card on file: ${cardName(card.card)}.`,
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
    leaseMs: by === 'account' ? chargeLease(limits) : 0,
    at,
  })
}

/** Why an invoice is not paid: `card_declined`, or `processor_failed`, which says whether a card may yet be charged for it. */
export function unpaidProblem({ id, charge }: InvoiceRow, result: ChargeResult | undefined) {
  if (charge === null && result?.status === 'declined') return cardDeclined(result.reason, { invoice_id: id })
  return problem('processor_failed', {
    detail:
      charge === null
        ? 'Nothing was charged. Try again later; a new try takes a new Idempotency-Key.'
        : `Whether the card was charged is not known yet: invoice ${id} is settled by itself, and the card is never charged twice for it; GET /v4/billing/invoices/${id} tells.`,
    fields: { invoice_id: id, outcome: charge === null ? 'failed' : 'unknown' },
  })
}
