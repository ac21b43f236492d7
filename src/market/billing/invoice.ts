import type { ChargedCard } from '../../base/ports.js'
import { required } from '../../base/required.js'
import { seconds } from '../../base/time.js'
import { formatAmount } from '../../money/ledger/amount.js'
import { getOrNotFound } from '../../storage/existing.js'
import { newestFirst, type PageBounds } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import type { BillingPeriod } from '../plans/period.js'
import { toDollars } from '../plans/plan.js'
import {
  type BillingEvent,
  recordBillingEvent,
  type SubscriptionRow,
  subscriptionOf,
  subscriptions,
} from '../plans/subscription.js'
import { type InvoiceLine, type InvoiceRow, invoices } from './invoice-row.js'
import { profileOf } from './profile.js'

export const invoiceLine = (description: string, cents: bigint, { start, end }: BillingPeriod): InvoiceLine => ({
  description,
  amount: String(cents),
  period_start: start,
  period_end: end,
})

/** The smallest amount that cards are charged, in cents. Less is waived. */
const MIN_CHARGE = 50n

/** Creates an invoice without storing it. An amount that is too small for a card is waived by a line of its own. */
export async function draftInvoice(
  tx: Writer,
  accountId: number,
  { reason, plan, lines, at }: Pick<InvoiceRow, 'reason' | 'plan' | 'lines'> & { readonly at: number },
): Promise<InvoiceRow> {
  const sum = lines.reduce((sum, { amount }) => sum + BigInt(amount), 0n)
  const { period_start: start, period_end: end } = required(lines[0], 'the first line of an invoice')
  const waived =
    sum > 0n && sum < MIN_CHARGE ? [invoiceLine('Waived: too small to charge a card', -sum, { start, end })] : []
  return {
    id: await tx.nextId('invoices'),
    account_id: accountId,
    number: null,
    status: 'draft',
    reason,
    plan,
    lines: [...lines, ...waived],
    total: String(waived.length > 0 ? 0n : sum),
    profile: await profileOf(tx, accountId),
    charge: null,
    charge_id: null,
    card: null,
    failures: 0,
    failed_at: null,
    next_try_at: null,
    created_at: at,
    issued_at: null,
    paid_at: null,
  }
}

/**
 * Gives a draft the account's next number, so that it is owed. The caller stores the invoice and marks the subscription
 * as unpaid.
 */
export async function issueInvoice(tx: Writer, draft: InvoiceRow, at: number): Promise<InvoiceRow> {
  const subscription = await subscriptionOf(tx, draft.account_id)
  const number = subscription.invoices + 1
  tx.put(subscriptions, { ...subscription, invoices: number })
  const invoice: InvoiceRow = { ...draft, number, status: 'open', issued_at: at }
  await recordInvoiceEvent(tx, invoice, { type: 'billing.invoice_issued', at })
  return invoice
}

export const recordInvoiceEvent = (
  tx: Writer,
  { id, account_id, number, total, reason, plan }: InvoiceRow,
  { type, data, by = 'service', at }: Pick<BillingEvent, 'type' | 'data' | 'at'> & { by?: BillingEvent['by'] },
): Promise<void> =>
  recordBillingEvent(tx, account_id, {
    type,
    by,
    subject: `invoice:${id}`,
    data: {
      number: number === null ? null : invoiceNumber(account_id, number),
      total: toDollars(total),
      reason,
      plan,
      ...data,
    },
    at,
  })

/** The number on the document. It is unique among all accounts. */
export const invoiceNumber = (accountId: number, number: number): string =>
  `${accountId}-${String(number).padStart(4, '0')}`

/** The name on the document: the number, or the id of a draft. */
export const invoiceName = ({ id, account_id, number }: InvoiceRow): string =>
  number === null ? `draft ${id}` : invoiceNumber(account_id, number)

/** `Visa ending in 4242`. */
export const cardName = ({ brand, last4 }: ChargedCard): string =>
  `${brand.charAt(0).toUpperCase()}${brand.slice(1)} ending in ${last4}`

/** Dollars for people: `-12.50 USD`. */
export const formatDollars = (cents: bigint | string): string => `${formatAmount(cents, 2)} USD`

export const ownInvoice = (tx: Reader, accountId: number, id: number): Promise<InvoiceRow> =>
  getOrNotFound(tx, invoices, id, { account_id: accountId })

export const unpaidInvoice = async (
  tx: Reader,
  { unpaid_invoice_id }: SubscriptionRow,
): Promise<InvoiceRow | undefined> => (unpaid_invoice_id === null ? undefined : tx.get(invoices, unpaid_invoice_id))

/** Returns an account's invoices, newest first. Throws `cursor_invalid`. */
export async function listInvoices(tx: Reader, accountId: number, page: PageBounds) {
  const { rows, next } = await newestFirst(tx, invoices, { index: 'byAccount', prefix: [accountId], ...page })
  return { invoices: rows.map(showInvoice), next }
}

export type ShownInvoice = ReturnType<typeof showInvoice>

const secondsOrNull = (ms: number | null) => (ms === null ? null : seconds(ms))

/** Shows an invoice. Amounts are in dollars. `charging`: the outcome of a charge is unknown. */
export const showInvoice = (invoice: InvoiceRow) => ({
  id: invoice.id,
  number: invoice.number === null ? null : invoiceName(invoice),
  status: invoice.status,
  charging: invoice.charge !== null,
  reason: invoice.reason,
  plan: invoice.plan,
  currency: 'USD',
  lines: invoice.lines.map(({ description, amount, period_start, period_end }) => ({
    description,
    amount: toDollars(amount),
    period_start: seconds(period_start),
    period_end: seconds(period_end),
  })),
  total: toDollars(invoice.total),
  profile: { ...invoice.profile },
  card: invoice.card && { ...invoice.card },
  next_try_at: secondsOrNull(invoice.next_try_at),
  created_at: seconds(invoice.created_at),
  issued_at: secondsOrNull(invoice.issued_at),
  paid_at: secondsOrNull(invoice.paid_at),
})
