import { Amount, ContentHash, component, ItemShape, TwinPath, UnixSeconds, z } from '../../http/fields/schema.js'
import { noContent, streamed } from '../../http/reply.js'
import { defineRoutes, route } from '../../http/route.js'
import type { State } from '../../storage/storage.js'
import { control } from './control.js'
import { retryWork, showDeadLetters } from './dead-letters.js'
import { peopleControls } from './people-controls.js'
import { SeedSchema } from './seed/seed-schema.js'
import { checkHealth, serviceControls } from './service-controls.js'
import {
  ClockChangeShape,
  FundOrderShape,
  MessageKind,
  OutboxQueryShape,
  ResetShape,
  SnapshotQueryShape,
} from './shapes.js'
import { snapshotText } from './snapshot.js'
import { stateControls } from './state-controls.js'

const Clock = component('Clock', { mode: z.enum(['real', 'manual']), now: z.IsoTime })

const SeededTwin = component('SeededTwin', {
  id: z.Id,
  hostname: z.Hostname,
  key: z.secret(z.string()),
  balance: Amount,
})

const Snapshot = component('Snapshot', {
  schema: z.optional(z.int()),
  counters: z.record(z.string(), z.int()),
  rows: z.record(z.string(), z.array(z.unknown())),
})

const Grade = z.enum(['documented', 'observed', 'named', 'designed'])

const Does = { value: z.string(), does: z.string() }

