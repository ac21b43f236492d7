import {
  Amount,
  ApprovalShape,
  AuthenticationRequest,
  ContentHash,
  component,
  ItemShape,
  TwinPath,
  UnixSeconds,
  UserShape,
  z,
} from '../../../http/fields/schema.js'
import { noContent, reply, streamed } from '../../../http/reply.js'
import { defineRoutes, route } from '../../../http/route.js'
import type { State } from '../../../storage/storage.js'
import { peopleControls } from '../people-controls.js'
import { SeedSchema } from '../seed/seed-schema.js'
import { checkHealth, retryDeadLetter, serviceControls, showDeadLetters } from '../service-controls.js'
import {
  ClockChangeShape,
  control,
  FundOrderShape,
  MessageKind,
  OutboxQueryShape,
  PhoneAnswerShape,
  PhoneModeShape,
  PhoneRequestShape,
  ResetShape,
  SignInShape,
  SnapshotQueryShape,
} from '../shapes.js'
import { snapshotText } from '../snapshot.js'
import { stateControls } from '../state-controls.js'

const Clock = component('Clock', { mode: z.enum(['real', 'manual']), now: z.IsoTime })

const SeededTwin = component('SeededTwin', {
  id: z.Id,
  hostname: z.Hostname,
  key: z.secret(z.string()),
  balance: Amount,
})
const SeededClient = { client_id: z.TextId, client_secret: z.secret(z.string()), twin: SeededTwin }

const Snapshot = component('Snapshot', {
  schema: z.optional(z.int()),
  counters: z.record(z.string(), z.int()),
  rows: z.record(z.string(), z.array(z.unknown())),
})

const Grade = z.enum(['documented', 'observed', 'named', 'designed'])
const Does = { value: z.string(), does: z.string() }

