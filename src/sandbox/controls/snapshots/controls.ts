import { load } from '../../../base/parts.js'
import type { ServiceContext } from '../../../http/context.js'
import { checkShape } from '../../../http/fields/field.js'
import type { State } from '../../../storage/storage.js'
import { RewindShape, SavedSnapshotShape } from '../shapes.js'
import type { Comparison, ShownSnapshot } from './snapshots.js'

/** Named states to return to. */
export interface SnapshotControls {
  /** Named snapshots. The process keeps at most 100. They are no part of the state, and end with the process. */
  readonly snapshots: {
    /** Saves the state under a name. Throws `already_exists`, `sandbox_full`. */
    save(name: string, options?: { note?: string | undefined }): Promise<ShownSnapshot>
    /** Returns all snapshots, the oldest first. */
    list(): Promise<ShownSnapshot[]>
    /** Removes a snapshot. Throws `not_found`. */
    remove(name: string): Promise<void>
    /**
     * Returns the rows and balances that differ between two snapshots, without secrets. `current` is the state now.
     * Throws `not_found`.
     */
    compare(a: string, b: string): Promise<Comparison>
    /** Returns a snapshot as one JSON document, like `snapshot()`. Throws `not_found`. */
    export(name: string): Promise<State>
  }
  /**
   * Returns to a named snapshot, or to the state after a request: `req_…`, the `X-Request-ID` of its answer. Restores
   * clock and key too. Numbers that were used stay used. Throws `not_found`, `rewind_refused`.
   */
  rewind(to: string): Promise<void>
}

export function snapshotControls(service: ServiceContext): SnapshotControls {
  const open = () => load(() => import('./snapshots.js'))
  return {
    snapshots: {
      save: async (name, options = {}) => {
        const given = checkShape(SavedSnapshotShape, { ...options, name })
        return (await open()).saveNamedState(given, service)
      },
      list: async () => (await open()).listNamedStates(service),
      remove: async (name) => (await open()).removeNamedState(name, service),
      compare: async (a, b) => (await open()).compareNamedStates(a, b, service),
      export: async (name) => (await open()).exportNamedState(name, service),
    },
    rewind: async (to) => {
      const given = checkShape(RewindShape, { to })
      await (await open()).rewindSandbox(given.to, service)
    },
  }
}
