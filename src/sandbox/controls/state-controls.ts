import { load } from '../../base/parts.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import { commodityOf, showCommodity, updateCommodity } from '../../money/commodities/commodity.js'
import { csvKey } from '../../payments/binder-imports/part.js'
import type { State } from '../../storage/storage.js'
import { thenArm } from '../faults/faults.js'
import { findJournal } from '../journal/journal.js'
import { sandboxOf } from '../onion/context.js'
import { keptKey, withKey, withoutFaults, withoutKey } from '../settings/settings.js'
import { begin, reset } from './bootstrap.js'
import type { Sandbox } from './sandbox.js'
import { clientsIn, workingCredentials } from './seed/credentials.js'
import { fund } from './seed/fund.js'
import { addSeed } from './seed/seed.js'
import { SeedSchema } from './seed/seed-schema.js'
import type { LinkedWallet, WalletOrder } from './seed/wallets.js'
import {
  BinderImportShape,
  CommodityChangeShape,
  FundOrderShape,
  ResetShape,
  RewindShape,
  SavedSnapshotShape,
  SnapshotQueryShape,
  WalletOrderShape,
} from './shapes.js'
import type { Comparison, ShownSnapshot } from './snapshot.js'

type StateControls = Pick<
  Sandbox,
  'reset' | 'seed' | 'snapshot' | 'restore' | 'fund' | 'updateCommodity' | 'importBinder' | 'ledger'
>

export function stateControls(service: ServiceContext): StateControls {
  const { storage } = service
  const sandbox = sandboxOf(service)
  return {
    async reset(options = {}) {
      const { clear_journal: clearsJournal = false } = checkShape(ResetShape, options)
      const armFaults = await sandbox.faults.prepareReset()
      await service.background.rest(async () => {
        await reset(service)
        armFaults?.()
        if (clearsJournal) findJournal(service)?.clear()
      }, 'state')
    },
    async seed(added) {
      const given = checkShape(SeedSchema, added)
      const { fixed, seeded } = await thenArm(given.faults, service, () => addSeed(given, service))
      for (const client of clientsIn(fixed)) sandbox.seededClients.set(client.client_id, client)
      return seeded
    },
    async snapshot(query = {}) {
      const { key = true } = checkShape(SnapshotQueryShape, query)
      const state = withoutFaults(await storage.export())
      return key ? state : withoutKey(state)
    },
    async restore(snapshot) {
      const { checkSnapshot, rehearseRestore } = await load(() => import('./snapshot.js'))
      const { key } = await storage.read(keptKey)
      const state = withKey(await checkSnapshot(snapshot, sandbox), key)
      await rehearseRestore(state, service)
      // Until the clock is that of the snapshot, its waits would look as if they lay ahead.
      await service.background.rest(async () => {
        await storage.import(state)
        sandbox.handedApprovals.clear()
        // The calls that a snapshot shows as running are not running here.
        await begin(service, true)
      }, 'state')
    },
    async fund(order) {
      const given = checkShape(FundOrderShape, order)
      const { hostname, email, address } = given
      if (address === undefined || hostname !== undefined || email !== undefined)
        return storage.write((tx) => fund(tx, given, service))
      const { fundAddress } = await load(() => import('./seed/wallets.js'))
      return storage.write((tx) => fundAddress(tx, given, service))
    },
    async updateCommodity(hash, change) {
      const given = checkShape(CommodityChangeShape, change)
      return storage.write(async (tx) => {
        await updateCommodity(tx, await commodityOf(tx, hash), given)
        return showCommodity(tx, await commodityOf(tx, hash))
      })
    },
    async importBinder(order) {
      checkShape(BinderImportShape, order)
      const { importBinder } = await service.options.parts.load(csvKey)
      return importBinder(order, service)
    },
    ledger: async () => (await load(() => import('./snapshot.js'))).auditLedger(service),
  }
}

/** Returns the credentials of everything that was seeded, at the start or later, as long as they work. */
export const readCredentials = (service: ServiceContext) =>
  service.storage.read((tx) => workingCredentials(tx, service))

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
  const open = () => load(() => import('./snapshot.js'))
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

export interface Wallets {
  /** Links an address, by whose signatures a twin then pays: `await sandbox.wallets.link({ twin: hostname })`. */
  link(order: WalletOrder): Promise<LinkedWallet>
  /** Lists the addresses that pay from a twin. */
  list(): Promise<LinkedWallet[]>
}

const wallets = () => load(() => import('./seed/wallets.js'))

export const walletControls = (service: ServiceContext): Wallets => ({
  async link(order) {
    const given = checkShape(WalletOrderShape, order)
    const { linkWallet } = await wallets()
    return service.storage.write((tx) => linkWallet(tx, given, service))
  },
  async list() {
    const { listWallets } = await wallets()
    return service.storage.read((tx) => listWallets(tx, service))
  },
})
