import { hopsIn } from '../../../base/via.js'
import type { ServiceContext } from '../../../http/context.js'
import { z } from '../../../http/fields/schema.js'
import { type Reply, seeOther } from '../../../http/reply.js'
import { type Call, defineRoutes, route } from '../../../http/route.js'
import { pageRefusal } from '../pages/refusals.js'
import * as shape from '../schema.js'
import { type AuthorizationParameters, authorizeOidc } from './authorization.js'
import { prepareDocumentClient } from './client-document.js'
import {
  type EndSessionOutcome,
  endOidcSession,
  endSessionAddress,
  signedOutPage,
  signOutPage,
  stillSignedInPage,
} from './end-session.js'
import { interactionFlow } from './interaction.js'

const authorization = {
  versions: ['v4'],
  path: '/oidc/auth',
  auth: ['none'],
  produces: ['text/html'],
  status: 303,
  adds: 'oidc_interactions',
  errors: ['invalid_request', 'too_many_fetches', 'too_many_new'],
  refused: pageRefusal,
} as const

async function startAuthorization(
  parameters: AuthorizationParameters,
  { headers, source }: Pick<Call, 'headers' | 'source'>,
  service: ServiceContext,
): Promise<Reply> {
  await prepareDocumentClient(parameters.client_id, { hops: hopsIn(headers), source }, service)
  return seeOther(await service.storage.write((tx) => authorizeOidc(tx, { parameters, source }, service)))
}

const endSessionRoute = {
  versions: ['v4'],
  auth: ['guest'],
  produces: ['text/html'],
  redirects: true,
  errors: ['invalid_request'],
  refused: pageRefusal,
} as const

const signedOutReply = (onward: EndSessionOutcome['onward']): Reply =>
  onward?.isTrusted ? seeOther(onward.location, { session: null }) : signedOutPage(onward)

const interactionPage = {
  ...interactionFlow.page,
  params: z.object({ id: z.secret(shape.ClientId) }),
  query: z.object({}),
  redirects: true,
  refused: pageRefusal,
} as const

const codeErrors = ['too_many_codes', 'code_wrong', 'code_expired', 'too_many_tries'] as const

export const oidcBrowserRoutes = defineRoutes('oidc', {
  authorizeOidc: route({
    ...authorization,
    summary: 'Send a browser here to get a code. It continues to sign-in and consent.',
    evidence: 'observed',
    method: 'GET',
    query: shape.Authorization,
    handle: ({ query, ...call }, service) => startAuthorization(query, call, service),
  }),
  authorizeOidcByForm: route({
    ...authorization,
    summary: 'Send the same request in a form.',
    evidence: 'designed',
    method: 'POST',
    body: shape.Authorization,
    handle: ({ body, ...call }, service) => startAuthorization(body, call, service),
  }),
  endOidcSession: route({
    ...endSessionRoute,
    summary: 'Sign out. A client that the user has connected can send their id token to skip the confirmation.',
    evidence: 'designed',
    method: 'GET',
    path: '/oidc/session/end',
    query: shape.EndSession,
    async write(tx, { query, session }, service) {
      const ended = await endOidcSession(tx, { request: query, sessionId: session.id, confirmed: false }, service)
      return ended.ended ? signedOutReply(ended.onward) : signOutPage(ended, query)
    },
  }),
  endOidcSessionByForm: route({
    summary:
      'Send the same request in a form. It redirects to GET, because browsers send no session cookie with a form of a different site.',
    evidence: 'designed',
    method: 'POST',
    path: '/oidc/session/end',
    versions: ['v4'],
    auth: ['none'],
    body: shape.EndSession,
    produces: ['text/html'],
    status: 303,
    refused: pageRefusal,
    handle: async ({ body }, service) => seeOther(endSessionAddress(body, service)),
  }),
  confirmEndOidcSession: route({
    ...endSessionRoute,
    summary: 'Confirm or cancel signing out.',
    evidence: 'designed',
    method: 'POST',
    path: '/oidc/session/end/confirm',
    body: z.object({ ...shape.EndSession.shape, answer: z.enum(['sign_out', 'cancel']) }),
    async write(tx, { body, session }, service) {
      if (body.answer === 'cancel') return stillSignedInPage()
      const ended = await endOidcSession(tx, { request: body, sessionId: session.id, confirmed: true }, service)
      return signedOutReply(ended.onward)
    },
  }),
  readInteraction: route({
    ...interactionPage,
    summary: 'Open the pages of sign-in, second factor and consent. The last one leads back to the client.',
    method: 'GET',
    errors: ['interaction_expired', 'too_many_pending', 'too_many_mails', 'code_expired'],
    write: interactionFlow.open,
  }),
  answerInteraction: route({
    ...interactionPage,
    summary: 'Send a form of a sign-in or consent page.',
    method: 'POST',
    body: z.object({
      answer: z.enum(interactionFlow.answers),
      email: z.optional(z.string()),
      code: z.secret(z.optional(z.string())),
      account: z.optional(z.string()),
    }),
    errors: ['interaction_expired', 'too_many_pending', 'too_many_mails', ...codeErrors],
    write: interactionFlow.answer,
  }),
})
