import {
  Amount,
  ContentHash,
  Email,
  ItemShape,
  pageQuery,
  Time,
  timeOf,
  UnixSeconds,
  z,
} from '../../http/fields/schema.js'
import { noContent } from '../../http/reply.js'
import { defineRoutes, route } from '../../http/route.js'
import type { State } from '../../storage/storage.js'
import { control } from './control.js'
import { createSandbox } from './sandbox.js'
import { SeedSchema } from './seed/seed-schema.js'
import { retryWork, showUnsettled } from './unsettled.js'

const Clock = z.object({ mode: z.enum(['real', 'manual']), now: z.string() })

const SeededTwin = z.object({ id: z.int(), hostname: z.string(), key: z.string(), balance: Amount })

const Snapshot = z.object({
  counters: z.record(z.string(), z.int()),
  rows: z.record(z.string(), z.array(z.unknown())),
})

const MessageKind = z.enum(['mail', 'push', 'card', 'refund'])

/** Messages to accounts are addressed to a hostname, because accounts have no email. */
const Hostname = z.string().check(z.regex(/^[^\s@]+\.[^\s@]+$/, "a twin's hostname"))

const Does = { value: z.string(), does: z.string() }

export const controlRoutes = defineRoutes('sandbox', {
  readHealth: route({
    ...control,
    isOpen: true,
    summary: 'Read the version, storage and time of the running service.',
    method: 'GET',
    path: '/_sandbox/health',
    result: z.object({
      ok: z.literal(true),
      name: z.string(),
      version: z.string(),
      storage: z.string(),
      clock: Clock,
      evidence: z.string(),
    }),
    handle: async (_call, service) => createSandbox(service).health(),
  }),

  resetSandbox: route({
    ...control,
    summary: 'Reset the sandbox to its seed.',
    method: 'POST',
    path: '/_sandbox/reset',
    status: 204,
    async handle(_call, service) {
      await createSandbox(service).reset()
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
          id: z.int(),
          name: z.string(),
          public_secret: z.string(),
          client_id: z.string(),
          client_secret: z.string(),
          twin: SeededTwin,
        }),
      ),
      users: z.array(
        z.object({
          id: z.int(),
          email: z.string(),
          client_id: z.string(),
          client_secret: z.string(),
          twin: SeededTwin,
        }),
      ),
      twins: z.array(SeededTwin),
      commodities: z.array(
        z.object({ hash: z.string(), descriptor: z.string(), dq: ContentHash, cost: Amount, hostname: z.string() }),
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
    handle: ({ body }, service) => createSandbox(service).seed(body),
  }),

  listUnsettledWork: route({
    ...control,
    summary: 'List unsettled work, which failed too often and waits for a retry, such as recording a charge.',
    method: 'GET',
    path: '/_sandbox/unsettled',
    result: z.object({
      unsettled: z.array(z.object({ id: z.string(), kind: z.string(), subject: z.string(), parked_at: UnixSeconds })),
    }),
    read: (tx) => showUnsettled(tx),
  }),

  retryUnsettledWork: route({
    ...control,
    summary: 'Retry unsettled work. If it fails again, it stays unsettled.',
    method: 'POST',
    path: '/_sandbox/unsettled/:id/retry',
    params: z.object({ id: z.string() }),
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
    query: z.object({ key: z.optional(z.boolean()) }),
    result: Snapshot,
    handle: ({ query }, service) => createSandbox(service).snapshot(query),
  }),

  restoreSnapshot: route({
    ...control,
    summary: 'Replace the whole state by a snapshot, including time and key.',
    method: 'PUT',
    path: '/_sandbox/snapshot',
    body: Snapshot,
    bodyLimit: 'snapshotBytes',
    status: 204,
    errors: ['snapshot_invalid', 'snapshot_refused'],
    async handle({ body }, service) {
      await createSandbox(service).restore(body as State) // It checks what it is given.
      return noContent()
    },
  }),

  fundTwin: route({
    ...control,
    summary: 'Issue value to a twin.',
    method: 'POST',
    path: '/_sandbox/fund',
    body: z.object({ hostname: z.string(), amount: Amount, dq: z.optional(ContentHash) }),
    result: z.object({ hostname: z.string(), dq: ContentHash, amount: Amount, balance: Amount }),
    errors: ['not_found', 'dq_unknown', 'amount_invalid', 'same_twin'],
    handle: ({ body }, service) => createSandbox(service).fund(body),
  }),

  readClock: route({
    ...control,
    summary: "Read the service's clock.",
    method: 'GET',
    path: '/_sandbox/clock',
    result: Clock,
    handle: async (_call, service) => createSandbox(service).clock(),
  }),

  updateClock: route({
    ...control,
    summary: 'Advance, set, stop or start the clock.',
    method: 'POST',
    path: '/_sandbox/clock',
    body: z.object({
      advance: z.optional(z.union([z.string(), z.number()])),
      set: z.optional(Time),
      mode: z.optional(z.enum(['real', 'manual'])),
    }),
    result: Clock,
    errors: ['field_invalid'],
    handle: ({ body }, service) => createSandbox(service).setClock({ ...body, set: timeOf('set', body.set) }),
  }),

  readOutbox: route({
    ...control,
    summary:
      'List messages, charges and refunds that left the service, newest first, with the codes and links in them.',
    method: 'GET',
    path: '/_sandbox/outbox',
    query: z.object({ to: z.optional(z.union([Email, Hostname])), kind: z.optional(MessageKind), ...pageQuery }),
    result: z.object({
      messages: z.array(
        z.object({
          id: z.int(),
          kind: MessageKind,
          status: z.enum(['pending', 'sent', 'failed']),
          to: z.string(),
          subject: z.string(),
          text: z.string(),
          codes: z.array(z.string()),
          links: z.array(z.string()),
          data: z.optional(z.record(z.string(), z.string())),
          created_at: UnixSeconds,
        }),
      ),
      next: z.nullable(z.int()),
    }),
    errors: ['cursor_invalid'],
    handle: ({ query }, service) => createSandbox(service).outbox(query),
  }),

  emptyOutbox: route({
    ...control,
    summary: 'Delete messages that left the service. Charges and refunds that are not settled yet stay.',
    method: 'DELETE',
    path: '/_sandbox/outbox',
    status: 204,
    async handle(_call, service) {
      await createSandbox(service).emptyOutbox()
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
    handle: async (_call, service) => createSandbox(service).testValues,
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
      const { broken, ...audit } = await createSandbox(service).ledger()
      return { ...audit, broken: broken && { ...broken, rows: broken.rows.map((row) => ({ ...row })) } }
    },
  }),

  rotateOidcKeys: route({
    ...control,
    summary: 'Rotate the key that signs OIDC tokens. The old key stays published for a day.',
    method: 'POST',
    path: '/_sandbox/keys/rotate',
    result: z.object({ kids: z.array(z.string()) }),
    handle: (_call, service) => createSandbox(service).rotateKeys(),
  }),
})
