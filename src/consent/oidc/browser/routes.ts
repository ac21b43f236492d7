import { z } from '../../../http/fields/schema.js'
import { type Reply, seeOther } from '../../../http/reply.js'
import { defineRoutes, route } from '../../../http/route.js'
import { pageRefusal } from '../pages/refusals.js'
import * as shape from '../schema.js'
import { authorizeOidc } from './authorization.js'
import { type EndSessionOutcome, endOidcSession, endSessionAddress } from './end-session.js'
import { signedOutPage, signOutPage, stillSignedInPage } from './end-session-page.js'
import { interactionFlow } from './interaction.js'

/** What browsers are sent to, rather than what programs call. */

const authorization = {
  versions: ['v4'],
  path: '/oidc/auth',
  auth: ['none'],
  produces: ['text/html'],
  status: 303,
  errors: ['invalid_request'],
  refused: pageRefusal,
} as const

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
  params: z.object({ id: shape.ClientId }),
  query: z.object({}),
  redirects: true,
  refused: pageRefusal,
} as const

export const oidcBrowserRoutes = defineRoutes('oidc', {
  authorizeOidc: route({
    ...authorization,
    summary: 'Send a browser here to ask a user for a code; it goes on to sign-in and consent.',
    evidence: 'observed',
    method: 'GET',
    query: shape.Authorization,
    write: async (tx, { query }, service) => seeOther(await authorizeOidc(tx, query, service)),
  }),

  authorizeOidcByForm: route({
    ...authorization,
    summary: 'The same, with the request in a form.',
    evidence: 'designed',
    method: 'POST',
    body: shape.Authorization,
    write: async (tx, { body }, service) => seeOther(await authorizeOidc(tx, body, service)),
  }),

  endOidcSession: route({
    ...endSessionRoute,
    summary:
      'Sign out: at once for a client that shows the id token of whoever is signed in and has connected it, else after asking them.',
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
      "The same, with the request in a form: of any site's, so it is asked again by GET, which shows the session.",
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
    summary: 'The answer of somebody who was asked whether to sign out.',
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
    summary: 'The pages of sign-in, second factor and consent; from the last one, back to the client.',
    method: 'GET',
    errors: ['interaction_expired', 'too_many_pending', 'too_many_mails', 'code_expired'],
    write: interactionFlow.open,
  }),

  answerInteraction: route({
    ...interactionPage,
    summary: 'What somebody filled in on a page of sign-in or consent, and the button that they pressed.',
    method: 'POST',
    body: z.object({
      answer: z.enum(interactionFlow.answers),
      email: z.optional(z.string()),
      code: z.optional(z.string()),
      account: z.optional(z.string()),
    }),
    errors: [
      'interaction_expired',
      'too_many_pending',
      'too_many_mails',
      'too_many_codes',
      'code_wrong',
      'code_expired',
      'too_many_tries',
    ],
    write: interactionFlow.answer,
  }),
})
