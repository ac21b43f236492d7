import type { ChargedCard } from '../../base/ports.js'
import { required } from '../../base/required.js'
import { normalEmail } from '../../base/text/email.js'
import { seconds } from '../../base/time.js'
import { accountOf, memberships, updateAccount } from '../../identity/accounts/account.js'
import { users } from '../../identity/users/user.js'
import { moneyText } from '../../money/ledger/amount.js'
import { getOrNotFound, newestFirst, type PageBounds } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import {
  type BillingEvent,
  type BillingPeriod,
  dayOf,
  plans,
  recordBillingEvent,
  type SubscriptionRow,
  subscriptionOf,
  subscriptions,
  toDollars,
} from '../plans/plan.js'
import {
  billingProfiles,
  type InvoiceLine,
  type InvoiceRow,
  type InvoiceStatus,
  invoices,
  type Profile,
} from './invoice-row.js'

export const invoiceLine = (description: string, cents: bigint, { start, end }: BillingPeriod): InvoiceLine => ({
  description,
  amount: String(cents),
  period_start: start,
  period_end: end,
})

/** The smallest amount that cards are charged, in cents. Less is waived. */
const MIN_CHARGE = 50n

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

/** Gives a draft the account's next number, so that it is owed. The caller stores it and marks the subscription as unpaid. */
export async function issueInvoice(tx: Writer, draft: InvoiceRow, at: number): Promise<InvoiceRow> {
  const subscription = await subscriptionOf(tx, draft.account_id)
  const number = subscription.invoices + 1
  tx.put(subscriptions, { ...subscription, invoices: number })
  const invoice: InvoiceRow = { ...draft, number, status: 'open', issued_at: at }
  await recordInvoiceEvent(tx, invoice, { type: 'billing.invoice_issued', at })
  return invoice
}

export function recordInvoiceEvent(
  tx: Writer,
  { id, account_id, number, total, reason, plan }: InvoiceRow,
  { data, by = 'service', ...event }: Pick<BillingEvent, 'type' | 'data' | 'at'> & { by?: BillingEvent['by'] },
): Promise<void> {
  const shown = { number: number === null ? null : invoiceNumber(account_id, number), total: toDollars(total) }
  const told = { ...shown, reason, plan, ...data }
  return recordBillingEvent(tx, account_id, { ...event, by, subject: `invoice:${id}`, data: told })
}

/** The number on the document. It is unique among all accounts. */
const invoiceNumber = (accountId: number, number: number): string => `${accountId}-${String(number).padStart(4, '0')}`

/** The name on the document: the number, or the id of a draft. */
export const invoiceName = ({ id, account_id, number }: InvoiceRow): string =>
  number === null ? `draft ${id}` : invoiceNumber(account_id, number)

export const cardName = ({ brand, last4 }: ChargedCard): string =>
  `${brand.charAt(0).toUpperCase()}${brand.slice(1)} ending in ${last4}`

export const formatDollars = (cents: bigint | string): string => moneyText(cents, { decimals: 2, shortcode: 'USD' })

export const ownInvoice = (tx: Reader, accountId: number, id: number): Promise<InvoiceRow> =>
  getOrNotFound(tx, invoices, id, { account_id: accountId })

export const unpaidInvoice = async (tx: Reader, { unpaid_invoice_id: id }: SubscriptionRow) =>
  id === null ? undefined : tx.get(invoices, id)

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

const NONE = { business_address: null, billing_email: null, tax_number: null }

export async function profileOf(tx: Reader, accountId: number): Promise<Profile> {
  const { business_name } = await accountOf(tx, accountId)
  const { business_address, billing_email, tax_number } = (await tx.get(billingProfiles, accountId)) ?? NONE
  return { business_name, business_address, billing_email, tax_number }
}

/** Undefined: unchanged. Null: cleared. */
export type ProfileChanges = { readonly [K in keyof Profile]?: Profile[K] | undefined }

/** Changes the profile on future invoices. Issued invoices stay as they are. `actor` default: the account. */
export async function updateBillingProfile(
  tx: Writer,
  accountId: number,
  changes: ProfileChanges,
  at: number,
  actor?: string,
): Promise<Profile> {
  const { business_name: businessName } = changes
  if (businessName !== undefined) await updateAccount(tx, accountId, { businessName, actor, at })
  const was = await profileOf(tx, accountId)
  const given = Object.entries(normalized(changes)).filter(([, value]) => value !== undefined)
  const profile: Profile = { ...was, ...Object.fromEntries(given) }
  const { business_name, ...kept } = profile
  tx.put(billingProfiles, { id: accountId, ...kept })
  const data = { changed: given.map(([name]) => name) }
  await recordBillingEvent(tx, accountId, { type: 'billing.profile_updated', by: 'account', actor, data, at })
  return profile
}

const normalized = (changes: ProfileChanges): ProfileChanges =>
  changes.billing_email ? { ...changes, billing_email: normalEmail(changes.billing_email) } : changes

const MAX_OWNERS = 100

/** Returns who gets mail about billing: the billing email, otherwise the users who own the account. */
export async function billingEmails(tx: Reader, accountId: number): Promise<string[]> {
  const { billing_email } = await profileOf(tx, accountId)
  if (billing_email !== null) return [normalEmail(billing_email)]
  const owners = await tx.find(memberships, { index: 'byAccount', prefix: [accountId], limit: MAX_OWNERS })
  const found = await Promise.all(owners.map(({ user_id }) => tx.get(users, user_id)))
  return found.flatMap((user) => (user && user.deleted_at === null ? [user.email] : []))
}
