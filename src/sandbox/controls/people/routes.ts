import { ApprovalShape, AuthenticationRequest, z } from '../../../http/fields/schema.js'
import { defineRoutes, route } from '../../../http/route.js'
import { control } from '../control.js'
import { createSandbox } from '../sandbox.js'

const PhoneMode = z.enum(['manual', 'approve', 'reject', 'ignore'])

const PhonePath = z.object({ user_id: z.int() })

const OneRequest = z.object({ id: z.optional(z.int()) })

const AnsweredRequests = z.object({ requests: z.array(AuthenticationRequest) })

const answeringRoute = (verb: 'approve' | 'reject', summary: string) =>
  route({
    ...control,
    summary,
    method: 'POST',
    path: `/_sandbox/approvals/:id/${verb}`,
    params: z.object({ id: z.string() }),
    result: ApprovalShape,
    errors: ['not_found', 'not_pending'],
    handle: ({ params }, service) => createSandbox(service)[verb](params.id),
  })

export const peopleRoutes = defineRoutes('sandbox', {
  setPhone: route({
    ...control,
    summary: "Set how and when a user's phone answers. A user without a device gets one.",
    method: 'POST',
    path: '/_sandbox/devices/:user_id',
    params: PhonePath,
    body: z.object({ mode: PhoneMode, after_seconds: z.optional(z.number()) }),
    result: z.object({ user_id: z.int(), mode: PhoneMode, after_seconds: z.number() }),
    errors: ['not_found', 'field_invalid'],
    handle: ({ params, body }, service) =>
      createSandbox(service).phone(params.user_id).answer(body.mode, { afterSeconds: body.after_seconds }),
  }),

  readPhone: route({
    ...control,
    summary: "Read how a user's phone answers, whether they have a device, and their pending authentication requests.",
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
  }),

  approveOnPhone: route({
    ...control,
    summary: 'Approve one authentication request of a user, or all that are pending.',
    method: 'POST',
    path: '/_sandbox/devices/:user_id/approve',
    params: PhonePath,
    body: OneRequest,
    bodyOptional: true,
    result: AnsweredRequests,
    errors: ['not_found'],
    handle: ({ params, body }, service) => createSandbox(service).phone(params.user_id).approve(body.id),
  }),

  rejectOnPhone: route({
    ...control,
    summary: 'Reject one authentication request of a user, or all that are pending.',
    method: 'POST',
    path: '/_sandbox/devices/:user_id/reject',
    params: PhonePath,
    body: OneRequest,
    bodyOptional: true,
    result: AnsweredRequests,
    errors: ['not_found'],
    handle: ({ params, body }, service) => createSandbox(service).phone(params.user_id).reject(body.id),
  }),

  approveAsUser: answeringRoute('approve', "Approve what an agent asked for, as the agent's user."),

  rejectAsUser: answeringRoute('reject', "Refuse what an agent asked for, as the agent's user."),
})
