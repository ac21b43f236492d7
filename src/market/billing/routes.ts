import {
  Amount,
  component,
  IdPath,
  listing,
  PaymentMethodId,
  profileFields,
  UnixSeconds,
  z,
} from '../../http/fields/schema.js'
import { type Reply, reply } from '../../http/reply.js'
import { defineRoutes, ERRORS, route } from '../../http/route.js'
import { deleteCard, PLAN_IDS, payInvoice, readBilling, showPlans, updateCard } from './billing.js'
import { invoiceName, listInvoices, ownInvoice, profileOf, showInvoice, updateBillingProfile } from './invoice.js'
import { invoicePage } from './invoice-page.js'
import { invoicePdf } from './invoice-pdf.js'
import { updatePlan } from './renewal.js'

const PlanId = z.enum(PLAN_IDS)
const Limit = z.nullable(z.int()) // Null: no limit.
const Used = component('Usage', { used: z.int(), limit: Limit })
const Card = component('Card', { brand: z.string(), last4: z.string(), exp_month: z.int(), exp_year: z.int() })
const Billing = component('Billing', {
  plan: PlanId,
  status: z.enum(['active', 'past_due', 'cancelled']),
  card: z.nullable(Card),
  current_period_end: z.nullable(UnixSeconds),
  next_plan: z.nullable(PlanId),
  next_invoice: z.nullable(z.object({ plan: PlanId, amount: Amount, at: UnixSeconds })),
  unpaid_invoice_id: z.nullable(z.Id),
  usage: z.object({ active_items: Used, mcp_calls: Used }),
})

const BillingProfile = component('BillingProfile', {
  business_name: z.nullable(z.string()),
  business_address: z.nullable(z.string()),
  billing_email: z.nullable(z.string()),
  tax_number: z.nullable(z.string()),
})

const Invoice = component('Invoice', {
  id: z.Id,
  number: z.nullable(z.string()),
  status: z.enum(['draft', 'open', 'paid', 'void', 'uncollectible']),
  charging: z.boolean(),
  reason: z.enum(['upgrade', 'renewal']),
  plan: PlanId,
  currency: z.string(),
  lines: z.array(
    component('InvoiceLine', {
      description: z.string(),
      amount: Amount,
      period_start: UnixSeconds,
      period_end: UnixSeconds,
    }),
  ),
  total: Amount,
  profile: BillingProfile,
  card: z.nullable(Card),
  next_try_at: z.nullable(UnixSeconds),
  created_at: UnixSeconds,
  issued_at: z.nullable(UnixSeconds),
  paid_at: z.nullable(UnixSeconds),
})

const billing = { evidence: 'designed', versions: ['v4'], auth: ['account'] } as const
const profile = { ...billing, path: '/billing/profile', result: BillingProfile } as const

