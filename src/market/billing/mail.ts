import type { ChargeResult } from '../../base/ports.js'
import { required } from '../../base/required.js'
import { spendLetter } from '../../jobs/outbox/mail-limit.js'
import { postMail } from '../../jobs/outbox/outbox.js'
import type { Writer } from '../../storage/storage.js'
import { dayOf } from '../plans/period.js'
import { plans } from '../plans/plan.js'
import { cardName, formatDollars, type InvoiceRow, invoiceName } from './invoice.js'
import { billingEmails } from './profile.js'

interface Letter {
  readonly subject: string
  readonly paragraphs: readonly string[]
}

async function mailTo(tx: Writer, accountId: number, { subject, paragraphs }: Letter, at: number): Promise<void> {
  for (const to of await billingEmails(tx, accountId))
    if (await spendLetter(tx, { accountId, to, at }))
      await postMail(tx, { to, subject, text: paragraphs.join('\n\n'), at })
}

const readAt = ({ id }: InvoiceRow, baseUrl: string): string =>
  `The invoice, as the account's programs read it: ${baseUrl}/v4/billing/invoices/${id}.pdf`

/** That an invoice is paid. */
export function mailReceipt(tx: Writer, invoice: InvoiceRow, { baseUrl, at }: Mailing): Promise<void> {
  const { card, total } = invoice
  const lines = invoice.lines.map(({ description, amount }) => `${description}: ${formatDollars(amount)}`)
  const paid = card
    ? `We charged ${formatDollars(total)} to your card: ${cardName(card)}.`
    : `Nothing was to be charged: ${formatDollars(total)}.`
  const paragraphs = [`Thank you. ${paid}`, lines.join('\n'), readAt(invoice, baseUrl)]
  return mailTo(tx, invoice.account_id, { subject: `Receipt for invoice ${invoiceName(invoice)}`, paragraphs }, at)
}

interface Mailing {
  readonly baseUrl: string
  readonly at: number
}

export type FailedCharge = Exclude<ChargeResult, { status: 'succeeded' }>

/** That a card was charged in vain, and when it is tried next: at last by saying that the plan ends where that fails. */
export function mailFailure(
  tx: Writer,
  invoice: InvoiceRow,
  { result, isLast, baseUrl, at }: Mailing & { readonly result: FailedCharge; readonly isLast: boolean },
): Promise<void> {
  const { plan, total, next_try_at } = invoice
  const when = dayOf(required(next_try_at, `the next try of invoice ${invoice.id}`))
  const isDeclined = result.status === 'declined'
  const why = isDeclined
    ? `${formatDollars(total)} could not be charged to your card. The reason given: ${result.reason}.`
    : `${formatDollars(total)} could not be charged, as the card processor was not available. Nothing is wrong with your card.`
  const outlook = isLast
    ? `We try once more on ${when}. If your card is declined then, the ${plans[plan].name} plan is cancelled and the account goes back to the free plan.`
    : `We try again on ${when}. Nothing changes until then.`
  const sooner = isDeclined
    ? 'To pay sooner, pay the invoice by another card'
    : 'To pay sooner, pay the invoice yourself'
  return mailTo(
    tx,
    invoice.account_id,
    {
      subject: isLast
        ? `Last try for invoice ${invoiceName(invoice)}`
        : `Payment of invoice ${invoiceName(invoice)} failed`,
      paragraphs: [
        why,
        `${outlook} ${sooner}: POST ${baseUrl}/v4/billing/invoices/${invoice.id}/pay.`,
        readAt(invoice, baseUrl),
      ],
    },
    at,
  )
}

/** That the plan ended over an unpaid invoice. */
export function mailCancelled(tx: Writer, invoice: InvoiceRow, { baseUrl, at }: Mailing): Promise<void> {
  const { plan, total } = invoice
  const { name } = plans[plan]
  return mailTo(
    tx,
    invoice.account_id,
    {
      subject: `Your ${name} plan is cancelled`,
      paragraphs: [
        `Invoice ${invoiceName(invoice)} over ${formatDollars(total)} stayed unpaid, so the ${name} plan is cancelled and the account is on the free plan. Nothing more is charged.`,
        `What you made stays. To go on, choose a plan with another card: PUT ${baseUrl}/v4/billing/plan.`,
        readAt(invoice, baseUrl),
      ],
    },
    at,
  )
}
