import type { ServiceContext } from '../../http/context.js'
import { csvReply, jsonReply, wantsJson } from '../../http/csv.js'
import { type Call, route } from '../../http/route.js'
import { Amount, ContentHash, PageQuery, Time, TwinShape, timeOf, UnixSeconds, z } from '../../http/schema.js'
import { binderColumns, binderEntries, binderJson } from '../../payments/statements/binder.js'
import { inventoryColumns, inventoryOf } from '../../payments/statements/inventory.js'
import { createOwnTwin, listTwins as list, ownTwin, readOwnTwin, type TwinRow } from './twin.js'
import { createTwinNonce as createNonce, spendTwinNonce } from './twin-nonce.js'

const TwinPath = z.object({ hostname: z.string() })

export const createTwin = route({
  id: 'createTwin',
  summary: 'Make a twin that transacts in a digital quantity.',
  evidence: 'documented',
  method: 'POST',
  path: '/twin',
  versions: ['v4', 'v2'],
  auth: ['account', 'user', 'session'],
  body: z.object({ dq: ContentHash }),
  status: 201,
  result: TwinShape,
  errors: ['dq_unknown'],
  idempotent: true,
  write: (tx, { body, principal }, service) =>
    createOwnTwin(tx, { owner: principal.owner, dq: body.dq, at: service.clock.now() }, service),
})

export const readTwin = route({
  id: 'readTwin',
  summary:
    "Read a twin by hostname or id; its key is the owner's to see, balances also a page's with the public_secret.",
  evidence: 'documented',
  method: 'GET',
  path: '/twin/:hostname',
  versions: ['v4', 'v2'],
  auth: ['account', 'user', 'session', 'embed'],
  params: TwinPath,
  query: z.object({ public_secret: z.optional(z.string()) }),
  queryInBody: true,
  result: TwinShape,
  errors: ['not_found', 'not_owner'],
  read: (tx, { params, principal }, service) =>
    principal.kind === 'embed'
      ? readOwnTwin(tx, `account:${principal.account_id}`, params.hostname)
      : readOwnTwin(tx, principal.owner, params.hostname, service),
})

export const listTwins = route({
  id: 'listTwins',
  summary: "List the caller's twins with keys and balances, newest first.",
  evidence: 'documented',
  method: 'GET',
  path: '/twins',
  versions: ['v4', 'v2'],
  auth: ['account', 'user', 'session'],
  query: PageQuery,
  result: z.object({ twins: z.array(TwinShape), next: z.nullable(z.int()) }),
  errors: ['cursor_invalid'],
  read: (tx, { query, principal }, service) => list(tx, principal.owner, { limit: 100, ...query }, service),
})

const BinderEntry = z.object({
  twistId: z.string(),
  timestamp: z.string(),
  data: z.object({
    entry: z.object({ amount: z.nullable(Amount), fromAddress: z.string(), type: z.string() }),
    entryAuthor: z.string(),
    entryFiles: z.array(z.string()),
    entryOperation: z.enum(['receive', 'send']),
    entryType: z.string(),
  }),
})

const InventoryRecord = z.object({
  fileIdentity: z.string(),
  issuer: z.string(),
  fileType: z.string(),
  amount: z.nullable(Amount),
  integrity: z.enum(['valid', 'broken']),
  timestamp: z.string(),
})

const tableMedia = ['text/csv', 'application/json']

/** The caller's own twin, looked up before any of the answer is sent. */
const ownTwinOf = (
  { params, principal }: Call<{ hostname: string }, unknown, unknown, 'account' | 'user' | 'session'>,
  { storage }: ServiceContext,
): Promise<TwinRow> => storage.read((tx) => ownTwin(tx, principal.owner, params.hostname))

/** A second, such as other answers show, is meant whole; an ISO 8601 date-time to the millisecond. */
function endOf(field: string, time: number | string | undefined): number | undefined {
  const ms = timeOf(field, time)
  return ms !== undefined && /^\d+$/.test(String(time)) ? ms + 999 : ms
}

export const readBinder = route({
  id: 'readBinder',
  summary: 'Stream what a twin received and sent, newest first, as CSV or JSON.',
  evidence: 'documented',
  method: 'GET',
  path: '/twin/:hostname/binder',
  versions: ['v4', 'v2'],
  auth: ['account', 'user', 'session'],
  params: TwinPath,
  query: z.object({ from: z.optional(Time), to: z.optional(Time) }),
  produces: tableMedia,
  result: z.array(BinderEntry),
  errors: ['not_found', 'not_owner'],
  async handle(call, service) {
    const span = { from: timeOf('from', call.query.from), to: endOf('to', call.query.to) }
    const pieces = binderEntries(service, await ownTwinOf(call, service), span)
    if (wantsJson(call.headers)) return jsonReply(mapped(pieces, binderJson))
    return csvReply(
      binderColumns,
      mapped(pieces, ({ record }) => record),
    )
  },
})

export const readInventory = route({
  id: 'readInventory',
  summary: 'List what a twin holds now, as CSV or JSON.',
  evidence: 'documented',
  method: 'GET',
  path: '/twin/:hostname/inventory',
  versions: ['v4', 'v2'],
  auth: ['account', 'user', 'session'],
  params: TwinPath,
  produces: tableMedia,
  result: z.array(InventoryRecord),
  errors: ['not_found', 'not_owner'],
  async handle(call, service) {
    const twin = await ownTwinOf(call, service)
    const records = await service.storage.read((tx) => inventoryOf(tx, twin))
    if (wantsJson(call.headers)) return jsonReply(once(records))
    return csvReply(inventoryColumns, once(records))
  },
})

export const createTwinNonce = route({
  id: 'createTwinNonce',
  summary: 'Make a nonce that proves control of a twin, for five minutes.',
  evidence: { v2: 'documented' },
  method: 'POST',
  path: '/twin/nonce',
  versions: ['v2'],
  auth: ['account', 'user', 'session'],
  body: TwinPath,
  status: 201,
  result: z.object({ nonce: z.string(), hostname: z.string(), expires_at: UnixSeconds }),
  errors: ['not_found', 'not_owner'],
  idempotent: true,
  write: (tx, { body, principal }, service) =>
    createNonce(tx, { owner: principal.owner, hostname: body.hostname, at: service.clock.now() }, service),
})

export const verifyTwinNonce = route({
  id: 'verifyTwinNonce',
  summary: "Verify another party's twin nonce, and use it up.",
  evidence: { v2: 'documented' },
  method: 'PUT',
  path: '/twin/nonce',
  versions: ['v2'],
  auth: ['account', 'user', 'session'],
  body: z.object({ hostname: z.string(), nonce: z.string() }),
  result: z.object({ valid: z.literal(true), hostname: z.string() }),
  errors: ['twin_nonce_refused'],
  idempotent: true,
  write: (tx, { body }, { clock }) => spendTwinNonce(tx, { ...body, at: clock.now() }),
})

export default [
  createTwin,
  // Before readTwin, whose path would take their last part for a hostname.
  createTwinNonce,
  verifyTwinNonce,
  listTwins,
  readTwin,
  readBinder,
  readInventory,
]

async function* mapped<T, U>(pieces: AsyncIterable<T[]>, change: (item: T) => U): AsyncGenerator<U[]> {
  for await (const piece of pieces) yield piece.map(change)
}

async function* once<T>(piece: T): AsyncGenerator<T> {
  yield piece
}
