import { designed } from '../../http/fields/graded.js'
import { ContentHash, PageQuery, TwinPath, TwinShape, UnixSeconds, z } from '../../http/fields/schema.js'
import { defineRoutes, route } from '../../http/route.js'
import { createOwnTwin, createTwinNonce, listTwins, readTwin, verifyTwinNonce } from './twin.js'

const auth = ['account', 'user', 'session'] as const
const documented = { evidence: 'documented', versions: ['v4', 'v2'], auth } as const
const ofNonce = { evidence: 'named', path: '/twin/nonce', versions: ['v2'], auth } as const

export const twinRoutes = defineRoutes('twins', {
  createTwin: route({
    summary: 'Create a twin that transacts in a digital quantity.',
    ...documented,
    method: 'POST',
    path: '/twin',
    body: z.object({ dq: ContentHash }),
    status: 201,
    result: TwinShape,
    errors: ['dq_unknown'],
    adds: 'twins',
    idempotent: true,
    write: (tx, { body, principal }, service) =>
      createOwnTwin(tx, { owner: principal.owner, dq: body.dq, at: service.clock.now() }, service),
  }),
  createTwinNonce: route({
    summary: 'Create a nonce that proves control of a twin. It is valid for five minutes.',
    ...ofNonce,
    method: 'POST',
    body: TwinPath,
    status: 201,
    result: z.object({ nonce: z.secret(z.string()), hostname: z.Hostname, expires_at: UnixSeconds }),
    errors: ['not_found', 'not_owner'],
    adds: 'twin_nonces',
    idempotent: true,
    write: (tx, { body, principal }, service) =>
      createTwinNonce(tx, { owner: principal.owner, hostname: body.hostname, at: service.clock.now() }, service),
  }),
  verifyTwinNonce: route({
    summary: "Verify and spend another party's twin nonce.",
    ...ofNonce,
    method: 'PUT',
    body: z.object({ hostname: z.Hostname, nonce: z.secret(z.string()) }),
    result: z.object({ valid: z.literal(true), hostname: z.Hostname }),
    errors: ['twin_nonce_refused'],
    idempotent: true,
    write: (tx, { body }, service) => verifyTwinNonce(tx, { ...body, at: service.clock.now() }, service),
  }),
  listTwins: route({
    summary: "List the caller's twins with keys and balances, newest first.",
    ...documented,
    method: 'GET',
    path: '/twins',
    query: PageQuery,
    result: z.object({ twins: z.array(TwinShape), next: designed(z.nullable(z.int())) }),
    errors: ['cursor_invalid'],
    wholeList: 'twins',
    read: (tx, { query, principal }, service) => listTwins(tx, principal.owner, query, service),
  }),
  readTwin: route({
    summary:
      'Read a twin by hostname or id. Only the owner sees its key. A page with the public_secret sees its balances.',
    ...documented,
    method: 'GET',
    path: '/twin/:hostname',
    auth: ['account', 'user', 'session', 'embed'],
    params: TwinPath,
    query: z.object({ public_secret: z.optional(z.string()) }),
    queryInBody: true,
    // Existing clients send the id of a twin too.
    weakParams: { hostname: { form: /^\d+$/, evidence: 'observed' } },
    result: TwinShape,
    errors: ['not_found', 'not_owner'],
    read: (tx, { params, principal }, { options, keys }) =>
      principal.kind === 'embed'
        ? readTwin(tx, `account:${principal.account_id}`, params.hostname, { options })
        : readTwin(tx, principal.owner, params.hostname, { options, keys }),
  }),
})
