import { jsonCopy } from '../../base/json.js'
import { letOthersRun } from '../../base/ports.js'
import { type Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { allQuantities, digitalQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { type Audit, audit } from '../../money/ledger/audit.js'
import type { AuditedQuantity } from '../../money/ledger/audit-rules.js'
import { balances, entries, movements, reservations } from '../../money/ledger/movement.js'
import { twins } from '../../money/twins/twin.js'
import { findInconsistency, type Inconsistency, inconsistencies, type Schema } from '../../storage/consistency.js'
import { StateForgotten } from '../../storage/history/history.js'
import { serviceStorage } from '../../storage/service-storage.js'
import { assertLists, stateText } from '../../storage/state.js'
import type { AnyCollection, Collection, Key, Reader, Row, State, Storage } from '../../storage/storage.js'
import { migrateState, olderRows, type SchemaHistory, SchemaNewer, schemaOf } from '../../storage/tables/migration.js'
import { forkStorage, serialStorage } from '../../storage/tables/serial.js'
import { Tables } from '../../storage/tables/tables.js'
import { isObject, messageOf } from '../../storage/unknown.js'
import { type NamedSnapshot, type SandboxParts, sandboxOf } from '../onion/context.js'
import { serviceKeys, settings } from '../settings/settings.js'
import { begin } from './bootstrap.js'
import { type ShownRow, withoutSecrets } from './rows.js'
import { CURRENT, LAST_TIME, sandboxClock } from './shapes.js'

/** Collections with numeric ids. Rows of others have random ids, or those of the rows that they belong to. */
const counted: Schema['counted'] = [
  'account_choices accounts approvals authentication_requests carts catalog_items checkouts commodities delegates devices',
  'digital_quantities dispatch_parameters entries events imported_delegates invoices movements oidc_connections outbox payments personas',
  'sessions sign_in_codes timers transfers twins users webhook_deliveries webhooks',
].flatMap((names) => names.split(' '))

type SnapshotRules = Pick<SandboxParts, 'collections' | 'schemas'>

/**
 * Returns a copy of a state in the current schema, if the collections can store it and its ledger is correct.
 * Throws `snapshot_invalid` if it is not a state, `snapshot_newer`, and `snapshot_refused` with the `collection` and `id`
 * of the first wrong row.
 */
export async function checkSnapshot(document: unknown, { collections, schemas }: SnapshotRules): Promise<State> {
  try {
    assertLists(document)
  } catch (cause) {
    throw problem('snapshot_invalid', { detail: `${messageOf(cause)}.`, cause })
  }
  const rules: Schema = { collections, counted }
  const given = copyOf(document)
  const early =
    schemaOf(given) < schemas.current &&
    findInconsistency(given, { ...rules, collections: withFormer(collections, given) })
  if (early) throw inconsistentSnapshot(early)
  const state = await inCurrentSchema(given, schemas)
  const fault = findInconsistency(state, rules) ?? settingFault(state) ?? (await ledgerFault(state))
  if (fault) throw inconsistentSnapshot(fault)
  return state
}

/** Migrations may remove rows of collections that this release no longer has. What they leave is found after them. */
function withFormer(collections: readonly AnyCollection[], { rows }: State): readonly AnyCollection[] {
  const known = new Set(collections.map(({ name }) => name))
  const former = Object.keys(rows).filter((name) => !known.has(name))
  return [...collections, ...former.map(olderRows)]
}

function copyOf(document: State): State {
  try {
    return jsonCopy(document)
  } catch (cause) {
    // A value that holds itself, a bigint, or objects in objects beyond all bounds.
    throw problem('snapshot_invalid', { detail: `It is no JSON (${messageOf(cause)}).`, cause })
  }
}

async function inCurrentSchema(state: State, history: SchemaHistory): Promise<State> {
  try {
    return await migrateState(state, history, { what: 'This snapshot' })
  } catch (cause) {
    if (cause instanceof SchemaNewer) {
      const { message: detail, schema, known } = cause
      throw problem('snapshot_newer', { detail, facts: { schema, known }, cause })
    }
    const detail = `The snapshot has schema ${schemaOf(state)} and cannot be migrated: ${messageOf(cause)}.`
    throw problem('snapshot_refused', { detail, cause })
  }
}

/** Finds everything that is wrong with a state: rows that do not fit together, and rules of the ledger. */
export async function* stateFaults(state: State, collections: readonly AnyCollection[]): AsyncGenerator<Inconsistency> {
  yield* inconsistencies(state, { collections, counted })
  for (const fault of [settingFault(state), await ledgerFault(state)]) if (fault) yield fault
}

export const snapshotText = (state: State): Iterator<string> => stateText(state)

/** Throws `snapshot_refused` if a service could not continue from this state. Changes nothing. */
export async function rehearseRestore(state: State, service: ServiceContext): Promise<void> {
  const clock = sandboxClock({ now: () => service.clock.now() })
  const tables = new Tables(jsonCopy(state))
  const rehearsing: ServiceContext = {
    ...service,
    sandbox: { ...sandboxOf(service), clock },
    stateKey: {
      given: service.stateKey.given,
      change(keys) {
        rehearsing.keys = keys
      },
    },
  }
  const storage = serviceStorage(serialStorage({ tables }), { keys: () => rehearsing.keys })
  try {
    await begin(Object.assign(rehearsing, { storage, log: { error() {} } }), true)
  } catch (cause) {
    const detail = `The service cannot continue from this snapshot: ${messageOf(cause)}.`
    throw problem('snapshot_refused', { detail, cause })
  }
}

const inconsistentSnapshot = ({ collection, id, what }: Inconsistency): Problem =>
  problem('snapshot_refused', {
    detail: id === null ? `In ${collection}, ${what}.` : `Row ${JSON.stringify(id)} of ${collection}: ${what}.`,
    fields: { collection, id: typeof id === 'number' && !Number.isInteger(id) ? null : id },
  })

function settingFault({ rows }: State): Inconsistency | undefined {
  for (const { name } of [serviceKeys, settings])
    for (const row of rows[name] ?? []) {
      const value = 'value' in row ? row.value : undefined
      if ((row.id === 'key' || row.id === 'key_salt') && !/^[0-9a-f]{64}$/.test(String(value)))
        return { collection: name, id: row.id, what: 'it is not 64 hex digits' }
      if (row.id === 'clock' && !isClock(value))
        return { collection: name, id: row.id, what: 'it is no mode and time of a clock' }
    }
  return undefined
}

function isClock(value: unknown): boolean {
  if (!isObject(value)) return false
  const { mode, ms } = value
  return (mode === 'real' || mode === 'manual') && Number.isSafeInteger(ms) && Math.abs(Number(ms)) <= LAST_TIME
}

async function ledgerFault(state: State): Promise<Inconsistency | undefined> {
  try {
    const tables = new Tables(state)
    const { broken } = await auditStorage({ read: (body) => body(tables) })
    return broken ? { ...findRow(broken.rows[0], state), what: `the rule "${broken.rule}" is broken` } : undefined
  } catch (cause) {
    return { collection: movements.name, id: null, what: `the ledger cannot be read: ${messageOf(cause)}` }
  }
}

/** Finds a row by identity, because the audit reports the loaded object itself. A missing balance has no row. */
function findRow(broken: object | undefined, { rows }: State): { collection: string; id: Key | null } {
  for (const { name } of [movements, entries, balances, reservations]) {
    const row = rows[name]?.find((each) => each === broken)
    if (row) return { collection: name, id: row.id }
  }
  const id = broken && 'id' in broken ? broken.id : null
  return { collection: balances.name, id: typeof id === 'string' || typeof id === 'number' ? id : null }
}

/** Checks every rule of the ledger, in slices between which other calls run. */
export const auditStorage = (storage: Pick<Storage, 'read'>): Promise<Audit> =>
  audit({ read: (body) => storage.read(body), quantities: auditedQuantities, pause: letOthersRun })

/** Checks every rule of the ledger, and keeps the result for the metrics. */
export async function auditLedger(service: Pick<ServiceContext, 'storage' | 'sandbox'>): Promise<Audit> {
  const { clock, measurements } = sandboxOf(service)
  const began = clock.realNow()
  const found = await auditStorage(service.storage)
  const at = clock.realNow()
  if (measurements) measurements.audit = { ok: found.ok, movements: found.movements, at, ms: at - began }
  return found
}

const auditedQuantities = async (tx: Reader): Promise<AuditedQuantity[]> =>
  (await allQuantities(tx)).map(({ id: dq, decimals, issuer_twin_id: issuerTwinId }) => ({
    dq,
    decimals,
    issuerTwinId,
  }))

export interface ShownSnapshot {
  readonly name: string
  /** When it was saved, by the service's clock: ISO 8601. */
  readonly at: string
  /** How many rows it has. */
  readonly rows: number
  readonly note?: string
}

const MOST_SNAPSHOTS = 100

export async function saveNamedState(
  { name, note }: { name: string; note?: string | undefined },
  service: ServiceContext,
): Promise<ShownSnapshot> {
  const { snapshots, schemas } = sandboxOf(service)
  const check = () => {
    if (snapshots.has(name))
      throw problem('already_exists', { detail: 'Remove the snapshot first, or choose a new name.' })
    if (snapshots.size >= MOST_SNAPSHOTS) {
      const [oldest] = snapshots.keys()
      const detail = `At most ${MOST_SNAPSHOTS} snapshots. The oldest is ${oldest}.`
      throw problem('sandbox_full', { detail, facts: { most: MOST_SNAPSHOTS, what: 'snapshots', oldest } })
    }
  }
  check()
  const at = new Date(service.clock.now()).toISOString()
  const storage = await forkStorage(service.storage, schemas)
  const rows = countRows(await storage.export())
  // Another call may have saved one while this one waited.
  check()
  const saved: NamedSnapshot = { name, at, rows, ...(note !== undefined && { note }), storage }
  snapshots.set(name, saved)
  return withoutStorage(saved)
}

export const listNamedStates = (service: ServiceContext): ShownSnapshot[] =>
  [...sandboxOf(service).snapshots.values()].map(withoutStorage)

export function removeNamedState(name: string, service: ServiceContext): void {
  snapshotNamed(name, service)
  sandboxOf(service).snapshots.delete(name)
}

export const exportNamedState = async (name: string, service: ServiceContext): Promise<State> =>
  snapshotNamed(name, service).storage.export()

export async function compareNamedStates(a: string, b: string, service: ServiceContext): Promise<Comparison> {
  const [was, is] = [a, b].map((name) => (name === CURRENT ? service.storage : snapshotNamed(name, service).storage))
  const [before, after] = await Promise.all([was?.export(), is?.export()])
  return compareStates(before ?? EMPTY, after ?? EMPTY, service)
}

const EMPTY: State = { counters: {}, rows: {} }

function snapshotNamed(name: string, service: ServiceContext): NamedSnapshot {
  const snapshot = sandboxOf(service).snapshots.get(name)
  if (!snapshot) throw problem('not_found', { detail: `There is no snapshot of the name ${JSON.stringify(name)}.` })
  return snapshot
}

const withoutStorage = ({ storage: _, ...snapshot }: NamedSnapshot): ShownSnapshot => snapshot
const countRows = ({ rows }: State): number => Object.values(rows).reduce((sum, list) => sum + list.length, 0)

export async function rewindSandbox(to: string, service: ServiceContext): Promise<void> {
  const { storage, background } = service
  const sandbox = sandboxOf(service)
  if (storage.isShared)
    throw refused('Other processes use this storage. Work in a fork instead.', { facts: { shared: true } })
  const goBack = wayBack(to, service)
  // Until the clock is that of the former state, its waits would look as if they lay ahead.
  await background.rest(async () => {
    await goBack()
    sandbox.handedApprovals.clear()
    // The calls that the former state shows as running are not running here.
    await begin(service, true)
  }, 'state')
  background.wake()
}

function wayBack(to: string, service: ServiceContext): () => Promise<void> {
  const { storage } = service
  const { snapshots, history, commitOfEntry } = sandboxOf(service)
  const snapshot = snapshots.get(to)
  if (snapshot) return async () => storage.import(await snapshot.storage.export(), { keepsNumbers: true })
  const commit = commitOfEntry(to)
  if (commit === undefined || !history)
    throw problem('not_found', { detail: `No snapshot and no request in the journal is ${JSON.stringify(to)}.` })
  if (!storage.exclusive && !storage.countCommits)
    throw refused(
      'Others may have written to this storage since that request, and it does not tell. Save a named snapshot with POST /_sandbox/snapshots, and rewind to its name.',
    )
  return () =>
    history.rewindTo(commit).catch((cause: unknown) => {
      if (!(cause instanceof StateForgotten)) throw cause
      throw refused(storage.exclusive ? FORGOTTEN : FORGOTTEN_OR_OTHERS, { cause })
    })
}

const refused = (detail: string, more: { readonly facts?: { shared: true }; readonly cause?: unknown } = {}) =>
  problem('rewind_refused', { detail, ...more })

const FORGOTTEN = 'The sandbox no longer has the state after this request. Choose a later one, or a named snapshot.'
const FORGOTTEN_OR_OTHERS =
  'Another tab has written since this request, or the sandbox no longer has the state after it. Choose a later one, or a named snapshot.'

export interface ComparedRows {
  readonly added: readonly ShownRow[]
  readonly removed: readonly ShownRow[]
  readonly changed: readonly { readonly was: ShownRow; readonly is: ShownRow }[]
  /** How many more differ than are shown. */
  readonly more: number
}

/** What differs between two states. */
export interface Comparison {
  /** By collection. */
  readonly rows: Readonly<Record<string, ComparedRows>>
  /** In the digital quantity. */
  readonly balances: readonly {
    readonly hostname: string
    readonly dq: string
    readonly was: number
    readonly is: number
  }[]
}

const MOST_ROWS_SHOWN = 100

function compareStates(before: State, after: State, service: ServiceContext): Comparison {
  const rows = [...sandboxOf(service).collections]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((collection) => {
      const [was = [], is = []] = [before.rows[collection.name], after.rows[collection.name]]
      const differing = differenceOf(was, is, (row) => withoutSecrets(collection, row))
      return differing ? [[collection.name, differing] as const] : []
    })
  return { rows: Object.fromEntries(rows), balances: balanceDifferences(before, after) }
}

function differenceOf(before: readonly Row[], after: readonly Row[], show: (row: Row) => ShownRow) {
  const shown = { added: [] as ShownRow[], removed: [] as ShownRow[], changed: [] as { was: ShownRow; is: ShownRow }[] }
  let count = 0
  const was = new Map(before.map((row) => [row.id, row]))
  for (const row of after) {
    const old = was.get(row.id)
    was.delete(row.id)
    if (old && isSame(old, row)) continue
    if (++count > MOST_ROWS_SHOWN) continue
    if (old) shown.changed.push({ was: show(old), is: show(row) })
    else shown.added.push(show(row))
  }
  for (const row of was.values()) if (++count <= MOST_ROWS_SHOWN) shown.removed.push(show(row))
  return count === 0 ? undefined : { ...shown, more: Math.max(0, count - MOST_ROWS_SHOWN) }
}

/** Forks share the rows that neither has changed. */
const isSame = (a: Row, b: Row): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

function balanceDifferences(before: State, after: State): Comparison['balances'] {
  const [was, is] = [rowsIn(balances, before), rowsIn(balances, after)]
  const [owners, quantities] = [rowsIn(twins, before, after), rowsIn(digitalQuantities, before, after)]
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((id) => {
    const row = is.get(id) ?? was.get(id)
    const [old, now] = [was.get(id)?.amount ?? '0', is.get(id)?.amount ?? '0']
    if (!row || old === now) return []
    const amountOf = (units: string) => toAmount(BigInt(units), quantities.get(row.dq)?.decimals ?? 0)
    const hostname = owners.get(row.twin_id)?.hostname ?? ''
    return [{ hostname, dq: row.dq, was: amountOf(old), is: amountOf(now) }]
  })
}

/** An exported state holds only rows of the collection under its name. */
const rowsIn = <R extends Row>({ name }: Collection<R>, ...states: readonly State[]): Map<Key, R> =>
  new Map(states.flatMap(({ rows }) => (rows[name] ?? []) as readonly R[]).map((row) => [row.id, row]))
