import { Problem } from '../../base/problem.js'
import { AuthenticationRequest, Email, UserShape, z } from '../../http/fields/schema.js'
import { reply } from '../../http/reply.js'
import { defineRoutes, route } from '../../http/route.js'
import { signInByCode } from './code-sign-in.js'

export const signInRoutes = defineRoutes('sessions', {
  verifySessionCode: route({
    summary:
      'Sign in by the mailed code; the session goes on under a new id. For a user with a device it answers 202 with the request that they are asked by there: once it is approved, the same call with its id as `request_id` signs in.',
    evidence: 'designed',
    method: 'POST',
    path: '/session/verify',
    versions: ['v4'],
    auth: ['guest'],
    body: z.object({ email: Email, code: z.string(), request_id: z.optional(z.int()) }),
    result: z.object({ session_id: z.string(), user: UserShape }),
    waits: z.object({ request: AuthenticationRequest }),
    errors: [
      'session_required',
      'code_wrong',
      'code_expired',
      'too_many_tries',
      'rejected',
      'too_many_pending',
      'too_many_mails',
    ],
    async write(tx, { body: { request_id: requestId, ...filled }, session }, service) {
      const at = service.clock.now()
      const outcome = await signInByCode(tx, { ...filled, requestId, sessionId: session.id, at }, service)
      if (outcome instanceof Problem) return outcome
      if ('waits' in outcome) return reply({ status: 202, value: { request: outcome.waits } })
      return reply({ value: outcome, session: outcome.session_id })
    },
  }),
})