export const billingRoutes = defineRoutes('billing', {
  listPlans: route({
    ...billing,
    summary: 'List the plans with their prices in dollars and their limits. A limit of null means no limit.',
    method: 'GET',
    path: '/billing/plans',
    auth: ['none', 'account'],
    shareable: true,
    result: z.object({
      plans: z.array(
        z.object({
          id: PlanId,
          name: z.string(),
          price: Amount,
          currency: z.string(),
          interval: z.literal('month'),
          limits: z.object({ active_items: Limit, mcp_calls: Limit }),
        }),
      ),
    }),
    handle: async () => showPlans(),
  }),
  readBilling: route({
    ...billing,
    summary: "Read the account's plan, card on file, next invoice and usage.",
    method: 'GET',
    path: '/billing',
    result: Billing,
    read: (tx, { principal }, { clock }) => readBilling(tx, principal.id, clock.now()),
  }),
  updatePlan: route({
    ...billing,
    summary:
      'Change the plan. An upgrade applies at once and bills the rest of the month. A downgrade applies when the month ends. Choose the current plan to cancel a scheduled change.',
    method: 'PUT',
    path: '/billing/plan',
    body: z.object({ plan: PlanId, payment_method_id: z.optional(PaymentMethodId) }),
    result: Billing,
    errors: [
      ...(['card_required', 'too_many_declines', 'too_many_charges', 'card_declined'] as const),
      ...(['invoice_unpaid', 'charge_pending', 'processor_failed'] as const),
    ],
    refusesCardData: true,
    idempotent: true,
    handle: ({ body, principal }, service) =>
      updatePlan({ accountId: principal.id, plan: body.plan, paymentMethodId: body.payment_method_id }, service),
  }),
  updateCard: route({
    ...billing,
    summary: 'Replace the card on file. Nothing is charged now. The next charge uses the new card.',
    method: 'PUT',
    path: '/billing/card',
    body: z.object({ payment_method_id: PaymentMethodId }),
    result: Billing,
    errors: ['too_many_declines', 'too_many_charges', 'card_declined', 'charge_pending', 'processor_failed'],
    refusesCardData: true,
    idempotent: true,
    handle: ({ body, principal, storeAnswer }, service) =>
      updateCard(principal.id, body.payment_method_id, service, storeAnswer),
  }),
  deleteCard: route({
    ...billing,
    summary: 'Remove the card on file.',
    method: 'DELETE',
    path: '/billing/card',
    result: Billing,
    errors: ['card_in_use'],
    write: (tx, { principal }, { clock }) => deleteCard(tx, principal.id, clock.now()),
  }),
  readBillingProfile: route({
    ...profile,
    summary: 'Read the name and addresses on invoices, and the email for mail about billing.',
    method: 'GET',
    read: (tx, { principal }) => profileOf(tx, principal.id),
  }),
  updateBillingProfile: route({
    ...profile,
    summary:
      'Change the name and addresses on future invoices. Null clears a field. A missing field stays. Buyers see the business name.',
    method: 'PUT',
    body: z.object(profileFields),
    refusesCardData: true,
    write: (tx, { body, principal }, { clock }) => updateBillingProfile(tx, principal.id, body, clock.now()),
  }),
  listInvoices: route({
    ...billing,
    summary: "List the account's invoices, newest first.",
    path: '/billing/invoices',
    ...listing('invoices', Invoice),
    read: (tx, { query, principal }) => listInvoices(tx, principal.id, query),
  }),
  readInvoicePdf: route({
    ...billing,
    summary: 'Read an invoice as PDF.',
    method: 'GET',
    path: '/billing/invoices/:id.pdf',
    params: IdPath,
    produces: ['application/pdf'],
    errors: ['not_found'],
    async handle({ params, principal }, { storage, baseUrl, log, options }): Promise<Reply> {
      const invoice = await storage.read((tx) => ownInvoice(tx, principal.id, params.id))
      const name = `invoice-${invoiceName(invoice).replace(' ', '-')}.pdf`
      const headers = { 'content-type': 'application/pdf', 'content-disposition': `inline; filename="${name}"` }
      return reply({ headers, body: await invoicePdf(invoice, { baseUrl, log, ...options }) })
    },
  }),
  readInvoicePage: route({
    ...billing,
    summary: 'Read an invoice as a page for screen and paper.',
    method: 'GET',
    path: '/billing/invoices/:id.html',
    params: IdPath,
    produces: ['text/html'],
    errors: ['not_found'],
    read: async (tx, { params, principal }, { baseUrl }) =>
      invoicePage(await ownInvoice(tx, principal.id, params.id), new URL(baseUrl).host),
  }),
  readInvoice: route({
    ...billing,
    summary: 'Read an invoice.',
    method: 'GET',
    path: '/billing/invoices/:id',
    params: IdPath,
    result: Invoice,
    errors: ['not_found'],
    read: async (tx, { params, principal }) => showInvoice(await ownInvoice(tx, principal.id, params.id)),
  }),
  payInvoice: route({
    ...billing,
    summary: 'Pay an open invoice with the card on file, or with a new card that replaces it.',
    method: 'POST',
    path: '/billing/invoices/:id/pay',
    params: IdPath,
    body: z.object({ payment_method_id: z.optional(PaymentMethodId) }),
    bodyOptional: true,
    result: Invoice,
    errors: ['not_found', 'invoice_not_open', 'charge_pending', ...ERRORS.card],
    idempotent: true,
    refusesCardData: true,
    handle({ params, body, principal, storeAnswer }, service) {
      const order = { accountId: principal.id, id: params.id, paymentMethodId: body.payment_method_id }
      return payInvoice(order, service, storeAnswer)
    },
  }),
})
