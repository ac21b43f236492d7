import type { ServiceContext } from '../context.js'
import { defaultQuantity, digitalQuantities } from '../digital-quantities/digital-quantity.js'
import { serialStorage } from '../storage/serial.js'
import type { Writer } from '../storage/storage.js'
import { Tables } from '../storage/tables.js'
import { createQuantity } from './quantity.js'
import { plantSeed } from './seed.js'

/** Makes an empty storage a service's: its first digital quantity and, in a sandbox, the seed. */
export async function bootstrap(tx: Writer, service: ServiceContext): Promise<void> {
  const [known] = await tx.find(digitalQuantities, { index: 'byNumber', prefix: [], limit: 1 })
  if (known) return
  await createQuantity(tx, defaultQuantity, service)
  if (service.sandbox) await plantSeed(tx, service.sandbox.seed, service)
}

/** Goes back to the seed, in one step: what it makes is prepared beside the storage. */
export async function reset(service: ServiceContext): Promise<void> {
  const prepared = serialStorage({ tables: new Tables() })
  service.sandbox?.clock.restore({ mode: 'real', ms: 0 })
  await prepared.write((tx) => bootstrap(tx, service))
  await service.storage.import(await prepared.export())
}
