import { Problem } from '../../base/problem.js'
import { designed } from '../../http/fields/graded.js'
import {
  AuthenticationRequest,
  ContentHash,
  component,
  IdPath,
  listing,
  UnixSeconds,
  z,
} from '../../http/fields/schema.js'
import { refusedBy } from '../../http/pages/html.js'
import { defineRoutes, route } from '../../http/route.js'
import {
  answerAuthorization,
  answerFromDevice,
  answerMailedRequest,
  deleteAuthorization,
  findAskedDevice,
  listAuthorizations,
  requestOfLink,
  type SecondFactorAnswer,
  showAnsweredAuthorization,
} from './answer.js'
import { answeredPage, answerPage, refusedAnswerPage } from './answer-page.js'
import { checkOpen, expireIfDue, pollRequest, requestOf, requireSecondFactor, showRequest } from './request.js'
import { checkDetail } from './wording.js'

const answeringRoute = (verb: 'approve' | 'reject', summary: string) =>
  route({
    summary,
    evidence: 'designed',
    method: 'POST',
    path: `/authentication-requests/:id/${verb}`,
    versions: ['v4'],
    auth: ['user', 'session'],
    params: IdPath,
    deviceToken: 'required',
    result: AuthenticationRequest,
    errors: ['not_found', 'self_approval', 'device_refused', 'not_pending'],
    idempotent: true,
    async write(tx, { params, principal, session, headers }, { clock }) {
      const at = clock.now()
      const answered = await answerFromDevice(tx, {
        id: params.id,
        userId: principal.id,
        answer: answers[verb],
        deviceToken: headers.get('x-device-token'),
        sessionId: session?.id,
        at,
      })
      return answered instanceof Problem ? answered : showRequest(answered, at)
    },
  })

const answers: Readonly<Record<'approve' | 'reject', SecondFactorAnswer>> = { approve: 'approved', reject: 'rejected' }
const users = { evidence: 'designed', versions: ['v4'], auth: ['user', 'session'] } as const

const mailedLink = {
  evidence: 'designed',
  versions: ['v4'],
  auth: ['guest'],
  params: IdPath,
  path: '/authentication-requests/:id/answer',
  produces: ['text/html'],
  errors: ['not_found', 'self_approval', 'link_expired'],
  refused: refusedBy(refusedAnswerPage),
} as const

const authorizationRoute = {
  evidence: { v3: 'observed' },
  path: '/paywall/authorizations',
  versions: ['v4', 'v3'],
} as const

const AuthorizationStatus = z.enum(['pending', 'approved', 'denied', 'expired'])
const AuthorizationId = z.union([z.int(), z.string()])

const AnsweredAuthorization = component('AnsweredAuthorization', {
  success: z.literal(true),
  authorizationId: AuthorizationId,
  status: AuthorizationStatus,
  message: z.string(),
})

