import { SecretsShape, z } from '../../http/fields/schema.js'
import { defineRoutes, route } from '../../http/route.js'
import { awaitSecretsApproval, createUserSecrets } from './client-credentials.js'

export const clientCredentialRoutes = defineRoutes('users', {
  createUserSecrets: route({
    summary:
      'Create client credentials for the caller. The newest existing ones keep working, older ones are deleted. With a session, the request waits for the second factor of the user.',
    evidence: 'designed',
    method: 'POST',
    path: '/user/secrets',
    versions: ['v4'],
    auth: ['user', 'session'],
    body: z.object({}),
    bodyOptional: true,
    status: 201,
    result: z.object({ secrets: SecretsShape }),
    errors: ['rejected', 'approval_timeout', 'too_many_pending'],
    idempotent: true,
    async handle({ principal, session, storeAnswer }, service) {
      const userId = principal.id
      const approved =
        principal.via === 'session'
          ? await awaitSecretsApproval(service, { userId, sessionId: session?.id })
          : undefined
      return service.storage.write(async (tx) =>
        storeAnswer(tx, await createUserSecrets(tx, { userId, approved, at: service.clock.now() }, service)),
      )
    },
  }),
})
