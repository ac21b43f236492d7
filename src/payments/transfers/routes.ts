import { Amount, ContentHash, IdPath, PageQuery, pageOf, TransferShape, z } from '../../http/fields/schema.js'
import { defineRoutes, route } from '../../http/route.js'
import { awaitTransferApproval, createTransfer, type TransferRight } from './create-transfer.js'
import { cancelTransfer, claimTransfer } from './invitation.js'
import { invitationFlow } from './invitation-flow.js'
import { listTransfers, readTransfer } from './transfer.js'

const invitationPage = { ...invitationFlow.page, params: z.object({ token: z.string() }), redirects: true } as const

export const transferRoutes = defineRoutes('transfers', {
  createTransfer: route({
    summary:
      "Send value from the caller's primary twin to a twin's hostname or URL, or to an email; who reads an email that no user has proven is invited. A session waits for the user's second factor.",
    evidence: 'observed',
    method: 'POST',
    path: '/transfer',
    versions: ['v4'],
    auth: ['account', 'user', 'session', 'agent'],
    body: z.object({
      address: z.string(),
      amount: Amount,
      dq: z.optional(ContentHash),
      memo: z.optional(z.nullable(z.string())),
      approval_id: z.optional(z.string()),
    }),
    status: 201,
    result: TransferShape,
    errors: [
      'amount_invalid',
      'dq_unknown',
      'not_found',
      'same_twin',
      'insufficient_funds',
      'approval_required',
      'approval_not_given',
      'approval_spent',
      'approval_mismatch',
      'rejected',
      'approval_timeout',
      'too_many_pending',
      'too_many_mails',
    ],
    idempotent: true,
    async handle({ body, principal, session, keep }, service) {
      const { approval_id: approvalId, ...wanted } = body
      const order = { ...wanted, sender: principal.owner }
      const make = (right?: TransferRight) =>
        service.storage.write(async (tx) =>
          keep(tx, await createTransfer(tx, { ...order, right, at: service.clock.now() }, service)),
        )
      if (principal.kind === 'agent') return make({ by: 'agent', agent: principal, approvalId })
      if (principal.kind !== 'user' || principal.via !== 'session') return make()
      const approved = await awaitTransferApproval(service, order, { userId: principal.id, sessionId: session?.id })
      return make({ by: 'session', ...approved })
    },
  }),

  listTransfers: route({
    summary: 'List the transfers that the caller sent, got or can claim, newest first.',
    evidence: 'designed',
    method: 'GET',
    path: '/transfers',
    versions: ['v4'],
    auth: ['account', 'user', 'session'],
    query: PageQuery,
    result: pageOf('transfers', TransferShape),
    errors: ['cursor_invalid'],
    read: (tx, { query, principal }, { clock }) => listTransfers(tx, principal.owner, { ...query, at: clock.now() }),
  }),

  readTransfer: route({
    summary: 'Read a transfer that the caller sent, got or can claim.',
    evidence: 'designed',
    method: 'GET',
    path: '/transfers/:id',
    versions: ['v4'],
    auth: ['account', 'user', 'session'],
    params: IdPath,
    result: TransferShape,
    errors: ['not_found'],
    read: (tx, { params, principal }, { clock }) => readTransfer(tx, principal.owner, params.id, clock.now()),
  }),

  claimTransfer: route({
    summary: "Take what was sent to the caller's email; whoever signs in by a mailed code has it by that.",
    evidence: 'designed',
    method: 'POST',
    path: '/transfers/:id/claim',
    versions: ['v4'],
    auth: ['user', 'session'],
    params: IdPath,
    result: TransferShape,
    errors: ['not_found', 'not_invited', 'transfer_settled', 'transfer_expired'],
    idempotent: true,
    write: (tx, { params, principal }, { clock }) => claimTransfer(tx, principal.id, params.id, clock.now()),
  }),

  cancelTransfer: route({
    summary: 'Take an invitation back that nobody has claimed; the amount is free again.',
    evidence: 'designed',
    method: 'POST',
    path: '/transfers/:id/cancel',
    versions: ['v4'],
    auth: ['account', 'user', 'session'],
    params: IdPath,
    result: TransferShape,
    errors: ['not_found', 'not_owner', 'transfer_settled'],
    idempotent: true,
    write: (tx, { params, principal }, { clock }) => cancelTransfer(tx, principal.owner, params.id, clock.now()),
  }),

  openInvitation: route({
    ...invitationPage,
    summary: 'The page that a mailed link opens: who sends how much, and the way to it by a code that is mailed.',
    method: 'GET',
    errors: ['not_found', 'link_expired', 'transfer_expired', 'rejected', 'code_expired'],
    write: invitationFlow.open,
  }),

  answerInvitation: route({
    ...invitationPage,
    summary: 'Have the code mailed, or sign in by it; what was sent is in the wallet then.',
    method: 'POST',
    body: z.object({ answer: z.enum(invitationFlow.answers), code: z.optional(z.string()) }),
    status: 303,
    errors: [
      'not_found',
      'link_expired',
      'transfer_expired',
      'too_many_codes',
      'code_wrong',
      'code_expired',
      'too_many_tries',
      'too_many_pending',
      'too_many_mails',
    ],
    write: invitationFlow.answer,
  }),
})
