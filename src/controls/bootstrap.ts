import type { ServiceContext } from '../context.js'
import { defaultQuantity, digitalQuantities } from '../digital-quantities/digital-quantity.js'
import type { Random } from '../ports.js'
import type { Keyring } from '../secrets.js'
import { serialStorage } from '../storage/serial.js'
import type { Writer } from '../storage/storage.js'
import { Tables } from '../storage/tables.js'
import { createQuantity } from './quantity.js'
import { plantSeed } from './seed.js'
import { keepClock } from './settings.js'

/**
 * Makes an empty storage a service's: its first digital quantity and, in a sandbox, the seed.
 * What is random about them comes from the service's key, so that a reset brings the same credentials and hostnames back.
 */
export async function bootstrap(tx: Writer, service: ServiceContext): Promise<void> {
  const [known] = await tx.find(digitalQuantities, { index: 'byNumber', prefix: [], limit: 1 })
  if (known) return
  const repeatable = { ...service, random: repeatableRandom(service.keys) }
  await createQuantity(tx, defaultQuantity, repeatable)
  if (service.sandbox) await plantSeed(tx, service.sandbox.seed, repeatable)
}

/** Goes back to the seed and the real time, in one step: what it makes is prepared beside the storage. */
export async function reset(service: ServiceContext): Promise<void> {
  const prepared = serialStorage({ tables: new Tables() })
  const clock = service.sandbox?.clock
  const stopped = clock?.mode === 'manual'
  clock?.restore({ mode: 'real', ms: 0 })
  // Whoever stopped the clock moves it by hand: it does not start to run behind their back.
  if (stopped) clock.setMode('manual')
  await prepared.write(async (tx) => {
    await bootstrap(tx, service)
    if (stopped) keepClock(tx, clock.state())
  })
  await service.storage.import(await prepared.export())
}

/** Gives the same bytes in the same order each time it is made of one key; nobody guesses them without it. */
function repeatableRandom(keys: Keyring): Random {
  let block = 0
  return {
    bytes(count) {
      const bytes = new Uint8Array(count)
      for (let at = 0; at < count; at += 32) bytes.set(keys.derive('seed', block++).subarray(0, count - at), at)
      return bytes
    },
  }
}
