import { load } from '../../base/parts.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import { commodityOf, showCommodity, updateCommodity } from '../../money/commodities/commodity.js'
import { csvKey } from '../../payments/binder-imports/part.js'
import { thenArm } from '../faults/controls.js'
import { findJournal } from '../journal/journal.js'
import { sandboxOf } from '../onion/context.js'
import { keptKey, withKey, withoutFaults, withoutKey } from '../settings/settings.js'
import { begin, reset } from './bootstrap.js'
import { fund } from './funds/fund.js'
import type { Sandbox } from './sandbox.js'
import { clientsIn, workingCredentials } from './seed/credentials.js'
import { addSeed } from './seed/seed.js'
import { SeedSchema } from './seed/seed-schema.js'
import { BinderImportShape, CommodityChangeShape, FundOrderShape, ResetShape, SnapshotQueryShape } from './shapes.js'

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
      const { fundAddress } = await load(() => import('./funds/wallets.js'))
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
