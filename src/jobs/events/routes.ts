import { component, IdPath, pageOf, pageQuery, UnixSeconds, z } from '../../http/fields/schema.js'
import { streamed } from '../../http/reply.js'
import { defineRoutes, route } from '../../http/route.js'
import { createEvent, listEvents, readEvent } from './event.js'
import { followEvents, leaving, takeStream } from './streams.js'

const Event = component('Event', {
  id: z.Id,
  type: z.string(),
  actor: z.string(),
  subject: z.nullable(z.string()),
  data: z.record(z.string(), z.unknown()),
  created_at: UnixSeconds,
})

const auth = ['account', 'user', 'session'] as const

export const eventRoutes = defineRoutes('events', {
  listEvents: route({
    summary: "List the caller's events, newest first. With `Accept: text/event-stream`, follow new ones.",
    evidence: 'designed',
    method: 'GET',
    path: '/events',
    versions: ['v4'],
    auth,
    query: z.object({ type: z.optional(z.string()), ...pageQuery }),
    result: pageOf('events', Event),
    produces: ['application/json', 'text/event-stream'],
    errors: ['cursor_invalid', 'too_many_streams'],
    async handle({ query, principal, headers, ending, isAuthenticated }, service) {
      if (!headers.get('accept')?.includes('text/event-stream'))
        return service.storage.read((tx) => listEvents(tx, principal.owner, query))
      // A client that reconnects sends the id of the last event that it saw.
      const seen = headers.get('last-event-id')
      const after = seen !== null && /^\d{1,15}$/.test(seen) ? Number(seen) : query.after
      const following = { owner: principal.owner, type: query.type, after, isAuthenticated, ending }
      const leave = await takeStream(principal.owner, service)
      return streamed(leaving(followEvents(following, service), leave), 'text/event-stream; charset=utf-8')
    },
  }),
  readEvent: route({
    summary: "Read one of the caller's events.",
    evidence: 'designed',
    method: 'GET',
    path: '/events/:id',
    versions: ['v4'],
    auth,
    params: IdPath,
    result: Event,
    errors: ['not_found'],
    read: (tx, { params, principal }) => readEvent(tx, principal.owner, params.id),
  }),
  createEvent: route({
    summary: 'Write an event of your own. Its type must begin with "client.".',
    evidence: 'designed',
    method: 'POST',
    path: '/events',
    versions: ['v4'],
    auth,
    body: z.object({
      type: z.string().check(z.regex(/^client(\.[a-z0-9_-]+)+$/, 'of the form client.something'), z.maxLength(100)),
      data: z.optional(z.record(z.string(), z.unknown())),
    }),
    status: 201,
    result: Event,
    errors: ['field_invalid'],
    adds: 'events',
    idempotent: true,
    write: (tx, { body, principal }, { clock }) =>
      createEvent(tx, principal.owner, { type: body.type, data: body.data ?? {}, at: clock.now() }),
  }),
})