export const controlRoutes = defineRoutes('sandbox', {
  readHealth: route({
    ...control,
    isOpen: true,
    summary: 'Read the version, storage and time of the running service. Answers 503 while it can store nothing.',
    method: 'GET',
    path: '/_sandbox/health',
    result: z.object({
      ok: z.literal(true),
      name: z.string(),
      version: z.string(),
      storage: z.string(),
      clock: Clock,
      evidence: z.string(),
      processes: z.optional(z.array(z.string())),
    }),
    handle: async (_call, service) => checkHealth(service),
  }),

  resetSandbox: route({
    ...control,
    summary: 'Reset the sandbox to its seed.',
    method: 'POST',
    path: '/_sandbox/reset',
    body: ResetShape,
    status: 204,
    async handle({ body }, service) {
      await stateControls(service).reset(body)
      return noContent()
    },
  }),

  seedSandbox: route({
    ...control,
    summary:
      'Create accounts, users, twins, commodities and catalog items, all or none. The answer has their credentials.',
    method: 'POST',
    path: '/_sandbox/seed',
    body: SeedSchema,
    status: 201,
    result: z.object({
      digital_quantities: z.array(z.object({ dq: ContentHash, shortcode: z.string() })),
      accounts: z.array(
        z.object({
          id: z.Id,
          name: z.string(),
          public_secret: z.TextId,
          client_id: z.TextId,
          client_secret: z.secret(z.string()),
          twin: SeededTwin,
        }),
      ),
      users: z.array(
        z.object({
          id: z.Id,
          email: z.string(),
          client_id: z.TextId,
          client_secret: z.secret(z.string()),
          twin: SeededTwin,
        }),
      ),
      twins: z.array(SeededTwin),
      commodities: z.array(
        z.object({ hash: ContentHash, descriptor: z.string(), dq: ContentHash, cost: Amount, hostname: z.Hostname }),
      ),
      items: z.array(ItemShape),
    }),
    errors: [
      'already_exists',
      'email_taken',
      'dq_unknown',
      'amount_invalid',
      'twin_unknown',
      'field_invalid',
      'upstream_refused',
      'plan_limit_reached',
    ],
    handle: ({ body }, service) => stateControls(service).seed(body),
  }),

  listDeadLetters: route({
    ...control,
    summary: 'List a dead letter, which failed too often and waits for a retry, such as recording a charge.',
    method: 'GET',
    path: '/_sandbox/dead-letters',
    result: z.object({
      dead_letters: z.array(z.object({ id: z.TextId, kind: z.string(), subject: z.string(), parked_at: UnixSeconds })),
    }),
    read: (tx) => showDeadLetters(tx),
  }),

  retryDeadLetter: route({
    ...control,
    summary: 'Retry a dead letter. If it fails again, it stays one.',
    method: 'POST',
    path: '/_sandbox/dead-letters/:id/retry',
    params: z.object({ id: z.TextId }),
    status: 204,
    errors: ['not_found'],
    async write(tx, { params }, service) {
      await retryWork(tx, params.id, service)
      return noContent()
    },
  }),

  readSnapshot: route({
    ...control,
    summary: "Read the whole state as one JSON document. It contains the sandbox's key, unless `key` is false.",
    method: 'GET',
    path: '/_sandbox/snapshot',
    query: SnapshotQueryShape,
    result: Snapshot,
    // Written in pieces, because the whole may be longer than a text can be.
    async handle({ query }, service) {
      return streamed(snapshotText(await stateControls(service).snapshot(query)), 'application/json')
    },
  }),

  restoreSnapshot: route({
    ...control,
    summary: 'Replace the whole state by a snapshot, including time and key.',
    method: 'PUT',
    path: '/_sandbox/snapshot',
    body: Snapshot,
    bodyLimit: 'snapshotBytes',
    status: 204,
    errors: ['snapshot_invalid', 'snapshot_newer', 'snapshot_refused'],
    async handle({ body }, service) {
      await stateControls(service).restore(body as State) // It checks what it is given.
      return noContent()
    },
  }),

  fundTwin: route({
    ...control,
    summary: 'Issue value to a twin.',
    method: 'POST',
    path: '/_sandbox/fund',
    body: FundOrderShape,
    result: z.object({ hostname: z.Hostname, dq: ContentHash, amount: Amount, balance: Amount }),
    errors: ['not_found', 'dq_unknown', 'amount_invalid', 'same_twin'],
    handle: ({ body }, service) => stateControls(service).fund(body),
  }),

  importBinder: route({
    ...control,
    summary:
      'Import the CSV of a binder into a twin without a history, all rows or none. Creates the digital quantities and ' +
      'counterparts that only the binder names.',
    method: 'POST',
    path: '/_sandbox/twins/:hostname/binder',
    params: TwinPath,
    text: { type: 'text/csv', limit: 'binderBytes' },
    status: 201,
    result: z.object({
      hostname: z.Hostname,
      rows: z.int(),
      delegates: z.int(),
      stand_ins: z.int(),
      digital_quantities: z.array(
        z.object({ dq: ContentHash, decimals: z.int(), is_new: z.boolean(), opening: Amount, balance: Amount }),
      ),
    }),
    errors: ['not_found', 'binder_invalid', 'binder_refused', 'import_in_progress', 'import_ended', 'not_bundled'],
    handle: ({ params, text }, service) => stateControls(service).importBinder({ ...params, csv: text }),
  }),

  readClock: route({
    ...control,
    summary: "Read the service's clock.",
    method: 'GET',
    path: '/_sandbox/clock',
    result: Clock,
    handle: async (_call, service) => serviceControls(service).clock(),
  }),

  updateClock: route({
    ...control,
    summary: 'Advance, set, stop or start the clock.',
    method: 'POST',
    path: '/_sandbox/clock',
    body: ClockChangeShape,
    result: Clock,
    errors: ['field_invalid'],
    handle: ({ body }, service) => serviceControls(service).setClock(body),
  }),

  readOutbox: route({
    ...control,
    summary:
      'List messages, charges and refunds that left the service, newest first, with the codes and links in them.',
    method: 'GET',
    path: '/_sandbox/outbox',
    query: OutboxQueryShape,
    result: z.object({
      messages: z.array(
        z.object({
          id: z.Id,
          kind: MessageKind,
          status: z.enum(['pending', 'sent', 'failed']),
          to: z.string(),
          subject: z.secret(z.string()),
          text: z.secret(z.string()),
          codes: z.secret(z.array(z.string())),
          links: z.secret(z.array(z.string())),
          data: z.optional(z.record(z.string(), z.string())),
          created_at: UnixSeconds,
        }),
      ),
      next: z.nullable(z.int()),
    }),
    errors: ['cursor_invalid'],
    handle: ({ query }, service) => peopleControls(service).outbox(query),
  }),

  emptyOutbox: route({
    ...control,
    summary: 'Delete messages that left the service. Charges, refunds and webhooks that are not done yet stay.',
    method: 'DELETE',
    path: '/_sandbox/outbox',
    status: 204,
    async handle(_call, service) {
      await peopleControls(service).emptyOutbox()
      return noContent()
    },
  }),

  readTestValues: route({
    ...control,
    summary: 'List the test values of the sandbox: payment methods and patterns of email addresses.',
    method: 'GET',
    path: '/_sandbox/test-values',
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
    ...control,
    summary: 'Check every rule of the ledger, and return the first that is broken.',
    method: 'GET',
    path: '/_sandbox/ledger',
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
    ...control,
    summary: 'List every operation with its evidence grade, and how often it was called since the start.',
    method: 'GET',
    path: '/_sandbox/coverage',
    result: z.object({
      called: z.int(),
      operations: z.array(
        z.object({
          operation_id: z.string(),
          method: z.string(),
          path: z.string(),
          evidence: Grade,
          calls: z.int(),
          versions: z.array(z.object({ version: z.string(), evidence: Grade, calls: z.int() })),
        }),
      ),
    }),
    handle: (_call, service) => serviceControls(service).coverage(),
  }),

  forgetEncryptionKey: route({
    ...control,
    summary: 'Make everything unreadable that the encryption key encrypted, as if the key were lost.',
    method: 'POST',
    path: '/_sandbox/encryption-key/forget',
    status: 204,
    async handle(_call, service) {
      await serviceControls(service).forgetEncryptionKey()
      return noContent()
    },
  }),

  rotateOidcKeys: route({
    ...control,
    summary: 'Rotate the key that signs OIDC tokens. The old key stays published for a day.',
    method: 'POST',
    path: '/_sandbox/keys/rotate',
    result: z.object({ kids: z.array(z.string()) }),
    handle: (_call, service) => serviceControls(service).rotateKeys(),
  }),
})
