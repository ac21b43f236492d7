import { designed } from '../../http/fields/graded.js'
import { Amount, ContentHash, IdPath, LinkPath, listing, TransferShape, z } from '../../http/fields/schema.js'
import { defineRoutes, ERRORS, route } from '../../http/route.js'
import { awaitTransferApproval, createTransfer, type TransferRight } from './create-transfer.js'
import { invitationFlow } from './invitation-page.js'
import { cancelTransfer, claimTransfer, listTransfers, readTransfer } from './transfer.js'

const invitationPage = { ...invitationFlow.page, params: LinkPath, redirects: true } as const

const refusals = [
  ...(['amount_invalid', 'dq_unknown', 'not_found', 'same_twin', 'insufficient_funds'] as const),
  ...ERRORS.approval,
  ...(['rejected', 'approval_timeout', 'too_many_pending', 'too_many_mails'] as const),
] as const

const owned = { evidence: 'designed', versions: ['v4'], auth: ['account', 'user', 'session'] } as const

export const transferRoutes = defineRoutes('transfers', {
  createTransfer: route({
    summary:
      "Send value from the caller's primary twin to a twin's hostname, address or URL, or to an email. If no user has proven the email, its reader gets an invitation. With a session, the request waits for the user's second factor.",
    evidence: 'observed',
    method: 'POST',
    path: '/transfer',
    versions: ['v4'],
    auth: ['account', 'user', 'session', 'agent'],
    body: z.object({
      address: z.TextId,
      amount: Amount,
      dq: designed(z.optional(ContentHash)),
      memo: designed(z.optional(z.nullable(z.string()))),
      approval_id: designed(z.optional(z.TextId)),
    }),
    status: 201,
    result: TransferShape,
    errors: refusals,
    adds: 'transfers',
    idempotent: true,
    async handle({ body, principal, session, storeAnswer }, service) {
      const { approval_id: approvalId, ...wanted } = body
      const order = { ...wanted, sender: principal.owner }
      const make = (right?: TransferRight) =>
        service.storage.write(async (tx) =>
          storeAnswer(tx, await createTransfer(tx, { ...order, right, at: service.clock.now() }, service)),
        )
      if (principal.kind === 'agent') return make({ by: 'agent', agent: principal, approvalId })
      if (principal.kind !== 'user' || principal.via !== 'session') return make()
      const approved = await awaitTransferApproval(service, order, { userId: principal.id, sessionId: session?.id })
      return make({ by: 'session', ...approved })
    },
  }),
  listTransfers: route({
    summary: 'List the transfers that the caller sent, received or can claim, newest first.',
    ...owned,
    path: '/transfers',
    ...listing('transfers', TransferShape),
    read: (tx, { query, principal }, { clock }) => listTransfers(tx, principal.owner, { ...query, at: clock.now() }),
  }),
  readTransfer: route({
    summary: 'Read a transfer that the caller sent, received or can claim.',
    ...owned,
    method: 'GET',
    path: '/transfers/:id',
    params: IdPath,
    result: TransferShape,
    errors: ['not_found'],
    read: (tx, { params, principal }, { clock }) => readTransfer(tx, principal.owner, params.id, clock.now()),
  }),
  claimTransfer: route({
    summary: "Claim an amount that was sent to the caller's email. Signing in with a mailed code claims it too.",
    ...owned,
    method: 'POST',
    path: '/transfers/:id/claim',
    auth: ['user', 'session'],
    params: IdPath,
    result: TransferShape,
    errors: ['not_found', 'not_invited', 'transfer_settled', 'transfer_expired'],
    idempotent: true,
    write: (tx, { params, principal }, { clock }) => claimTransfer(tx, principal.id, params.id, clock.now()),
  }),
  cancelTransfer: route({
    summary: 'Cancel an invitation that nobody has claimed. The sender gets the amount back.',
    ...owned,
    method: 'POST',
    path: '/transfers/:id/cancel',
    params: IdPath,
    result: TransferShape,
    errors: ['not_found', 'not_owner', 'transfer_settled'],
    idempotent: true,
    write: (tx, { params, principal }, { clock }) => cancelTransfer(tx, principal.owner, params.id, clock.now()),
  }),
  openInvitation: route({
    ...invitationPage,
    summary:
      'Open the page of a mailed invitation. It shows the sender and the amount, and signs the reader in with a mailed code.',
    method: 'GET',
    errors: ['not_found', 'link_expired', 'transfer_expired', 'rejected', 'code_expired'],
    write: invitationFlow.open,
  }),
  answerInvitation: route({
    ...invitationPage,
    summary: 'Send a form of this page: request a code, or sign in with it and claim the amount.',
    method: 'POST',
    body: z.object({ answer: z.enum(invitationFlow.answers), code: z.secret(z.optional(z.string())) }),
    status: 303,
    errors: ['not_found', 'link_expired', 'transfer_expired', ...ERRORS.code],
    write: invitationFlow.answer,
  }),
})