export const secondFactorRoutes = defineRoutes('second factor', {
  createAuthenticationRequest: route({
    ...users,
    summary:
      'Ask the user to approve an action with a second factor: on their devices, or with a mailed link if they have none.',
    method: 'POST',
    path: '/authentication-requests',
    body: z.object({
      action: z.string().check(z.regex(/^[a-z][a-z0-9_]{0,63}$/, 'a snake_case name')),
      detail: z.record(z.string(), z.unknown()),
    }),
    status: 201,
    result: AuthenticationRequest,
    errors: ['too_many_pending', 'too_many_mails'],
    idempotent: true,
    async write(tx, { body, principal, session }, service) {
      checkDetail(body.detail)
      const at = service.clock.now()
      const order = { ...body, byCaller: true, userId: principal.id, sessionId: session?.id, at } as const
      return showRequest(await requireSecondFactor(tx, order, service), at)
    },
  }),
  readAuthenticationRequest: route({
    ...users,
    summary:
      'Poll a request for its answer every `interval` seconds. A device that got the request may read it at any time.',
    method: 'GET',
    path: '/authentication-requests/:id',
    params: IdPath,
    deviceToken: 'optional',
    result: AuthenticationRequest,
    errors: ['not_found', 'slow_down'],
    async write(tx, { params, principal, headers }, { clock }) {
      const at = clock.now()
      const request = await requestOf(tx, principal.id, params.id)
      const isDevice = (await findAskedDevice(tx, request, headers.get('x-device-token'))) !== undefined
      return showRequest(await (isDevice ? expireIfDue : pollRequest)(tx, request, at), at)
    },
  }),
  approveAuthenticationRequest: answeringRoute(
    'approve',
    'Approve a request from a device that got it (X-Device-Token).',
  ),

  rejectAuthenticationRequest: answeringRoute('reject', 'Reject a request from a device that got it (X-Device-Token).'),
  openMailedRequest: route({
    ...mailedLink,
    summary: 'Open the page of a mailed link: the request, and the buttons Approve and Reject.',
    method: 'GET',
    query: z.object({ token: z.secret(z.string()) }),
    async read(tx, { params, query, session }, { clock }) {
      const at = clock.now()
      const request = await requestOfLink(tx, { ...params, ...query, sessionId: session.id })
      checkOpen(request, at)
      return answerPage(request, query.token, at)
    },
  }),
  answerMailedRequest: route({
    ...mailedLink,
    summary: 'Answer a request through the mailed link. The link works once.',
    method: 'POST',
    body: z.object({ token: z.secret(z.string()), answer: z.enum(['approve', 'reject']) }),
    async write(tx, { params, body, session }, { clock }) {
      const link = { ...params, token: body.token, sessionId: session.id }
      const answered = await answerMailedRequest(tx, { ...link, answer: answers[body.answer], at: clock.now() })
      return answered instanceof Problem ? answered : answeredPage(answered)
    },
  }),
  listAuthorizations: route({
    ...authorizationRoute,
    summary:
      'List the payments that paywalls asked the user to authorize, newest first. An approval may stand for later payments: then `expires_at` is when it ends.',
    auth: ['user'],
    ...listing(
      'authorizations',
      component('Authorization', {
        id: z.Id,
        merchant_url: z.nullable(z.string()),
        merchant_name: z.nullable(z.string()),
        payment_type_hash: z.nullable(ContentHash),
        status: AuthorizationStatus,
        authorized_at: z.nullable(UnixSeconds),
        expires_at: UnixSeconds,
        created_at: UnixSeconds,
        metadata: z.catchall(
          z.object({ amount: z.optional(z.unknown()), requestedAt: z.int() }),
          designed(z.unknown()),
        ),
      }),
    ),
    wholeList: 'authorizations',
    read: (tx, { query, principal }, { clock }) => listAuthorizations(tx, principal.id, { ...query, at: clock.now() }),
  }),
  answerAuthorization: route({
    ...authorizationRoute,
    summary: 'Approve or deny a payment for a paywall.',
    method: 'PUT',
    auth: ['user'],
    body: z.object({ authorizationId: AuthorizationId, approved: z.boolean() }),
    result: AnsweredAuthorization,
    errors: ['not_found', 'authorization_answered', 'authorization_expired'],
    async write(tx, { body, principal }, { clock }) {
      const at = clock.now()
      const order = { userId: principal.id, id: body.authorizationId, at }
      const answered = await answerAuthorization(tx, { ...order, answer: body.approved ? 'approved' : 'rejected' })
      return answered instanceof Problem ? answered : showAnsweredAuthorization(answered, body.authorizationId, at)
    },
  }),
  deleteAuthorization: route({
    ...authorizationRoute,
    summary:
      'Revoke an authorization: deny a pending one, take an approved one back, or end what it approved for later payments. Its status becomes `denied`.',
    method: 'DELETE',
    auth: ['user'],
    body: z.object({ authorizationId: AuthorizationId }),
    result: z.object({ success: z.literal(true), message: z.string() }),
    errors: ['not_found', 'authorization_answered', 'authorization_expired'],
    async write(tx, { body, principal }, { clock }) {
      const at = clock.now()
      const withdrawn = await deleteAuthorization(tx, { userId: principal.id, id: body.authorizationId, at })
      return withdrawn instanceof Problem
        ? withdrawn
        : { success: true as const, message: 'The authorization is revoked.' }
    },
  }),
})
