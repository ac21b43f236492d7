import { ApprovalShape, AuthenticationRequest, z } from '../../../http/fields/schema.js'
import { route } from '../../../http/route.js'
import { control } from '../control.js'
import { createSandbox } from '../sandbox.js'

const PhoneMode = z.enum(['manual', 'approve', 'reject', 'ignore'])
const PhonePath = z.object({ user_id: z.int() })

export const setPhone = route({
  ...control,
  id: 'setPhone',
  summary: "Say how a user's phone answers from now on, and how long after a push; a user without a device gets one.",
  method: 'POST',
  path: '/_sandbox/devices/:user_id',
  params: PhonePath,
  body: z.object({ mode: PhoneMode, after_seconds: z.optional(z.number()) }),
  result: z.object({ user_id: z.int(), mode: PhoneMode, after_seconds: z.number() }),
  errors: ['not_found', 'field_invalid'],
  handle: ({ params, body }, service) =>
    createSandbox(service).phone(params.user_id).answer(body.mode, { afterSeconds: body.after_seconds }),
})

export const readPhone = route({
  ...control,
  id: 'readPhone',
  summary: "Tell how a user's phone answers, whether they have a device, and what waits for their second factor now.",
  method: 'GET',
  path: '/_sandbox/devices/:user_id',
  params: PhonePath,
  result: z.object({
    user_id: z.int(),
    has_device: z.boolean(),
    mode: PhoneMode,
    after_seconds: z.number(),
    requests: z.array(AuthenticationRequest),
  }),
  errors: ['not_found'],
  handle: ({ params }, service) => createSandbox(service).phone(params.user_id).read(),
})

const OneRequest = z.object({ id: z.optional(z.int()) })
const AnsweredRequests = z.object({ requests: z.array(AuthenticationRequest) })

export const approveOnPhone = route({
  ...control,
  id: 'approveOnPhone',
  summary: 'Have a user approve the request named, or all that wait for their second factor now.',
  method: 'POST',
  path: '/_sandbox/devices/:user_id/approve',
  params: PhonePath,
  body: OneRequest,
  bodyOptional: true,
  result: AnsweredRequests,
  errors: ['not_found'],
  handle: ({ params, body }, service) => createSandbox(service).phone(params.user_id).approve(body.id),
})

export const rejectOnPhone = route({
  ...control,
  id: 'rejectOnPhone',
  summary: 'Have a user reject the request named, or all that wait for their second factor now.',
  method: 'POST',
  path: '/_sandbox/devices/:user_id/reject',
  params: PhonePath,
  body: OneRequest,
  bodyOptional: true,
  result: AnsweredRequests,
  errors: ['not_found'],
  handle: ({ params, body }, service) => createSandbox(service).phone(params.user_id).reject(body.id),
})

const answeringRoute = (id: string, verb: 'approve' | 'reject', summary: string) =>
  route({
    ...control,
    id,
    summary,
    method: 'POST',
    path: `/_sandbox/approvals/:id/${verb}`,
    params: z.object({ id: z.string() }),
    result: ApprovalShape,
    errors: ['not_found', 'not_pending'],
    handle: ({ params }, service) => createSandbox(service)[verb](params.id),
  })

export const approveAsUser = answeringRoute(
  'approveAsUser',
  'approve',
  "Approve what an agent asked for, as the agent's user.",
)

export const rejectAsUser = answeringRoute(
  'rejectAsUser',
  'reject',
  "Refuse what an agent asked for, as the agent's user.",
)

export default [setPhone, readPhone, approveOnPhone, rejectOnPhone, approveAsUser, rejectAsUser]
