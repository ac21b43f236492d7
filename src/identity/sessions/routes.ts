import { designed } from '../../http/fields/graded.js'
import { ContentHash, component, Email, IdPath, listing, UnixSeconds, UserShape, z } from '../../http/fields/schema.js'
import { noContent, reply } from '../../http/reply.js'
import { defineRoutes, route } from '../../http/route.js'
import {
  createPageSession,
  deleteSessionById,
  endSession,
  isSessionOf,
  listSessions,
  readSession,
  startSession,
} from './session.js'
import { sendSessionCode } from './sign-in-code.js'

const guests = { evidence: 'designed', versions: ['v4'], auth: ['guest'] } as const
const users = { evidence: 'designed', versions: ['v4'], auth: ['user', 'session'] } as const

export const sessionRoutes = defineRoutes('sessions', {
  readSession: route({
    summary: "Read the caller's session. Issues a new one if the caller sends none.",
    evidence: 'designed',
    method: 'GET',
    path: '/session',
    versions: ['v4'],
    auth: ['guest', 'page'],
    result: z.object({ session_id: z.secret(z.string()), user: z.nullable(UserShape), expires_at: UnixSeconds }),
    read: (tx, { session }, { clock }) => readSession(tx, session.id, clock.now()),
  }),
  createSession: route({
    summary: "Create a signed-in session for the access token's user.",
    evidence: 'observed',
    method: 'POST',
    path: '/session',
    versions: ['v4', 'v3'],
    auth: ['user'],
    status: 201,
    result: z.object({ session_id: z.secret(z.string()), expires_at: designed(UnixSeconds) }),
    idempotent: true,
    async write(tx, { principal }, service) {
      const { id: userId, client_id: clientId } = principal
      const value = await startSession(tx, { userId, by: 'token', clientId, at: service.clock.now() }, service)
      return reply({ status: 201, value, session: value.session_id })
    },
  }),
  createPageSession: route({
    summary: 'Create a session for the page around an embed. It can only read itself and ask the paywall for payments.',
    evidence: 'designed',
    method: 'POST',
    path: '/session/page',
    versions: ['v4'],
    auth: ['session'],
    body: z.object({ hash: ContentHash, origin: z.string() }),
    status: 201,
    result: z.object({ session_id: z.secret(z.string()), expires_at: UnixSeconds }),
    errors: ['not_found'],
    idempotent: true,
    write: (tx, { body, session }, service) =>
      createPageSession(tx, { ...body, sessionId: session?.id ?? '', at: service.clock.now() }, service),
  }),
  sendSessionCode: route({
    ...guests,
    summary: 'Mail a six-digit sign-in code that is valid for ten minutes. A new email address signs up with it.',
    method: 'POST',
    path: '/session/code',
    body: z.object({ email: Email }),
    status: 202,
    result: z.object({ expires_at: UnixSeconds }),
    errors: ['too_many_codes', 'too_many_tries'],
    idempotent: true,
    write: (tx, { body, session, source }, service) =>
      sendSessionCode(tx, { email: body.email, sessionId: session.id, source, at: service.clock.now() }, service),
  }),
  deleteSession: route({
    ...guests,
    summary: 'Sign out everywhere that this session is used.',
    method: 'DELETE',
    path: '/session',
    status: 204,
    async write(tx, { session }, { clock }) {
      await endSession(tx, session.id, clock.now())
      return reply({ status: 204, body: null, session: null })
    },
  }),
  listSessions: route({
    ...users,
    summary: "List the user's signed-in sessions, newest first. `current` marks the caller's own.",
    path: '/sessions',
    ...listing(
      'sessions',
      component('SignedInSession', {
        id: z.Id,
        current: z.boolean(),
        origin: z.nullable(z.string()),
        created_at: UnixSeconds,
        expires_at: UnixSeconds,
      }),
    ),
    read: (tx, { query, principal, session }, { clock }) =>
      listSessions(tx, { ...query, userId: principal.id, sessionId: session?.id, at: clock.now() }),
  }),
  deleteSessionById: route({
    ...users,
    summary: "Sign out one of the user's sessions, everywhere that it is used.",
    method: 'DELETE',
    path: '/sessions/:id',
    params: IdPath,
    status: 204,
    errors: ['not_found'],
    async write(tx, { params, principal, session }, { clock }) {
      const ended = await deleteSessionById(tx, { id: params.id, userId: principal.id, at: clock.now() })
      return isSessionOf(ended, session?.id) ? reply({ status: 204, body: null, session: null }) : noContent()
    },
  }),
})
