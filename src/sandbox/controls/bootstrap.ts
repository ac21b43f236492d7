import type { Random } from '../../base/ports.js'
import { type Keyring, keyring, randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { endAbandonedAttempts } from '../../market/checkout/attempt.js'
import { defaultQuantity, digitalQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { reverseAbandoned } from '../../payments/payments/held-payment.js'
import type { Row, State, Writer } from '../../storage/storage.js'
import { Transaction } from '../../storage/transaction.js'
import { createQuantity } from './seed/quantity.js'
import { keepClock, keepKey, keptClock, keptKey, serviceKeys, settings } from './settings.js'

const REAL_TIME = { mode: 'real', ms: 0 } as const

/**
 * Prepares the storage: fills an empty one, and restores a sandbox's key and clock from it. With `alone`, also ends
 * what earlier processes left unfinished.
 */
export async function begin(service: ServiceContext, alone = service.storage.exclusive): Promise<void> {
  const { storage, random, sandbox } = service
  const drawn = randomHex(random, 32)
  const { keys, clock, isKeyMissing } = await storage.write(async (tx) => {
    const { key, isMissing } = service.storesKey ? await settleKey(tx, drawn) : { isMissing: false }
    const keys = key === undefined ? service.keys : keyring(key, random)
    await bootstrap(tx, { ...service, keys })
    return { keys, clock: sandbox && (await keptClock(tx)), isKeyMissing: isMissing }
  })
  if (isKeyMissing) service.log.error(KEY_MISSING)
  service.keys = keys
  sandbox?.clock.restore(clock ?? REAL_TIME)
  if (!alone) return
  await storage.write(async (tx) => {
    await reverseAbandoned(tx, service)
    await endAbandonedAttempts(tx, service)
  })
}

const KEY_MISSING =
  'This state was encrypted with a different key. Credentials that the service shows again, stored answers, ' +
  'mails and dispatch values cannot be read. To get them back, stop and put the key file of this state in its place ' +
  '(<data file>.key).'

async function settleKey(tx: Writer, drawn: string): Promise<{ key: string; isMissing: boolean }> {
  const { key = drawn, isMissing } = await keptKey(tx)
  const isSettled = (await tx.get(serviceKeys, 'key'))?.value === key && !isMissing
  if (!isSettled || (await tx.get(settings, 'key_digest')) === undefined) keepKey(tx, key)
  return { key, isMissing }
}

/**
 * Creates the first digital quantity and, in a sandbox, the seed. Random values come from the service's key, so that a
 * reset returns the same credentials and hostnames.
 */
async function bootstrap(tx: Writer, service: ServiceContext): Promise<void> {
  const [known] = await tx.find(digitalQuantities, { index: 'byNumber', prefix: [], limit: 1 })
  if (known) return
  const { sandbox, keys } = service
  const repeatable = { ...service, random: repeatableRandom(keys) }
  await createQuantity(tx, defaultQuantity, repeatable)
  await sandbox?.plantSeed(tx, repeatable)
}

/** Resets to the seed and the real time in one step. The new state is prepared before the old one is replaced. */
export async function reset(service: ServiceContext): Promise<void> {
  const { key } = await service.storage.read(keptKey)
  const clock = service.sandbox?.clock
  const stopped = clock?.mode === 'manual'
  clock?.restore(REAL_TIME)
  // A stopped clock stays stopped, because its user moves it by hand.
  if (stopped) clock.setMode('manual')
  const seeded = await stateOf(async (tx) => {
    if (key !== undefined) keepKey(tx, key)
    await bootstrap(tx, service)
    if (stopped) keepClock(tx, clock.state())
  })
  await service.storage.import(seeded)
  service.sandbox?.handedApprovals.clear()
}

/** Returns the state that a write creates in an empty storage. */
async function stateOf(write: (tx: Writer) => Promise<void>): Promise<State> {
  const counters: Record<string, number> = {}
  const next = (of: string) => (counters[of] = (counters[of] ?? 0) + 1)
  const tx = new Transaction({
    get: async () => undefined,
    getMany: async (_from, ids) => ids.map(() => undefined),
    find: async () => [],
    nextId: async (of) => next(of),
    nextIds: async (of) => of.map(next),
  })
  await write(tx)
  const rows: Record<string, Row[]> = {}
  for (const changed of tx.changes())
    rows[changed.collection.name] = [...changed.rows.values()].filter((row): row is Row => row !== null)
  return { counters, rows }
}

/** Returns the same bytes in the same order for the same key. Nobody can guess them without it. */
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
