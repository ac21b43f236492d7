import { Problem } from '../../base/problem.js'
import { AuthenticationRequest, Email, UserShape, z } from '../../http/fields/schema.js'
import { reply } from '../../http/reply.js'
import { defineRoutes, route } from '../../http/route.js'
import { signInByCode } from './sign-in-flow.js'

const codeErrors = ['code_wrong', 'code_expired', 'too_many_tries'] as const

export const signInRoutes = defineRoutes('sessions', {
  verifySessionCode: route({
    summary:
      'Sign in with the mailed code. The session gets a new id. If the user has a device, the answer is 202 with an authentication request: when the user has approved it, repeat the call with its id as `request_id`.',
    evidence: 'designed',
    method: 'POST',
    path: '/session/verify',
    versions: ['v4'],
    auth: ['guest'],
    body: z.object({ email: Email, code: z.secret(z.string()), request_id: z.optional(z.Id) }),
    result: z.object({ session_id: z.secret(z.string()), user: UserShape }),
    waits: z.object({ request: AuthenticationRequest }),
    errors: ['session_required', ...codeErrors, 'rejected', 'too_many_pending', 'too_many_mails'],
    async write(tx, { body: { request_id: requestId, ...filled }, session }, service) {
      const at = service.clock.now()
      const outcome = await signInByCode(tx, { ...filled, requestId, sessionId: session.id, at }, service)
      if (outcome instanceof Problem) return outcome
      if ('waits' in outcome) return reply({ status: 202, value: { request: outcome.waits } })
      return reply({ value: outcome, session: outcome.session_id })
    },
  }),
})
