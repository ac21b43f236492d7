import { jsonCopy } from '../../base/json.js'
import { letOthersRun } from '../../base/ports.js'
import { type Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { allQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { type Audit, audit } from '../../money/ledger/audit.js'
import type { AuditedQuantity } from '../../money/ledger/audit-rules.js'
import { balances, entries, movements, reservations } from '../../money/ledger/movement.js'
import { findInconsistency, type Inconsistency, inconsistencies, type Schema } from '../../storage/consistency.js'
import { serviceStorage } from '../../storage/service-storage.js'
import { assertLists, stateText } from '../../storage/state.js'
import type { AnyCollection, Key, Reader, State, Storage } from '../../storage/storage.js'
import { migrateState, olderRows, type SchemaHistory, SchemaNewer, schemaOf } from '../../storage/tables/migration.js'
import { serialStorage } from '../../storage/tables/serial.js'
import { Tables } from '../../storage/tables/tables.js'
import { isObject, messageOf } from '../../storage/unknown.js'
import { type SandboxParts, sandboxOf } from '../onion/context.js'
import { serviceKeys, settings } from '../settings/settings.js'
import { begin } from './bootstrap.js'
import { sandboxClock } from './clock.js'
import { LAST_TIME } from './shapes.js'

/** Collections with numeric ids. Rows of others have random ids, or those of the rows that they belong to. */
const counted: Schema['counted'] = [
  'account_choices accounts approvals authentication_requests carts catalog_items checkouts commodities delegates devices',
  'digital_quantities dispatch_parameters entries events imported_delegates invoices movements oidc_connections outbox payments personas',
  'sessions sign_in_codes timers transfers twins users webhook_deliveries webhooks',
].flatMap((names) => names.split(' '))

export type SnapshotRules = Pick<SandboxParts, 'collections' | 'schemas'>

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
