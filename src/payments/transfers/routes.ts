import { Problem } from '../../base/problem.js'
import { Amount, ContentHash, IdPath, PageQuery, pageOf, TransferShape, z } from '../../http/fields/schema.js'
import { refusedBy, wantsPage } from '../../http/pages/html.js'
import { seeOther } from '../../http/reply.js'
import { defineRoutes, route } from '../../http/route.js'
import { cancelTransfer, claimTransfer } from './invitation.js'
import { invitationPage, refusedPage } from './invitation-page.js'
import { askForTransfer, createTransfer, type TransferRight } from './send.js'
import { listTransfers, readTransfer } from './transfer.js'
import { answer, answers, signedInBy, stepNow, steps, visit } from './visit.js'

const invitation = {
  evidence: 'designed',
  path: '/transfers/:token',
  auth: ['guest'],
  params: z.object({ token: z.string() }),
  produces: ['text/html'],
  refused: refusedBy(refusedPage),
} as const

const addressOf = (token: string, { baseUrl }: { readonly baseUrl: string }): string =>
  `${baseUrl}/transfers/${encodeURIComponent(token)}`

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
      const given = await askForTransfer(service, order, { userId: principal.id, sessionId: session?.id })
      return make({ by: 'session', ...given })
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
    ...invitation,
    summary: 'The page that a mailed link opens: who sends how much, and the way to it by a code that is mailed.',
    method: 'GET',
    query: z.object({ step: z.optional(z.string()) }),
    redirects: true,
    errors: ['not_found', 'link_expired', 'transfer_expired', 'rejected', 'code_expired'],
    async write(tx, { params, query, session, headers }, service) {
      const at = { ...params, sessionId: session.id, step: steps.find((step) => step === query.step) ?? 'offer' }
      const since = await signedInBy(tx, at, service)
      if (since && !(since instanceof Problem)) return seeOther(addressOf(params.token, service), since)
      if (since && !wantsPage(headers)) return since
      const shown = await visit(tx, at, { step: await stepNow(tx, at), at: service.clock.now() })
      const isOffer = since && shown.step !== 'claimed'
      return invitationPage(isOffer ? { ...shown, refused: since } : shown, service.sandbox !== undefined)
    },
  }),

  answerInvitation: route({
    ...invitation,
    summary: 'Have the code mailed, or sign in by it; what was sent is in the wallet then.',
    method: 'POST',
    body: z.object({ answer: z.enum(answers), code: z.optional(z.string()) }),
    status: 303,
    redirects: true,
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
    async write(tx, { params, body, session, headers }, service) {
      const answered = await answer(tx, { ...params, sessionId: session.id }, body, service)
      if (answered.step !== 'next') {
        // What was refused is told to programs as a problem, and undoes nothing.
        const { refused } = answered as { refused?: Problem }
        return refused && !wantsPage(headers) ? refused : invitationPage(answered, service.sandbox !== undefined)
      }
      // The next page has an address of its own, so that it can be asked for again.
      const address = addressOf(params.token, service)
      const location = answered.next === 'claimed' ? address : `${address}?step=${answered.next}`
      return seeOther(location, { session: answered.session })
    },
  }),
})