export const controlRoutes = defineRoutes('sandbox', {
  readHealth: route({
    ...control('GET', '/_sandbox/health'),
    isOpen: true,
    summary: 'Read the version, storage and time of the running service. Answers 503 while it can store nothing.',
    result: z.object({
      ...{ ok: z.literal(true), name: z.string(), version: z.string(), storage: z.string() },
      ...{ clock: Clock, evidence: z.string(), processes: z.optional(z.array(z.string())) },
    }),
    handle: async (_call, service) => checkHealth(service),
  }),
  resetSandbox: route({
    ...control('POST', '/_sandbox/reset'),
    summary: 'Reset the sandbox to its seed.',
    body: ResetShape,
    status: 204,
    handle: ({ body }, service) => stateControls(service).reset(body).then(noContent),
  }),
  seedSandbox: route({
    ...control('POST', '/_sandbox/seed'),
    summary:
      'Create accounts, users, twins, commodities and catalog items, all or none. The answer has their credentials.',
    body: SeedSchema,
    status: 201,
    result: z.object({
      digital_quantities: z.array(z.object({ dq: ContentHash, shortcode: z.string() })),
      accounts: z.array(z.object({ id: z.Id, name: z.string(), public_secret: z.TextId, ...SeededClient })),
      users: z.array(z.object({ id: z.Id, email: z.string(), ...SeededClient })),
      twins: z.array(SeededTwin),
      commodities: z.array(
        z.object({ hash: ContentHash, descriptor: z.string(), dq: ContentHash, cost: Amount, hostname: z.Hostname }),
      ),
      items: z.array(ItemShape),
      wallets: z.optional(
        z.array(
          z.object({
            ...{ address: z.TextId, hostname: z.Hostname, balance: Amount },
            private_key: z.secret(z.optional(z.string())),
          }),
        ),
      ),
    }),
    errors: [
      ...(['already_exists', 'email_taken', 'dq_unknown', 'amount_invalid', 'twin_unknown'] as const),
      ...(['field_invalid', 'upstream_refused', 'plan_limit_reached'] as const),
    ],
    handle: ({ body }, service) => stateControls(service).seed(body),
  }),
  listDeadLetters: route({
    ...control('GET', '/_sandbox/dead-letters'),
    summary: 'List a dead letter, which failed too often and waits for a retry, such as recording a charge.',
    result: z.object({
      dead_letters: z.array(z.object({ id: z.TextId, kind: z.string(), subject: z.string(), parked_at: UnixSeconds })),
    }),
    read: (tx) => showDeadLetters(tx),
  }),
  retryDeadLetter: route({
    ...control('POST', '/_sandbox/dead-letters/:id/retry'),
    summary: 'Retry a dead letter. If it fails again, it stays one.',
    params: z.object({ id: z.TextId }),
    status: 204,
    errors: ['not_found'],
    write: (tx, { params }, { clock }) => retryDeadLetter(tx, params.id, clock.now()).then(noContent),
  }),
  readSnapshot: route({
    ...control('GET', '/_sandbox/snapshot'),
    summary: "Read the whole state as one JSON document. It contains the sandbox's key, unless `key` is false.",
    query: SnapshotQueryShape,
    result: Snapshot,
    // Written in pieces, because the whole may be longer than a text can be.
    async handle({ query }, service) {
      return streamed(snapshotText(await stateControls(service).snapshot(query)), 'application/json')
    },
  }),
  restoreSnapshot: route({
    ...control('PUT', '/_sandbox/snapshot'),
    summary: 'Replace the whole state by a snapshot, including time and key.',
    body: Snapshot,
    bodyLimit: 'snapshotBytes',
    status: 204,
    errors: ['snapshot_invalid', 'snapshot_newer', 'snapshot_refused'],
    // It checks what it is given.
    handle: ({ body }, service) =>
      stateControls(service)
        .restore(body as State)
        .then(noContent),
  }),
  fundTwin: route({
    ...control('POST', '/_sandbox/fund'),
    summary: 'Issue value to a twin.',
    body: FundOrderShape,
    result: z.object({ hostname: z.Hostname, dq: ContentHash, amount: Amount, balance: Amount }),
    errors: ['not_found', 'dq_unknown', 'amount_invalid', 'same_twin'],
    handle: ({ body }, service) => stateControls(service).fund(body),
  }),
  importBinder: route({
    ...control('POST', '/_sandbox/twins/:hostname/binder'),
    summary:
      'Import the CSV of a binder into a twin without a history, all rows or none. Creates the digital quantities and ' +
      'counterparts that only the binder names.',
    params: TwinPath,
    text: { type: 'text/csv', limit: 'binderBytes' },
    status: 201,
    result: z.object({
      ...{ hostname: z.Hostname, rows: z.int(), delegates: z.int(), stand_ins: z.int() },
      digital_quantities: z.array(
        z.object({ dq: ContentHash, decimals: z.int(), is_new: z.boolean(), opening: Amount, balance: Amount }),
      ),
    }),
    errors: ['not_found', 'binder_invalid', 'binder_refused', 'import_in_progress', 'import_ended', 'not_bundled'],
    handle: ({ params, text }, service) => stateControls(service).importBinder({ ...params, csv: text }),
  }),
  readClock: route({
    ...control('GET', '/_sandbox/clock'),
    summary: "Read the service's clock.",
    result: Clock,
    handle: async (_call, service) => serviceControls(service).clock(),
  }),
  readDueWork: route({
    ...control('GET', '/_sandbox/clock/next'),
    summary: 'Read which work waits for the clock and is due first.',
    result: z.object({
      next: z.nullable(z.object({ at: z.IsoTime, kind: z.string(), subject: z.string() })),
    }),
    handle: async (_call, service) => ({ next: await serviceControls(service).nextDue() }),
  }),
  updateClock: route({
    ...control('POST', '/_sandbox/clock'),
    summary: 'Advance, set, stop or start the clock.',
    body: ClockChangeShape,
    result: Clock,
    errors: ['field_invalid'],
    handle: ({ body }, service) => serviceControls(service).setClock(body),
  }),
  readOutbox: route({
    ...control('GET', '/_sandbox/outbox'),
    summary:
      'List messages, charges and refunds that left the service, newest first, with the codes and links in them.',
    query: OutboxQueryShape,
    result: z.object({
      messages: z.array(
        z.object({
          ...{ id: z.Id, kind: MessageKind, status: z.enum(['pending', 'sent', 'failed']), to: z.string() },
          ...{ subject: z.secret(z.string()), text: z.secret(z.string()) },
          ...{ codes: z.secret(z.array(z.string())), links: z.secret(z.array(z.string())) },
          ...{ data: z.optional(z.record(z.string(), z.string())), created_at: UnixSeconds },
        }),
      ),
      next: z.nullable(z.int()),
    }),
    errors: ['cursor_invalid'],
    handle: ({ query }, service) => peopleControls(service).outbox(query),
  }),
  emptyOutbox: route({
    ...control('DELETE', '/_sandbox/outbox'),
    summary: 'Delete messages that left the service. Charges, refunds and webhooks that are not done yet stay.',
    status: 204,
    handle: (_call, service) => peopleControls(service).emptyOutbox().then(noContent),
  }),
  readTestValues: route({
    ...control('GET', '/_sandbox/test-values'),
    summary: 'List the test values of the sandbox: payment methods and patterns of email addresses.',
    result: z.object({
      payment_methods: z.array(
        z.object({
          ...Does,
          status: z.enum(['succeeded', 'declined', 'unavailable']),
          reason: z.optional(z.string()),
          card: z.optional(z.object({ brand: z.string(), last4: z.string(), exp_month: z.int(), exp_year: z.int() })),
          saves: z.optional(z.literal(true)),
          after_seconds: z.optional(z.number()),
        }),
      ),
      emails: z.array(z.object(Does)),
      note: z.string(),
    }),
    handle: async (_call, service) => serviceControls(service).testValues,
  }),
  auditLedger: route({
    ...control('GET', '/_sandbox/ledger'),
    summary: 'Check every rule of the ledger, and return the first that is broken.',
    result: z.object({
      ok: z.boolean(),
      broken: z.nullable(z.object({ rule: z.string(), rows: z.array(z.record(z.string(), z.unknown())) })),
      digital_quantities: z.array(z.object({ dq: ContentHash, issued: Amount, balances: Amount, held: Amount })),
      movements: z.int(),
    }),
    async handle(_call, service) {
      const { broken, ...audit } = await stateControls(service).ledger()
      return { ...audit, broken: broken && { ...broken, rows: broken.rows.map((row) => ({ ...row })) } }
    },
  }),
  readCoverage: route({
    ...control('GET', '/_sandbox/coverage'),
    summary: 'List every operation with its evidence grade, and how often it was called since the start.',
    result: z.object({
      called: z.int(),
      operations: z.array(
        z.object({
          ...{ operation_id: z.string(), method: z.string(), path: z.string(), evidence: Grade, calls: z.int() },
          versions: z.array(z.object({ version: z.string(), evidence: Grade, calls: z.int() })),
        }),
      ),
    }),
    handle: (_call, service) => serviceControls(service).coverage(),
  }),
  forgetEncryptionKey: route({
    ...control('POST', '/_sandbox/encryption-key/forget'),
    summary: 'Make everything unreadable that the encryption key encrypted, as if the key were lost.',
    status: 204,
    handle: (_call, service) => serviceControls(service).forgetEncryptionKey().then(noContent),
  }),
  rotateOidcKeys: route({
    ...control('POST', '/_sandbox/keys/rotate'),
    summary: 'Rotate the key that signs OIDC tokens. The old key stays published for a day.',
    result: z.object({ kids: z.array(z.string()) }),
    handle: (_call, service) => serviceControls(service).rotateKeys(),
  }),
})

