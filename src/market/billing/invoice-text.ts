import { dayOf } from '../plans/period.js'
import { plans } from '../plans/plan.js'
import { cardName, formatDollars, invoiceName } from './invoice.js'
import type { InvoiceRow, InvoiceStatus } from './invoice-row.js'

/** Writes an invoice as text, for page and PDF. Times are days in UTC. `issuer`: the host of the service. */
export function invoiceText(invoice: InvoiceRow, issuer: string) {
  const { status, total, lines } = invoice
  return {
    title: invoice.number === null ? 'Draft of an invoice' : `Invoice ${invoiceName(invoice)}`,
    status: statusText(invoice),
    isSettled: status === 'paid' || status === 'void',
    from: [issuer],
    to: billedTo(invoice),
    facts: invoiceFacts(invoice),
    lines: lines.map(({ description, amount, period_start, period_end }) => ({
      description,
      period: `${dayOf(period_start)} to ${dayOf(period_end)}`,
      amount: formatDollars(amount),
    })),
    total: formatDollars(total),
  }
}

export type InvoiceText = ReturnType<typeof invoiceText>

const statusTexts: Readonly<Record<InvoiceStatus, string>> = {
  draft: 'Draft: nothing is owed yet',
  open: 'Not paid yet',
  paid: 'Paid',
  void: 'Void: nothing is owed',
  uncollectible: 'Not paid: we no longer collect it',
}

const statusText = ({ status, paid_at }: InvoiceRow): string =>
  status === 'paid' && paid_at !== null ? `Paid on ${dayOf(paid_at)}` : statusTexts[status]

function billedTo({ account_id, profile }: InvoiceRow): string[] {
  const { business_name, business_address, billing_email, tax_number } = profile
  return [
    ...(business_name === null ? [] : [business_name]),
    ...(business_address?.split(/\r?\n/) ?? []),
    ...(tax_number === null ? [] : [`Tax number ${tax_number}`]),
    ...(billing_email === null ? [] : [billing_email]),
    `Account ${account_id}`,
  ]
}

function invoiceFacts({ created_at, issued_at, plan, card }: InvoiceRow): [string, string][] {
  const facts: [string, string][] = [
    issued_at === null ? ['Created', dayOf(created_at)] : ['Issued', dayOf(issued_at)],
    ['Plan', plans[plan].name],
  ]
  return card ? [...facts, ['Paid by', cardName(card)]] : facts
}
