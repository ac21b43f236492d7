import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { hopsIn } from '../../base/via.js'
import {
  Amount,
  CheckoutShape,
  ContentHash,
  component,
  Email,
  IdPath,
  LinkPath,
  PageQuery,
  PaymentMethodId,
  pageOf,
  quoteFields,
  z,
} from '../../http/fields/schema.js'
import { defineRoutes, ERRORS, route } from '../../http/route.js'
import { createCheckout, readCheckout } from './checkout.js'
import { checkoutFlow } from './checkout-flow.js'
import { payerOfSession } from './checkout-row.js'
import { type Completion, completeCheckout } from './complete.js'
import { listCheckoutRefunds, outcomes, settleCheckoutRefund } from './refund.js'

const Refund = component('CheckoutRefund', {
  id: z.Id,
  checkout_id: z.Id,
  catalog_item_id: z.Id,
  name: z.string(),
  amount: Amount,
  dq: ContentHash,
  status: z.enum(['refused', 'unknown']),
  reason: z.nullable(z.string()),
  charge_id: z.nullable(z.TextId),
  refund_id: z.nullable(z.TextId),
  payer: z.enum(['user', 'guest']),
  email: z.nullable(z.string()),
})

const Outcome = z.enum(outcomes)
const designed = { evidence: 'designed', versions: ['v4'] } as const
const guestOwner = (userId: number | null) => (userId === null ? null : (`user:${userId}` as const))

const refusals = [
  ...(['not_found', 'sign_in_required', 'checkout_paid', 'checkout_paying', 'checkout_expired'] as const),
  ...(['price_changed', 'too_many_hops', 'too_many_calls', 'too_many_new'] as const),
  ...ERRORS.item,
  ...(['amount_invalid', 'insufficient_funds', 'card_minimum'] as const),
  ...ERRORS.card,
  ...(['parameter_unreadable', 'upstream_failed'] as const),
] as const

const checkoutPage = { ...checkoutFlow.page, params: LinkPath, redirects: true } as const

export const checkoutRoutes = defineRoutes('checkout', {
  listCheckoutRefunds: route({
    ...designed,
    summary:
      "List the failed refunds of the caller's sales, newest first. farthing keeps their value until you settle them.",
    method: 'GET',
    path: '/checkout/refunds',
    auth: ['account'],
    query: PageQuery,
    result: pageOf('refunds', Refund),
    read: (tx, { query, principal }) => listCheckoutRefunds(tx, principal.id, query),
  }),
  settleCheckoutRefund: route({
    ...designed,
    summary:
      'Settle a failed refund. `returned`: the payer has the money. `wallet`: credit the wallet of the payer. `again`: ask the card processor again.',
    method: 'POST',
    path: '/checkout/refunds/:id/settle',
    auth: ['account'],
    params: IdPath,
    body: z.object({ outcome: Outcome }),
    result: z.object({ id: z.Id, outcome: Outcome }),
    errors: ['not_found', 'refund_settled', 'refund_outcome_refused'],
    idempotent: true,
    write: (tx, { params, body, principal }, service) =>
      settleCheckoutRefund(tx, { accountId: principal.id, id: params.id, outcome: body.outcome }, service),
  }),
  createCheckout: route({
    summary: 'Create a link that pays for one purchase. Whoever has it can pay within 24 hours.',
    ...designed,
    method: 'POST',
    path: '/checkout',
    auth: ['account', 'user', 'agent', 'guest'],
    body: z.object({
      catalog_item_id: z.Id,
      arguments: z.optional(z.record(z.string(), z.unknown())),
      email: z.optional(Email),
      success_url: z.optional(z.string()),
      cancel_url: z.optional(z.string()),
    }),
    status: 201,
    result: CheckoutShape,
    errors: ['not_found', 'item_inactive', 'arguments_refused', 'schema_refused'],
    adds: 'checkouts',
    idempotent: true,
    write(tx, { body, principal }, service) {
      const { catalog_item_id: itemId, arguments: args = {}, email, success_url: successUrl, cancel_url } = body
      const maker = principal.kind === 'guest' ? guestOwner(principal.user_id) : principal.owner
      const actor = principal.kind === 'agent' ? principal.client_id : undefined
      const order = { maker, actor, itemId, args, email, successUrl, cancelUrl: cancel_url }
      return createCheckout(tx, { ...order, at: service.clock.now() }, service)
    },
  }),
  readCheckout: route({
    summary: 'Read a checkout by the secret of its link.',
    ...designed,
    method: 'GET',
    path: '/checkout/:token',
    auth: ['none'],
    params: LinkPath,
    result: CheckoutShape,
    errors: ['not_found', 'checkout_expired'],
    read: (tx, { params }, service) => readCheckout(tx, params.token, service),
  }),
  completeCheckout: route({
    summary: "Pay a checkout once, from one of the caller's wallets or by card, and deliver what it sells.",
    ...designed,
    method: 'POST',
    path: '/checkout/:token/complete',
    auth: ['user', 'guest'],
    params: LinkPath,
    body: z.object({
      hostname: z.optional(z.Hostname),
      payment_method_id: z.optional(PaymentMethodId),
      ...quoteFields,
    }),
    bodyOptional: true,
    result: CheckoutShape,
    errors: [...refusals, 'not_owner'],
    refusesCardData: true,
    idempotent: true,
    handle({ params, body, principal, session, headers, source }, service) {
      const payer =
        principal.kind === 'user'
          ? (`user:${principal.id}` as const)
          : payerOfSession(required(session, 'the session of a guest').id, principal.user_id)
      const { price, dq } = body
      return completeCheckout(
        { ...params, payer, method: paymentMethodOf(body), seen: { price, dq }, hops: hopsIn(headers), source },
        service,
      )
    },
  }),
  openCheckout: route({
    ...checkoutPage,
    summary: 'Open the page of a checkout. It shows the item, its seller and its price, and takes the payment.',
    method: 'GET',
    errors: ['not_found', 'checkout_paid', 'checkout_expired', 'rejected', 'code_expired'],
    write: checkoutFlow.open,
  }),
  answerCheckout: route({
    ...checkoutPage,
    summary: 'Send a form of the checkout page: mail a code, sign in, pay from a wallet or by card, or cancel.',
    method: 'POST',
    body: z.object({
      answer: z.enum(checkoutFlow.answers),
      email: z.optional(z.string()),
      code: z.secret(z.optional(z.string())),
      payment_method_id: z.optional(PaymentMethodId),
      ...quoteFields,
    }),
    status: 303,
    refusesCardData: true,
    errors: [...refusals, ...ERRORS.code],
    handle: checkoutFlow.handle,
  }),
})

function paymentMethodOf(body: {
  hostname?: string | undefined
  payment_method_id?: string | undefined
}): Completion['method'] {
  const { hostname, payment_method_id: paymentMethodId } = body
  if (paymentMethodId === undefined) return { by: 'wallet', hostname }
  if (hostname === undefined) return { by: 'card', paymentMethodId }
  const field = 'hostname'
  throw problem('field_invalid', { detail: `Send "${field}" or "payment_method_id", not both.`, fields: { field } })
}
