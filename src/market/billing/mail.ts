import type { ChargeResult } from '../../base/ports.js'
import { required } from '../../base/required.js'
import { sendMail } from '../../identity/mail/send-mail.js'
import type { Writer } from '../../storage/storage.js'
import { dayOf } from '../plans/period.js'
import { plans } from '../plans/plan.js'
import { cardName, formatDollars, invoiceName } from './invoice.js'
import type { InvoiceRow } from './invoice-row.js'
import { billingEmails } from './profile.js'

/** Mails these paragraphs and the link to an invoice to its account. */
async function mailInvoice(
  tx: Writer,
  { id, account_id }: InvoiceRow,
  { subject, paragraphs, baseUrl, at }: Mailing & { subject: string; paragraphs: readonly string[] },
): Promise<void> {
  const owner = `account:${account_id}` as const
  const link = `Your invoice, with the account's credentials: ${baseUrl}/v4/billing/invoices/${id}.pdf`
  const text = [...paragraphs, link].join('\n\n')
  const mail = { kind: 'billing', owner, causer: owner, subject, text, ownLinks: baseUrl, at } as const
  for (const to of await billingEmails(tx, account_id)) await sendMail(tx, { ...mail, to })
}

export function mailReceipt(tx: Writer, invoice: InvoiceRow, mailing: Mailing): Promise<void> {
  const { card, total } = invoice
  const lines = invoice.lines.map(({ description, amount }) => `${description}: ${formatDollars(amount)}`)
  const paid = card
    ? `We charged ${formatDollars(total)} to your card, ${cardName(card)}.`
    : `There was nothing to charge: ${formatDollars(total)}.`
  const paragraphs = [`Thank you. ${paid}`, lines.join('\n')]
  return mailInvoice(tx, invoice, { subject: `Receipt for invoice ${invoiceName(invoice)}`, paragraphs, ...mailing })
}

interface Mailing {
  readonly baseUrl: string
  readonly at: number
}

export type FailedCharge = Exclude<ChargeResult, { status: 'succeeded' }>

/**
 * Mails that a charge failed and when the next one is. The last mail says that the plan ends if the next charge fails.
 */
export function mailFailure(
  tx: Writer,
  invoice: InvoiceRow,
  { result, isLast, ...mailing }: Mailing & { readonly result: FailedCharge; readonly isLast: boolean },
): Promise<void> {
  const { plan, total, next_try_at } = invoice
  const when = dayOf(required(next_try_at, `the next try of invoice ${invoice.id}`))
  const isDeclined = result.status === 'declined'
  const why = isDeclined
    ? `We could not charge ${formatDollars(total)} to your card. The card processor's reason: ${result.reason}.`
    : `We could not charge ${formatDollars(total)} because the card processor was not available. Nothing is wrong with your card.`
  const outlook = isLast
    ? `We will try once more on ${when}. If your card is declined then, we cancel the ${plans[plan].name} plan and the account returns to the free plan.`
    : `We will try again on ${when}. Nothing changes until then.`
  const sooner = isDeclined
    ? 'To pay sooner, pay the invoice with a different card'
    : 'To pay sooner, pay the invoice yourself'
  const name = invoiceName(invoice)
  const subject = isLast ? `Last try for invoice ${name}` : `Payment of invoice ${name} failed`
  const next = `${outlook} ${sooner}: POST ${mailing.baseUrl}/v4/billing/invoices/${invoice.id}/pay.`
  return mailInvoice(tx, invoice, { subject, paragraphs: [why, next], ...mailing })
}

export function mailCancelled(tx: Writer, invoice: InvoiceRow, mailing: Mailing): Promise<void> {
  const { plan, total } = invoice
  const { name } = plans[plan]
  const paragraphs = [
    `Invoice ${invoiceName(invoice)} for ${formatDollars(total)} was not paid, so we cancelled the ${name} plan. Your account is now on the free plan, and we charge nothing more.`,
    `Everything you created stays. To continue, choose a plan with a different card: PUT ${mailing.baseUrl}/v4/billing/plan.`,
  ]
  return mailInvoice(tx, invoice, { subject: `Your ${name} plan is cancelled`, paragraphs, ...mailing })
}
