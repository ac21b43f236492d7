import { Amount, ApprovalShape, ContentHash, LinkPath, quoteFields, UnixSeconds, z } from '../../http/fields/schema.js'
import { defineRoutes, route } from '../../http/route.js'
import { choiceFlow, grantedAccount, offerAccountChoice } from './account-choice.js'
import { applyAccountChange } from './changes/apply.js'
import { readApproval, requestApproval, wishKinds, wishOf } from './request.js'

const parameters = z.record(z.string(), z.unknown())
const choicePage = { ...choiceFlow.page, params: LinkPath, redirects: true } as const
const purchaseErrors = ['not_found', 'item_inactive', 'price_changed', 'arguments_refused', 'schema_refused'] as const
const paymentErrors = ['dq_unknown', 'amount_invalid', 'destination_unknown', 'same_twin', 'upstream_refused'] as const
const cartErrors = ['cart_empty', 'cart_closed'] as const
const itemErrors = ['not_owner', 'item_archived', 'item_not_archived', 'plan_limit_reached'] as const
const changeErrors = ['account_not_granted', ...itemErrors] as const
const approvalErrors = ['not_found', 'approval_mismatch', 'approval_not_given', 'approval_spent'] as const
const codeErrors = ['too_many_codes', 'code_wrong', 'code_expired', 'too_many_tries'] as const
const agents = { versions: ['v4'], auth: ['agent'] } as const

export const agentRoutes = defineRoutes('agents', {
  readAgentAccount: route({
    ...agents,
    summary:
      'Read the business account that the user granted the agent, and whether there are accounts to choose from.',
    evidence: 'documented',
    method: 'GET',
    path: '/agent/account',
    result: z.object({
      account: z.nullable(z.object({ id: z.Id, name: z.nullable(z.string()) })),
      choosable: z.boolean(),
    }),
    read: (tx, { principal }) => grantedAccount(tx, principal),
  }),
  createAccountChoice: route({
    ...agents,
    summary: "Create a link at which the user chooses the agent's business account. It works once, within 15 minutes.",
    evidence: 'designed',
    method: 'POST',
    path: '/agent/account-choice',
    status: 201,
    result: z.object({ url: z.Link, expires_at: UnixSeconds }),
    errors: ['not_choosable'],
    adds: 'account_choices',
    idempotent: true,
    write: (tx, { principal }, service) => offerAccountChoice(tx, principal, service),
  }),
  createApproval: route({
    ...agents,
    summary:
      'Ask the user to approve a purchase, a paywall call, a transfer, a cart or an account change. Send the fields of that call, then make it once with the `approval_id`.',
    evidence: 'designed',
    method: 'POST',
    path: '/agent/approvals',
    body: z.object({
      kind: z.enum([...wishKinds, 'account_change']),
      catalog_item_id: z.optional(z.Id),
      arguments: z.optional(parameters),
      price: quoteFields.price,
      amount: z.optional(Amount),
      dq: z.optional(ContentHash),
      destination: z.optional(z.string()),
      serviceUrl: z.optional(z.string()),
      serviceMethod: z.optional(z.enum(['GET', 'POST', 'PUT'])),
      additionalParams: z.optional(parameters),
      address: z.optional(z.TextId),
      memo: z.optional(z.nullable(z.string())),
      cart_id: z.optional(z.Id),
      change: z.optional(parameters),
    }),
    status: 201,
    result: ApprovalShape,
    errors: [
      'too_many_pending',
      'card_data_refused',
      ...purchaseErrors,
      ...paymentErrors,
      ...cartErrors,
      ...changeErrors,
    ],
    idempotent: true,
    write: (tx, { body, principal }, service) => requestApproval(tx, principal, wishOf(body), service),
  }),
  readApproval: route({
    summary: 'Read an approval as its agent or its user.',
    evidence: 'designed',
    method: 'GET',
    path: '/agent/approvals/:id',
    versions: ['v4'],
    auth: ['agent', 'user', 'session'],
    params: z.object({ id: z.TextId }),
    result: ApprovalShape,
    errors: ['not_found'],
    read: (tx, { params, principal }, service) => readApproval(tx, principal, params.id, service),
  }),
  applyAccountChange: route({
    ...agents,
    summary: 'Apply an approved change of the granted account, once and exactly as the user approved it.',
    evidence: 'documented',
    method: 'POST',
    path: '/agent/account-changes',
    body: z.object({ approval_id: z.TextId }),
    result: z.object({ approval_id: z.TextId, change: parameters, result: parameters }),
    errors: ['account_not_granted', ...approvalErrors, 'change_impossible', 'change_incomplete'],
    idempotent: true,
    handle: ({ body, principal, storeAnswer }, service) =>
      applyAccountChange(principal, body.approval_id, service, storeAnswer),
  }),
  openAccountChoice: route({
    ...choicePage,
    summary: 'Open the page at which a user chooses the business account for an agent.',
    method: 'GET',
    errors: ['not_found', 'link_expired', 'too_many_pending', 'too_many_mails', 'rejected', 'code_expired'],
    write: choiceFlow.open,
  }),
  answerAccountChoice: route({
    ...choicePage,
    summary: 'Send a form of the account choice page: sign in by a mailed code, or choose an account.',
    method: 'POST',
    body: z.object({
      answer: z.enum(choiceFlow.answers),
      email: z.optional(z.string()),
      code: z.secret(z.optional(z.string())),
      account: z.optional(z.string()),
    }),
    status: 303,
    errors: ['not_found', 'link_expired', 'too_many_pending', 'too_many_mails', ...codeErrors],
    write: choiceFlow.answer,
  }),
})
