import { Email, KnownSecretsShape, listing, SecretsShape, UserShape, userShape, z } from '../../http/fields/schema.js'
import { defineRoutes, route } from '../../http/route.js'
import { createUser, listUsers, readOwnUser, readUserByEmail, readUserWithoutSecrets, showNewUser } from './user.js'

export const userRoutes = defineRoutes('users', {
  createUser: route({
    summary: 'Create a user with a primary twin, and see their client credentials.',
    evidence: 'documented',
    method: 'POST',
    path: '/user',
    versions: ['v4', 'v3'],
    auth: ['account'],
    body: z.object({ email: Email }),
    status: 201,
    result: z.object({ ...userShape, secrets: SecretsShape }),
    errors: ['email_taken'],
    adds: 'users',
    idempotent: true,
    async write(tx, { body, principal }, service) {
      const user = await createUser(tx, { email: body.email, at: service.clock.now(), madeBy: principal.id }, service)
      return showNewUser(tx, user, service)
    },
  }),
  readUser: route({
    summary:
      "Read your own record, with its secrets by your own access token; another's, without them, by their email.",
    evidence: 'documented',
    method: 'GET',
    path: '/user/:user_id',
    versions: ['v4', 'v2'],
    auth: ['account', 'user', 'session'],
    params: z.object({ user_id: z.Id }),
    query: z.object({ email: z.optional(z.string()) }),
    queryInBody: true,
    result: z.object({ ...userShape, secrets: z.optional(KnownSecretsShape) }),
    errors: ['not_found'],
    read: (tx, { params, query, principal }, service) => {
      if (principal.kind !== 'user' || principal.id !== params.user_id)
        return readUserByEmail(tx, params.user_id, query.email)
      return principal.via === 'token'
        ? readOwnUser(tx, { id: principal.id, clientId: principal.client_id }, service)
        : readUserWithoutSecrets(tx, principal.id)
    },
  }),
  listUsers: route({
    summary: 'List the users that the account created, newest first, without secrets.',
    evidence: 'named',
    path: '/users',
    versions: ['v2'],
    auth: ['account'],
    ...listing('users', UserShape),
    wholeList: 'users',
    read: (tx, { query, principal }) => listUsers(tx, principal.id, query),
  }),
})
