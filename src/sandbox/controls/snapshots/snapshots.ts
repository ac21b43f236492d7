import { problem } from '../../../base/problem.js'
import type { ServiceContext } from '../../../http/context.js'
import { digitalQuantities } from '../../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../../money/ledger/amount.js'
import { balances } from '../../../money/ledger/movement.js'
import { twins } from '../../../money/twins/twin.js'
import { StateForgotten } from '../../../storage/history/history.js'
import type { Collection, Key, Row, State } from '../../../storage/storage.js'
import { forkStorage } from '../../../storage/tables/serial.js'
import { type NamedSnapshot, sandboxOf } from '../../onion/context.js'
import { begin } from '../bootstrap.js'
import { type ShownRow, withoutSecrets } from '../rows.js'
import { CURRENT } from '../shapes.js'

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

export function compareStates(before: State, after: State, service: ServiceContext): Comparison {
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
