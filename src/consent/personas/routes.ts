import { allDesigned, designed } from '../../http/fields/graded.js'
import {
  Amount,
  ContentHash,
  component,
  Email,
  HashPath,
  lineOf,
  lineUpTo,
  pageQuery,
  Time,
  timeOf,
  UnixSeconds,
  z,
} from '../../http/fields/schema.js'
import { noContent, Reply } from '../../http/reply.js'
import { type AccountPrincipal, defineRoutes, type Principal, route, type UserPrincipal } from '../../http/route.js'
import { deleteDelegate, listDelegates } from './delegate.js'
import * as held from './held-delegates.js'
import { createDelegate } from './new-delegate.js'
import { createPersona, personaOf, showPersona } from './persona.js'

const Persona = component('Persona', {
  hash: ContentHash,
  ...allDesigned({
    name: z.string(),
    description: z.nullable(z.string()),
    hostname: z.Hostname,
    created_at: UnixSeconds,
  }),
})

const PartyName = component('SpendingParty', { client_id: z.optional(z.TextId), public_secret: z.optional(z.string()) })
const period = z.enum(['day', 'month'])

const NewSpend = z.object({
  party: PartyName,
  dq: ContentHash,
  limit: Amount,
  period: z.optional(z.nullable(period)),
  expires_at: z.optional(Time),
})

const Delegate = component('Delegate', {
  hash: z.secret(ContentHash),
  persona: ContentHash,
  hostname: z.Hostname,
  issue: z.int(),
  name: z.nullable(z.string()),
  email: z.nullable(z.string()),
  spend: z.nullable(
    z.object({
      party: PartyName,
      dq: ContentHash,
      limit: Amount,
      period: z.nullable(period),
      expires_at: z.nullable(UnixSeconds),
    }),
  ),
  revoked_at: z.nullable(UnixSeconds),
  created_at: UnixSeconds,
})

const isOwner = (principal: Principal): principal is AccountPrincipal | UserPrincipal =>
  principal.kind === 'account' || principal.kind === 'user'

const secondFactorErrors = ['rejected', 'approval_timeout', 'too_many_pending', 'too_many_mails'] as const
const owners = { evidence: 'designed', versions: ['v4'], auth: ['account', 'user', 'session'] } as const

