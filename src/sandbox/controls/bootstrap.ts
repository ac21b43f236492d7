import type { OutboxRow } from '../../base/message.js'
import { load } from '../../base/parts.js'
import type { Random } from '../../base/ports.js'
import { required } from '../../base/required.js'
import { type Keyring, randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { outbox } from '../../jobs/outbox/outbox.js'
import { ensureSweep } from '../../jobs/retention/sweep-timer.js'
import { defaultQuantity, digitalQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { createQuantity } from '../../money/twins/twin.js'
import { allRows } from '../../storage/page.js'
import type { Row, State, Writer } from '../../storage/storage.js'
import { Transaction } from '../../storage/transaction.js'
import { type SandboxParts, sandboxOf } from '../onion/context.js'
import {
  keepClock,
  keepKey,
  keepKeySalt,
  keptClock,
  keptKey,
  keptKeySalt,
  keysOf,
  REAL_TIME,
  serviceKeys,
  settings,
  takeClearRows,
} from '../settings/settings.js'

/**
 * Prepares the storage: fills an empty one, and restores a sandbox's key and clock from it. With `alone`, also ends
 * what earlier processes left unfinished.
 */
export async function begin(former: ServiceContext, alone = former.storage.exclusive): Promise<void> {
  const { storage, random, sandbox } = former
  const drawn = randomHex(random, 32)
  const plantSeed = sandbox && (await sandboxOf(former).loadSeed())
  const { keys, clock, isKeyMissing, isNew } = await storage.write(async (tx) => {
    const isMissing = former.stateKey.given ? false : await settleKey(tx, drawn)
    const keys = required(await keysOf(tx, former), 'the key of the state')
    const isNew = await bootstrap(tx, { ...former, keys }, plantSeed)
    return { keys, clock: sandbox && (await keptClock(tx)), isKeyMissing: isMissing, isNew }
  })
  former.stateKey.change(keys)
  const service = { ...former, keys }
  if (isKeyMissing) service.log.error(KEY_MISSING)
  sandbox?.clock.restore(clock ?? REAL_TIME)
  await storage.write(encryptClearRows)
  await storage.write((tx) => ensureSweep(tx, service.clock.now()))
  if (isNew) return
  const { endUnfinished } = await load(() => import('./unfinished.js'))
  await endUnfinished(service, alone)
  await follow(service)
}

/** Items that the service fulfils itself are fulfilled where it is now. */
async function follow(service: ServiceContext): Promise<void> {
  const ownItems = service.sandbox ? await sandboxOf(service).ownItems(service.keys) : []
  if (ownItems.length === 0) return
  const { followBaseUrl } = await load(() => import('./base-url.js'))
  await followBaseUrl(service, ownItems)
}

/** Putting a row encrypts it. */
async function encryptClearRows(tx: Writer): Promise<void> {
  if (!(await takeClearRows(tx)).includes(outbox.name)) return
  const rows: OutboxRow[] = []
  for await (const row of allRows(tx, outbox, { index: 'id', prefix: [] })) rows.push(row)
  for (const row of rows) tx.put(outbox, row)
}

const KEY_MISSING =
  'This state was encrypted with a different key. Credentials that the service shows again, stored answers, ' +
  'mails and dispatch values cannot be read. To get them back, stop and put the key file of this state in its place ' +
  '(<data file>.key).'

/** Stores a key if there is none. Returns whether the key that encrypted the state is missing. */
async function settleKey(tx: Writer, drawn: string): Promise<boolean> {
  const { key = drawn, isMissing } = await keptKey(tx)
  const isSettled = (await tx.get(serviceKeys, 'key'))?.value === key && !isMissing
  if (!isSettled || (await tx.get(settings, 'key_digest')) === undefined) keepKey(tx, key)
  return isMissing
}

/**
 * Creates the first digital quantity and, in a sandbox, the seed. Random values come from the service's key, so that a
 * reset returns the same credentials and hostnames. Returns false if the storage is not empty.
 */
async function bootstrap(tx: Writer, service: ServiceContext, plantSeed: PlantSeed | undefined): Promise<boolean> {
  const [known] = await tx.find(digitalQuantities, { index: 'byNumber', prefix: [], limit: 1 })
  if (known) return false
  const repeatable = { ...service, random: repeatableRandom(service.keys) }
  await createQuantity(tx, defaultQuantity, repeatable)
  await plantSeed?.(tx, repeatable)
  return true
}

type PlantSeed = Awaited<ReturnType<SandboxParts['loadSeed']>>

/** Resets to the seed and the real time in one step. The new state is prepared before the old one is replaced. */
export async function reset(service: ServiceContext): Promise<void> {
  const { key, salt } = await service.storage.read(async (tx) => ({
    key: (await keptKey(tx)).key,
    salt: await keptKeySalt(tx),
  }))
  const { clock, loadSeed, schemas, handedApprovals } = sandboxOf(service)
  const plantSeed = await loadSeed()
  const stopped = clock.mode === 'manual'
  clock.restore(REAL_TIME)
  // A stopped clock stays stopped, because its user moves it by hand.
  if (stopped) clock.setMode('manual')
  const seeded = await stateOf(async (tx) => {
    if (key !== undefined) keepKey(tx, key)
    if (salt !== undefined) keepKeySalt(tx, salt)
    await bootstrap(tx, service, plantSeed)
    await ensureSweep(tx, service.clock.now())
    if (stopped) keepClock(tx, clock.state())
  })
  await service.storage.import({ schema: schemas.current, ...seeded })
  handedApprovals.clear()
}

async function stateOf(write: (tx: Writer) => Promise<void>): Promise<Omit<State, 'schema'>> {
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