export const metricsRoutes = defineRoutes('sandbox', {
  readMetrics: route({
    ...control('GET', '/metrics'),
    summary: 'Read what the sandbox measures, for Prometheus and others that read OpenMetrics.',
    produces: ['application/openmetrics-text'],
    handle: async (_call, service) =>
      reply({
        body: await serviceControls(service).metrics(),
        headers: { 'content-type': 'application/openmetrics-text; version=1.0.0; charset=utf-8' },
      }),
  }),
})

const PhonePath = z.object({ user_id: z.Id })
const AnsweredRequests = component('AnsweredRequests', { requests: z.array(AuthenticationRequest) })

const approvalRoute = (verb: 'approve' | 'reject', summary: string) =>
  route({
    ...control('POST', `/_sandbox/approvals/:id/${verb}`),
    summary,
    params: z.object({ id: z.TextId }),
    result: ApprovalShape,
    errors: ['not_found', 'not_pending'],
    handle: ({ params }, service) => peopleControls(service)[verb](params.id),
  })

const phoneRoute = (verb: 'approve' | 'reject', summary: string) =>
  route({
    ...control('POST', `/_sandbox/devices/:user_id/${verb}`),
    summary,
    params: PhonePath,
    body: PhoneRequestShape,
    bodyOptional: true,
    result: AnsweredRequests,
    errors: ['not_found'],
    handle: ({ params, body }, service) => peopleControls(service).phone(params.user_id)[verb](body),
  })

export const peopleRoutes = defineRoutes('sandbox', {
  signInAsUser: route({
    ...control('POST', '/_sandbox/sign-in'),
    summary:
      'Sign a user in without a mailed code or second factor. Creates the user if there is none. Send the headers of the answer with each call.',
    body: SignInShape,
    status: 201,
    result: z.object({
      session_id: z.secret(z.string()),
      user: UserShape,
      headers: z.object({ 'x-session-id': z.secret(z.string()) }),
    }),
    handle: ({ body }, service) => peopleControls(service).signIn(body),
  }),
  setPhone: route({
    ...control('POST', '/_sandbox/devices/:user_id'),
    summary: "Set how and when a user's phone answers. A user without a device gets one.",
    params: PhonePath,
    body: PhoneAnswerShape,
    result: z.object({ user_id: z.Id, mode: PhoneModeShape, after_seconds: z.number() }),
    errors: ['not_found', 'field_invalid'],
    handle: ({ params, body }, service) => peopleControls(service).phone(params.user_id).answer(body),
  }),
  readPhone: route({
    ...control('GET', '/_sandbox/devices/:user_id'),
    summary: "Read how a user's phone answers, whether they have a device, and their pending authentication requests.",
    params: PhonePath,
    result: z.object({
      ...{ user_id: z.Id, has_device: z.boolean(), mode: PhoneModeShape, after_seconds: z.number() },
      requests: z.array(AuthenticationRequest),
    }),
    errors: ['not_found'],
    handle: ({ params }, service) => peopleControls(service).phone(params.user_id).read(),
  }),
  approveOnPhone: phoneRoute('approve', 'Approve one authentication request of a user, or all that are pending.'),
  rejectOnPhone: phoneRoute('reject', 'Reject one authentication request of a user, or all that are pending.'),
  approveAsUser: approvalRoute('approve', "Approve what an agent asked for, as the agent's user."),
  rejectAsUser: approvalRoute('reject', "Refuse what an agent asked for, as the agent's user."),
})