export const personaRoutes = defineRoutes('personas', {
  createPersona: route({
    ...owners,
    summary: 'Create a persona that is anchored to one of your twins.',
    method: 'POST',
    path: '/persona',
    body: z.object({
      name: lineOf(64).check(z.trim()),
      description: z.optional(z.nullable(z.string().check(z.maxLength(1024)))),
      twin_id: z.Id,
    }),
    status: 201,
    result: Persona,
    errors: ['twin_unknown'],
    adds: 'personas',
    idempotent: true,
    write: (tx, { body: { twin_id, ...body }, principal }, service) =>
      createPersona(tx, { ...body, twinId: twin_id, owner: principal.owner, at: service.clock.now() }, service),
  }),
  listDelegateMapping: route({
    summary: "List the delegates that the caller's twins hold now, by persona.",
    evidence: 'documented',
    method: 'GET',
    path: '/persona/delegates',
    versions: ['v4', 'v3'],
    auth: ['account', 'user', 'session'],
    result: z.record(z.string(), z.secret(z.array(ContentHash))),
    async read(tx, { principal: { owner } }, service) {
      const first = await held.heldByOwner(tx, owner)
      if (first.next) return new Reply({ text: () => held.mappingText(first, owner, service) })
      return Object.fromEntries(held.mappingOf(first.part))
    },
  }),
  readPersona: route({
    summary: 'Read a persona.',
    evidence: 'observed',
    method: 'GET',
    path: '/persona/:hash',
    versions: ['v4', 'v3'],
    auth: ['none', 'embed'],
    shareable: true,
    params: HashPath,
    query: z.object({}),
    result: Persona,
    errors: ['not_found'],
    read: async (tx, { params }) => showPersona(await personaOf(tx, params.hash)),
  }),
  verifyPersona: route({
    summary: 'Check whether a twin holds delegates of a persona. If it holds none, `status` in the answer is 404.',
    evidence: 'documented',
    method: 'GET',
    path: '/persona/:hash/verify',
    versions: ['v4', 'v3'],
    auth: ['account', 'user', 'session', 'agent', 'embed'],
    params: HashPath,
    query: z.object({
      twin_id: z.Id,
      issue_min: designed(z.optional(z.int())),
      issue_max: designed(z.optional(z.int())),
      public_secret: designed(z.optional(z.string())),
      /** Return only what anybody may see. */
      disclosable: designed(z.optional(z.boolean())),
    }),
    queryInBody: true,
    result: z.object({
      status: z.int(),
      message: z.string(),
      hostname: z.Hostname,
      instances: z.secret(z.array(ContentHash)),
    }),
    errors: ['not_found'],
    async read(tx, { params, query, principal }, service) {
      const verification = {
        persona: params.hash,
        twinId: query.twin_id,
        // A publishable z.secret is public, and whoever knows a bearer delegate spends with it without approval. So an
        // agent, which is not its user, sees no more than a page.
        caller: isOwner(principal) && !query.disclosable ? principal.owner : undefined,
        issueMin: query.issue_min,
        issueMax: query.issue_max,
      }
      const first = await held.verifyPersona(tx, verification)
      if (first.next === undefined) return held.showVerification(first)
      return new Reply({ text: () => held.verificationText(first, verification, service) })
    },
  }),
  createDelegate: route({
    summary:
      'Give a twin a delegate of your persona. With `spend`, a party can spend from the twin of the persona. Then a request with a session waits for the user’s second factor.',
    evidence: { v4: 'designed', v3: 'observed' },
    method: 'POST',
    path: '/persona/:hash/delegate',
    versions: ['v4', 'v3'],
    auth: ['account', 'user', 'session'],
    params: HashPath,
    body: z.object({
      hostname: z.Hostname,
      name: z.optional(z.nullable(lineUpTo(255))),
      email: z.optional(z.nullable(Email)),
      spend: designed(z.optional(z.nullable(NewSpend))),
    }),
    status: 201,
    result: z.object(
      allDesigned({
        hash: z.secret(ContentHash),
        persona: ContentHash,
        hostname: z.Hostname,
        issue: z.int(),
        created_at: UnixSeconds,
      }),
    ),
    errors: ['not_found', 'not_owner', 'dq_unknown', 'amount_invalid', ...secondFactorErrors],
    adds: 'delegates',
    idempotent: true,
    async handle({ params, body, principal, session, storeAnswer }, service) {
      const spend = body.spend && { ...body.spend, expiresAt: timeOf('spend.expires_at', body.spend.expires_at) }
      const isSession = principal.kind === 'user' && principal.via === 'session'
      const by = {
        owner: principal.owner,
        session: isSession ? { userId: principal.id, sessionId: session?.id } : undefined,
      }
      return createDelegate({ ...body, ...by, spend, persona: params.hash }, service, storeAnswer)
    },
  }),
  listDelegates: route({
    ...owners,
    summary: 'List the delegates of your persona, including revoked ones, newest first.',
    method: 'GET',
    path: '/persona/:hash/delegates',
    params: HashPath,
    query: z.object({ limit: pageQuery.limit, after: z.optional(z.string()) }),
    result: z.object({ delegates: z.array(Delegate), next: z.nullable(z.string()) }),
    errors: ['not_found', 'not_owner', 'cursor_invalid'],
    read: (tx, { params, query, principal }) =>
      listDelegates(tx, { persona: params.hash, owner: principal.owner, ...query }),
  }),
  deleteDelegate: route({
    ...owners,
    summary: 'Revoke a delegate of your persona. It can no longer be verified or used to spend.',
    method: 'DELETE',
    path: '/persona/:hash/delegates/:delegate',
    params: z.object({ hash: ContentHash, delegate: z.secret(z.string()) }),
    status: 204,
    errors: ['not_found', 'not_owner'],
    async write(tx, { params, principal }, { clock }) {
      const { hash: persona, delegate } = params
      await deleteDelegate(tx, { persona, delegate, owner: principal.owner, at: clock.now() })
      return noContent()
    },
  }),
})
