import 'fake-indexeddb/auto'
import { copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deleteDB } from 'idb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fileStorage } from '../adapters/storage/file.js'
import { indexedDbStorage } from '../adapters/storage/indexeddb.js'
import { memoryStorage } from '../adapters/storage/memory.js'
import { createService, SCHEMA, type Service, type Storage } from '../src/index.js'
import { type Call, caller } from './support/api.js'
import { isWhole } from './support/how-much.js'
import { balanceOf, newSession, tokenFor } from './support/scenes/world.js'
import type { Facts } from './support/storage/full-state.js'
import { lockManager } from './support/storage/locks.js'

const states = fileURLToPath(new URL('states/', import.meta.url))
const names = (await readdir(states)).filter((name) => /^v\d+\.json$/.test(name)).map((name) => name.slice(0, -5))
const read = async (name: string) => JSON.parse(await readFile(join(states, name), 'utf8'))

let dir = ''
let locks = lockManager()
let memory: Storage | undefined

/** Fills a storage that is empty with the state that a release left: its rows, and the key beside them. */
async function filled(storage: Storage, name: string): Promise<Storage> {
  const { counters } = await storage.export()
  if (Object.keys(counters).length > 0) return storage
  const file = await fileStorage({ file: await copied(name) })
  const state = await file.export()
  await file.close()
  await storage.import(state)
  return storage
}

/** A copy of the data file that a release left. */
async function copied(name: string): Promise<string> {
  const file = join(dir, 'data.json')
  if ((await readdir(dir)).includes('data.json')) return file
  for (const end of ['.json', '.json.key'])
    if ((await readdir(states)).includes(`${name}${end}`))
      await copyFile(join(states, `${name}${end}`), `${dir}/data${end}`)
  return file
}

const storages: [string, (name: string) => Promise<Storage>][] = [
  ['a file', async (name) => fileStorage({ file: await copied(name) })],
  // Closing a storage in memory loses it, so the second service of a case goes on with the same one.
  ['memory', async (name) => (memory ??= { ...(await filled(memoryStorage(), name)), close: async () => {} })],
  ['IndexedDB', async (name) => filled(indexedDbStorage({ name: dir, locks }), name)],
]

const tokensOf = async (call: Call, { seller, payer }: Facts) => ({
  seller: await tokenFor(call, seller.client_id, seller.client_secret),
  payer: await tokenFor(call, payer.client_id, payer.client_secret),
})

/** Migrations know no storage. By default those that import a state show it with the oldest and the newest only. */
const isTried = (name: string, storage: string) =>
  isWhole || storage === 'a file' || name === 'v1' || name === `v${SCHEMA}`

const cases = names.flatMap((name) =>
  storages.filter(([storage]) => isTried(name, storage)).map(([storage, open]) => ({ name, storage, open })),
)

describe.each(cases)('the state of schema $name in $storage', ({ name, open: openStorage }) => {
  let service: Service | undefined
  let call: Call
  let facts: Facts
  let tokens: { readonly seller: string; readonly payer: string }

  async function open(): Promise<void> {
    service = createService({ storage: await openStorage(name), sandbox: true, limits: { closeMs: 50 } })
    call = caller({ url: service.baseUrl, fetch: service.fetch })
  }

  // The cases share one service, in their order.
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'farthing-state-'))
    locks = lockManager()
    facts = await read(`${name}.facts.json`)
    await open()
    tokens = await tokensOf(call, facts)
  })
  afterAll(async () => {
    await service?.close()
    await rm(dir, { recursive: true })
    for (const { name } of await indexedDB.databases()) if (name !== undefined) await deleteDB(name)
    service = memory = undefined
  })

  it('opens with its balances and a correct ledger', async () => {
    // The service whose call was under way has ended, so the start gives that up.
    expect(await balanceOf(call, tokens.payer, facts.payer.hostname)).toBe(facts.payer.balance)
    expect((await call('GET', '/_sandbox/ledger')).body).toMatchObject({ ok: true, broken: null })
  })

  it('stores its messages encrypted, and shows them', async () => {
    const { messages } = (await call('GET', '/_sandbox/outbox')).body
    expect(messages.length).toBeGreaterThan(3)
    const stored = (await call('GET', '/_sandbox/snapshot')).body.rows.outbox
    for (const { id, text } of messages) {
      expect(text).not.toContain('sealed under another key')
      expect(stored.find((row: { id: number }) => row.id === id)).not.toHaveProperty('text')
    }
  })

  it('still sells its commodities, and validates earlier payments', async () => {
    const paid = await call('POST', `/v4/payment/${facts.hash}`, { token: tokens.payer, body: {} })
    expect(paid.status).toBe(202)
    const { nonce, timestamp } = paid.body
    const validated = await call('POST', `/v4/payment/${facts.hash}/validate`, {
      token: tokens.seller,
      body: { nonce, timestamp },
    })
    expect(validated.body).toMatchObject({ valid: true })
    expect((await call('GET', '/_sandbox/ledger')).body.ok).toBe(true)
  })

  it('shows each kind of record to its owner', async () => {
    const bySeller = ['/v4/account', '/v4/twins', '/v4/commodities', '/v4/catalog/mine', '/v4/events', '/v2/users']
    const ofBilling = ['/v4/billing', '/v4/billing/invoices', '/v4/billing/profile']
    for (const path of [...bySeller, ...ofBilling, `/v4/catalog/items/${facts.item}/parameters`])
      expect((await call('GET', path, { token: tokens.seller })).status, path).toBe(200)
    const byPayer = ['/v4/payments', '/v4/purchases', '/v4/transfers', '/v4/approvals', '/v4/agent/settings']
    const ofPeople = ['/v4/persona/delegates', '/v4/notifications/registrations', '/v4/events']
    for (const path of [...byPayer, ...ofPeople])
      expect((await call('GET', path, { token: tokens.payer })).status, path).toBe(200)
    for (const path of [`/v4/checkout/${facts.checkout}`, `/v4/persona/${facts.persona}`, '/v4/catalog/items'])
      expect((await call('GET', path)).status, path).toBe(200)
  })

  it('signs in its users', async () => {
    const session = await newSession(call, facts.reader)
    expect((await call('GET', '/v4/session', { session })).body.user.email).toBe(facts.reader)
  })

  it('says its schema when it is exported', async () => {
    expect((await call('GET', '/_sandbox/snapshot')).body.schema).toBe(SCHEMA)
  })

  it('opens again after new writes', async () => {
    await call('POST', `/v4/payment/${facts.hash}`, { token: tokens.payer, body: {} })
    const left = await balanceOf(call, tokens.payer, facts.payer.hostname)
    await service?.close()
    await open()
    expect(await balanceOf(call, tokens.payer, facts.payer.hostname)).toBe(left)
    expect((await call('GET', '/_sandbox/ledger')).body.ok).toBe(true)
  })
})
