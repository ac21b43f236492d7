import { problem } from '../../../base/problem.js'
import type { ServiceContext } from '../../../http/context.js'
import type { State } from '../../../storage/storage.js'
import { forkStorage } from '../../../storage/tables/serial.js'
import type { NamedSnapshot } from '../../onion/context.js'
import { sandboxOf } from '../../onion/context.js'
import { type Comparison, compareStates } from './compare.js'
import { CURRENT } from './shapes.js'

export interface ShownSnapshot {
  readonly name: string
  /** When it was saved, by the service's clock: ISO 8601. */
  readonly at: string
  /** How many rows it has. */
  readonly rows: number
  readonly note?: string
}

const MOST_SNAPSHOTS = 100

/** Saves the state under a name. Throws `already_exists`, `sandbox_full`. */
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

/** Removes a snapshot. Throws `not_found`. */
export function removeNamedState(name: string, service: ServiceContext): void {
  snapshotNamed(name, service)
  sandboxOf(service).snapshots.delete(name)
}

/** Returns a snapshot as a document. Throws `not_found`. */
export const exportNamedState = async (name: string, service: ServiceContext): Promise<State> =>
  snapshotNamed(name, service).storage.export()

/** Returns what differs between two snapshots, or between one and the state now. Throws `not_found`. */
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
