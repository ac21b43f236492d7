import { z } from '../../../http/fields/schema.js'
import { wantsPage } from '../../../http/pages/html.js'
import { type Reply, reply, seeOther } from '../../../http/reply.js'
import { type Call, defineRoutes, route } from '../../../http/route.js'
import { pageRefusal } from '../pages/refusals.js'
import * as shape from '../schema.js'
import { authorize } from './authorization.js'
import { type Ended, endSessionAddress, endSessionFor } from './end-session.js'
import { confirmPage, signedOutPage, stillSignedInPage } from './end-session-page.js'
import { answer, answers, type Shown, visit } from './interaction.js'
import { interactionPage } from './interaction-page.js'

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

const page = { versions: ['v4'], auth: ['guest'], produces: ['text/html'], refused: pageRefusal } as const

const endings = { ...page, redirects: true, errors: ['invalid_request'] } as const

const signedOut = (onward: Ended['onward']): Reply =>
  withMore(onward?.isTrusted ? seeOther(onward.location) : signedOutPage(onward), { session: null })

/** A reply with more headers, and the session that its reader goes on with. */
const withMore = (
  { status, headers, body = null }: Reply,
  { session, ...more }: { headers?: Record<string, string>; session?: string | null | undefined },
): Reply =>
  reply({
    ...(status !== undefined && { status }),
    headers: { ...more.headers, ...headers },
    body,
    ...(session !== undefined && { session }),
  })

const InteractionPath = z.object({ id: shape.Word })

export const oidcBrowserRoutes = defineRoutes('oidc', {
  authorizeOidc: route({
    ...authorization,
    summary: 'Send a browser here to ask a user for a code; it goes on to sign-in and consent.',
    evidence: 'observed',
    method: 'GET',
    query: shape.Authorization,
    write: async (tx, { query }, service) => seeOther(await authorize(tx, query, service)),
  }),

  authorizeOidcByForm: route({
    ...authorization,
    summary: 'The same, with the request in a form.',
    evidence: 'designed',
    method: 'POST',
    body: shape.Authorization,
    write: async (tx, { body }, service) => seeOther(await authorize(tx, body, service)),
  }),

  endOidcSession: route({
    ...endings,
    summary:
      'Sign out: at once for a client that shows the id token of whoever is signed in and has connected it, else after asking them.',
    evidence: 'designed',
    method: 'GET',
    path: '/oidc/session/end',
    query: shape.EndSession,
    async write(tx, { query, session }, service) {
      const ended = await endSessionFor(tx, { request: query, sessionId: session.id, confirmed: false }, service)
      return ended.ended ? signedOut(ended.onward) : confirmPage(ended, query)
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
    ...endings,
    summary: 'The answer of somebody who was asked whether to sign out.',
    evidence: 'designed',
    method: 'POST',
    path: '/oidc/session/end/confirm',
    body: z.object({ ...shape.EndSession.shape, answer: z.enum(['sign_out', 'cancel']) }),
    async write(tx, { body, session }, service) {
      if (body.answer === 'cancel') return stillSignedInPage()
      const ended = await endSessionFor(tx, { request: body, sessionId: session.id, confirmed: true }, service)
      return signedOut(ended.onward)
    },
  }),

  readInteraction: route({
    ...page,
    summary: 'The pages of sign-in, second factor and consent; from the last one, back to the client.',
    evidence: 'designed',
    method: 'GET',
    path: '/oidc/interaction/:id',
    redirects: true,
    params: InteractionPath,
    errors: ['interaction_expired', 'too_many_pending', 'too_many_mails', 'code_expired'],
    async write(tx, { params, session, headers }, service) {
      const at = { id: params.id, sessionId: session.id }
      return shown(await visit(tx, at, service), headers, service.sandbox !== undefined)
    },
  }),

  answerInteraction: route({
    ...page,
    summary: 'What somebody filled in on a page of sign-in or consent, and the button that they pressed.',
    evidence: 'designed',
    method: 'POST',
    path: '/oidc/interaction/:id',
    redirects: true,
    params: InteractionPath,
    body: z.object({
      answer: z.enum(answers),
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
    async write(tx, { params, body, session, headers }, service) {
      const at = { id: params.id, sessionId: session.id }
      const taken = await answer(tx, at, body, service)
      if (taken.refused || taken.next.step === 'leave') return shown(taken, headers, service.sandbox !== undefined)
      // The next page has an address of its own, so that it can be asked for again.
      const location = `${service.baseUrl}/v4/oidc/interaction/${encodeURIComponent(params.id)}`
      return seeOther(location, { session: taken.session })
    },
  }),
})

/** The next page, or back to the client. What was refused is told to programs as a problem, and undoes nothing. */
function shown({ next, refused, session, ...rest }: Shown, headers: Call['headers'], sandbox: boolean) {
  if (next.step === 'leave') return seeOther(next.location, { session })
  if (refused && !wantsPage(headers)) return refused
  const parts = { ...rest, next, ...(refused && { refused }) }
  return withMore(interactionPage(parts, sandbox), { headers: refused?.headers ?? {}, session })
}
