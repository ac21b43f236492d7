import { ApprovalShape, AuthenticationRequest, component, UserShape, z } from '../../../http/fields/schema.js'
import { defineRoutes, route } from '../../../http/route.js'
import { control } from '../control.js'
import { peopleControls } from '../people-controls.js'
import { PhoneAnswerShape, PhoneModeShape, PhoneRequestShape, SignInShape } from '../shapes.js'

const PhonePath = z.object({ user_id: z.Id })

const AnsweredRequests = component('AnsweredRequests', { requests: z.array(AuthenticationRequest) })

const answeringRoute = (verb: 'approve' | 'reject', summary: string) =>
  route({
    ...control,
    summary,
    method: 'POST',
    path: `/_sandbox/approvals/:id/${verb}`,
    params: z.object({ id: z.TextId }),
    result: ApprovalShape,
    errors: ['not_found', 'not_pending'],
    handle: ({ params }, service) => peopleControls(service)[verb](params.id),
  })

export const peopleRoutes = defineRoutes('sandbox', {
  signInAsUser: route({
    ...control,
    summary:
      'Sign a user in without a mailed code or second factor. Creates the user if there is none. Send the headers of the answer with each call.',
    method: 'POST',
    path: '/_sandbox/sign-in',
    body: SignInShape,
    status: 201,
    result: z.object({
      session_id: z.secret(z.string()),
      user: UserShape,
      headers: z.object({ 'x-session-id': z.secret(z.string()) }),
    }),
    handle: ({ body }, service) => peopleControls(service).signIn(body),
  }),

  setPhone: route({
    ...control,
    summary: "Set how and when a user's phone answers. A user without a device gets one.",
    method: 'POST',
    path: '/_sandbox/devices/:user_id',
    params: PhonePath,
    body: PhoneAnswerShape,
    result: z.object({ user_id: z.Id, mode: PhoneModeShape, after_seconds: z.number() }),
    errors: ['not_found', 'field_invalid'],
    handle: ({ params, body }, service) => peopleControls(service).phone(params.user_id).answer(body),
  }),

  readPhone: route({
    ...control,
    summary: "Read how a user's phone answers, whether they have a device, and their pending authentication requests.",
    method: 'GET',
    path: '/_sandbox/devices/:user_id',
    params: PhonePath,
    result: z.object({
      user_id: z.Id,
      has_device: z.boolean(),
      mode: PhoneModeShape,
      after_seconds: z.number(),
      requests: z.array(AuthenticationRequest),
    }),
    errors: ['not_found'],
    handle: ({ params }, service) => peopleControls(service).phone(params.user_id).read(),
  }),

  approveOnPhone: route({
    ...control,
    summary: 'Approve one authentication request of a user, or all that are pending.',
    method: 'POST',
    path: '/_sandbox/devices/:user_id/approve',
    params: PhonePath,
    body: PhoneRequestShape,
    bodyOptional: true,
    result: AnsweredRequests,
    errors: ['not_found'],
    handle: ({ params, body }, service) => peopleControls(service).phone(params.user_id).approve(body),
  }),

  rejectOnPhone: route({
    ...control,
    summary: 'Reject one authentication request of a user, or all that are pending.',
    method: 'POST',
    path: '/_sandbox/devices/:user_id/reject',
    params: PhonePath,
    body: PhoneRequestShape,
    bodyOptional: true,
    result: AnsweredRequests,
    errors: ['not_found'],
    handle: ({ params, body }, service) => peopleControls(service).phone(params.user_id).reject(body),
  }),

  approveAsUser: answeringRoute('approve', "Approve what an agent asked for, as the agent's user."),

  rejectAsUser: answeringRoute('reject', "Refuse what an agent asked for, as the agent's user."),
})
