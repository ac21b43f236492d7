import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService } from '../../src/index.js'
import { Tables } from '../../src/storage/tables/tables.js'
import { caller } from '../support/api.js'
import { takeTour } from '../support/examples/tour.js'
import { newItem } from '../support/scenes/catalog.js'
import { newCommodity, newReader, newSeller } from '../support/scenes/world.js'
import { Draws } from './machine/draws.js'
import { loadAll } from './machine/load-all.js'
import { BASE_URL, ENCRYPTION_KEY } from './machine/process.js'
import type { Cast, Person } from './world.js'

export const STARTED = Date.UTC(2031, 4, 1, 12)

export interface Beginning {
  readonly tables: Tables
  readonly cast: Cast
}

let begun: Promise<Beginning> | undefined

/** The state that each simulation begins with, made through the public interface, once. */
export function beginning(): Promise<Beginning> {
  begun ??= begin()
  return begun
}

/** How much each reader holds. */
export const FUNDS = 10

async function begin(): Promise<Beginning> {
  await loadAll()
  // The first call of an operation does more than later ones. What goes wrong here is found by the runs.
  await takeTour((request, fetch) => fetch(request)).catch(() => {})
  const draws = new Draws('the beginning')
  const storage = memoryStorage()
  const service = createService({
    storage,
    baseUrl: BASE_URL,
    encryptionKey: ENCRYPTION_KEY,
    clock: { now: () => STARTED },
    random: { bytes: (count) => draws.bytes(count) },
    sandbox: true,
    journal: false,
  })
  const call = caller({ url: BASE_URL, fetch: (request) => service.fetch(request) })
  // Its keys are made once, because that takes long.
  await call('GET', '/v4/oidc/jwks')
  const sellers: (Person & { publicSecret: string; twinId: number })[] = []
  const wares = []
  const items = []
  let dq = ''
  for (const [n, cost] of [0.25, 0.1, 1.003].entries()) {
    const made = await newSeller(call)
    const ware = await newCommodity(call, made, { cost })
    dq = ware.dq
    const { hostname, twinId } = ware
    const seller = { ...made, name: `seller ${n + 1}`, email: '', hostname, twinId }
    sellers.push(seller)
    wares.push({ seller, hash: ware.hash, cost, dq })
    await call('POST', '/_sandbox/fund', { body: { hostname, amount: FUNDS, dq } })
    for (const path of ['ok', 'broken']) {
      const external_endpoint = `https://api.example.test/${n}/${path}`
      const fields = { external_endpoint, twin_id: ware.twinId, dq, price: 0.5 + n / 4, name: `Weather ${n} ${path}` }
      const { id, price } = await newItem(call, made, fields)
      items.push({ id, seller, price, dq })
    }
  }
  const readers: Person[] = []
  const [seller] = sellers
  if (!seller) throw new Error('there is no seller')
  for (let n = 1; n <= 5; n++) {
    const reader = await newReader(call, seller, { email: `reader-${n}@example.test`, balance: FUNDS })
    readers.push({ ...reader, name: `reader ${n}` })
  }
  const tables = new Tables(await storage.export())
  await service.close()
  return { tables, cast: { sellers, readers, wares, items, dq } }
}
