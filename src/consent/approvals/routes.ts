import { Amount, ApprovalShape, component, quoteFields, z } from '../../http/fields/schema.js'
import { type Call, defineRoutes, route } from '../../http/route.js'
import { approvalOfUser, approvalStatuses, decideApproval, listApprovals, showToUser } from './approval.js'
import { approvalFlow, approveApproval, updateAgentSettings } from './approval-flow.js'
import { readAgentSettings } from './settings.js'

const ApprovalPath = z.object({ id: z.TextId })
const users = { evidence: 'designed', versions: ['v4'], auth: ['user', 'session'] } as const

const sessionOf = ({ principal, session }: Pick<Call<unknown, unknown, unknown, 'user'>, 'principal' | 'session'>) =>
  principal.via === 'session' ? { userId: principal.id, sessionId: session?.id } : undefined

const AgentSettings = component('AgentSettings', { approval_threshold: z.record(z.string(), Amount) })
const decisionErrors = ['not_found', 'not_pending', 'price_changed'] as const
const codeErrors = ['too_many_codes', 'code_wrong', 'code_expired', 'too_many_tries'] as const
const secondFactorErrors = ['rejected', 'approval_timeout', 'too_many_pending', 'too_many_mails'] as const
const approvalPage = { ...approvalFlow.page, params: ApprovalPath, redirects: true } as const

export const approvalRoutes = defineRoutes('approvals', {
  listApprovals: route({
    ...users,
    summary: "List the approvals that the user's agents requested, newest first.",
    method: 'GET',
    path: '/approvals',
    query: z.object({
      status: z.optional(z.enum(approvalStatuses)),
      limit: z.optional(z.int().check(z.minimum(1), z.maximum(100))),
      after: z.optional(z.string()),
    }),
    result: z.object({ approvals: z.array(ApprovalShape), next: z.nullable(z.TextId) }),
    errors: ['cursor_invalid'],
    read: (tx, { query, principal }, service) => listApprovals(tx, principal.id, query, service),
  }),
  approveApproval: route({
    ...users,
    summary:
      'Approve what an agent requested. The agent can do exactly this, once, within an hour. With a session, the request waits for the user’s second factor.',
    method: 'POST',
    path: '/approvals/:id/approve',
    params: ApprovalPath,
    body: z.object(quoteFields),
    bodyOptional: true,
    result: ApprovalShape,
    errors: [...decisionErrors, ...secondFactorErrors],
    idempotent: true,
    handle({ params, body: seen, storeAnswer, ...caller }, service) {
      const order = { ...params, userId: caller.principal.id, session: sessionOf(caller), seen }
      return approveApproval(service, order, storeAnswer)
    },
  }),
  rejectApproval: route({
    ...users,
    summary: 'Reject what an agent requested.',
    method: 'POST',
    path: '/approvals/:id/reject',
    params: ApprovalPath,
    result: ApprovalShape,
    errors: ['not_found', 'not_pending'],
    idempotent: true,
    async write(tx, { params, principal }, service) {
      const row = await approvalOfUser(tx, principal.id, params.id)
      const decided = await decideApproval(tx, row, { decision: 'rejected', at: service.clock.now() })
      return 'id' in decided ? showToUser(decided, service) : decided
    },
  }),
  readAgentSettings: route({
    ...users,
    summary: "Read how much the user's agents may pay without an approval, by digital quantity. Default: 0.",
    method: 'GET',
    path: '/agent/settings',
    result: AgentSettings,
    read: (tx, { principal }) => readAgentSettings(tx, principal.id),
  }),
  updateAgentSettings: route({
    ...users,
    summary:
      'Set the amounts up to which agents pay from the agent twin without an approval, by digital quantity. With a session, raising an amount waits for the user’s second factor.',
    method: 'PUT',
    path: '/agent/settings',
    body: AgentSettings,
    result: AgentSettings,
    errors: ['dq_unknown', 'amount_invalid', ...secondFactorErrors],
    handle: ({ body: { approval_threshold: thresholds }, ...caller }, service) =>
      updateAgentSettings(service, { userId: caller.principal.id, thresholds, session: sessionOf(caller) }),
  }),
  openApproval: route({
    ...approvalPage,
    summary: 'Open the page on which a user signs in, reads what an agent requested, and answers it.',
    method: 'GET',
    errors: ['not_found', 'rejected', 'approval_timeout', 'code_expired'],
    write: approvalFlow.open,
  }),
  answerApproval: route({
    ...approvalPage,
    summary: 'Send a form of this page: sign in with a mailed code, approve, or reject.',
    method: 'POST',
    body: z.object({
      answer: z.enum(approvalFlow.answers),
      email: z.optional(z.string()),
      code: z.secret(z.optional(z.string())),
      ...quoteFields,
    }),
    status: 303,
    errors: [...decisionErrors, 'sign_in_required', 'too_many_pending', 'too_many_mails', ...codeErrors],
    write: approvalFlow.answer,
  }),
})
