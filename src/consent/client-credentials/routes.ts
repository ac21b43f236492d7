import { SecretsShape, z } from '../../http/fields/schema.js'
import { defineRoutes, route } from '../../http/route.js'
import { createUserSecrets } from './client-credentials.js'

export const clientCredentialRoutes = defineRoutes('users', {
  createUserSecrets: route({
    summary:
      'Create client credentials for the caller. The newest existing ones keep working, older ones are deleted. An access token needs to be of the newest ones. With a session, the request waits for the second factor of the user.',
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
    // What one program or session of the user made, no other one reads.
    presented: ({ principal, session }) => ['user secrets', `${principal.id}`, principal.client_id ?? session?.id],
    handle: ({ principal, session, storeAnswer }, service) => {
      const { id: userId, client_id: clientId, via } = principal
      const own = via === 'session' ? { userId, sessionId: session?.id } : undefined
      return createUserSecrets({ userId, clientId, session: own }, service, storeAnswer)
    },
  }),
})
