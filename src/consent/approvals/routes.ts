import { Amount, ApprovalShape, seenPrice, z } from '../../http/fields/schema.js'
import { answered } from '../../http/pages/form-flow.js'
import { refusedBy, wantsPage } from '../../http/pages/html.js'
import { seeOther } from '../../http/reply.js'
import { type Call, defineRoutes, route } from '../../http/route.js'
import { approvalStatuses, decide, listApprovals, showToUser, usersApproval } from './approval.js'
import { approvalPage, refusedPage } from './page.js'
import { readAgentSettings } from './settings.js'
import { answer, answers, visit } from './visit.js'
import { approve, changeThresholds } from './wait.js'

const ApprovalPath = z.object({ id: z.string() })

/** Who answers: a user, by their own token or in a browser. */
const users = { evidence: 'designed', versions: ['v4'], auth: ['user', 'session'] } as const

/** A session that asks for what takes a second device. */
const askingOf = ({ principal, session }: Call<unknown, unknown, unknown, 'user' | 'session'>) =>
  principal.via === 'session' ? { userId: principal.id, sessionId: session?.id } : undefined

const AgentSettings = z.object({ approval_threshold: z.record(z.string(), Amount) })

const page = {
  evidence: 'designed',
  path: '/approvals/:id',
  auth: ['guest'],
  params: ApprovalPath,
  query: z.object({ step: z.optional(z.string()) }),
  produces: ['text/html'],
  refused: refusedBy(refusedPage),
} as const

type PageCall = Call<{ id: string }, { step?: string | undefined }, unknown, 'guest'>

const addressOf = ({ params }: Pick<PageCall, 'params'>, { baseUrl }: { readonly baseUrl: string }): string =>
  `${baseUrl}/approvals/${encodeURIComponent(params.id)}`

const visitOf = ({ params, query, session }: PageCall) => ({ ...params, ...query, sessionId: session.id })

export const approvalRoutes = defineRoutes('approvals', {
  listApprovals: route({
    ...users,
    summary: "List what the user's agents asked approval for, newest first.",
    method: 'GET',
    path: '/approvals',
    query: z.object({
      status: z.optional(z.enum(approvalStatuses)),
      limit: z.optional(z.int().check(z.minimum(1), z.maximum(100))),
      after: z.optional(z.string()),
    }),
    result: z.object({ approvals: z.array(ApprovalShape), next: z.nullable(z.string()) }),
    errors: ['cursor_invalid'],
    read: (tx, { query, principal }, service) => listApprovals(tx, principal.id, query, service),
  }),

  approveApproval: route({
    ...users,
    summary:
      'Let the agent do once, within an hour, exactly what it asked for. A session waits for the user’s second factor.',
    method: 'POST',
    path: '/approvals/:id/approve',
    params: ApprovalPath,
    body: z.object(seenPrice),
    bodyOptional: true,
    result: ApprovalShape,
    errors: [
      'not_found',
      'not_pending',
      'price_changed',
      'rejected',
      'approval_timeout',
      'too_many_pending',
      'too_many_mails',
    ],
    idempotent: true,
    handle: (call, service) =>
      approve(service, { id: call.params.id, userId: call.principal.id, asking: askingOf(call), seen: call.body }),
  }),

  rejectApproval: route({
    ...users,
    summary: 'Refuse what an agent asked for.',
    method: 'POST',
    path: '/approvals/:id/reject',
    params: ApprovalPath,
    result: ApprovalShape,
    errors: ['not_found', 'not_pending'],
    idempotent: true,
    async write(tx, { params, principal }, service) {
      const row = await usersApproval(tx, principal.id, params.id)
      const decided = await decide(tx, row, { decision: 'rejected', at: service.clock.now() })
      return 'id' in decided ? showToUser(decided, service) : decided
    },
  }),

  readAgentSettings: route({
    ...users,
    summary: "How much the user's agents may pay without asking, by digital quantity; nothing where none is named.",
    method: 'GET',
    path: '/agent/settings',
    result: AgentSettings,
    read: (tx, { principal }) => readAgentSettings(tx, principal.id),
  }),

  updateAgentSettings: route({
    ...users,
    summary:
      'Set up to which amount an agent pays from the agent twin without asking, by digital quantity. A session that raises one waits for the user’s second factor.',
    method: 'PUT',
    path: '/agent/settings',
    body: AgentSettings,
    result: AgentSettings,
    errors: ['dq_unknown', 'amount_invalid', 'rejected', 'approval_timeout', 'too_many_pending', 'too_many_mails'],
    handle: (call, service) =>
      changeThresholds(service, {
        userId: call.principal.id,
        thresholds: call.body.approval_threshold,
        asking: askingOf(call),
      }),
  }),

  openApproval: route({
    ...page,
    summary: 'The page at which a user reads what an agent asks, signed in as the very user, and answers it.',
    method: 'GET',
    redirects: true,
    errors: ['not_found', 'rejected', 'approval_timeout', 'code_expired'],
    async write(tx, call, service) {
      const shown = await visit(tx, visitOf(call), service)
      if (shown.step === 'signed_in') return seeOther(addressOf(call, service), shown)
      // What was approved meanwhile stays approved.
      return shown.refused && !wantsPage(call.headers)
        ? shown.refused
        : approvalPage(shown, service.sandbox !== undefined)
    },
  }),

  answerApproval: route({
    ...page,
    summary: 'Sign in by a mailed code, approve by the second factor, or reject, as the buttons of the page say.',
    method: 'POST',
    body: z.object({
      answer: z.enum(answers),
      email: z.optional(z.string()),
      code: z.optional(z.string()),
      ...seenPrice,
    }),
    status: 303,
    redirects: true,
    errors: [
      'not_found',
      'not_pending',
      'price_changed',
      'sign_in_required',
      'too_many_pending',
      'too_many_mails',
      'too_many_codes',
      'code_wrong',
      'code_expired',
      'too_many_tries',
    ],
    async write(tx, call, service) {
      const at = visitOf(call)
      return answered(await answer(tx, at, call.body, service), call, {
        address: addressOf(call, service),
        async again(refused, step) {
          const shown = await visit(tx, { ...at, step, email: call.body.email }, service)
          if (shown.step === 'signed_in') return seeOther(addressOf(call, service), shown)
          return approvalPage({ ...shown, refused }, service.sandbox !== undefined)
        },
      })
    },
  }),
})
