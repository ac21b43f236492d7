import { afterEach, describe, expect, test } from 'vitest'
import { fileStorage } from '../../adapters/storage/file.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Service, type ServiceOptions } from '../../src/index.js'
import type { Storage, Writer } from '../../src/storage/storage.js'
import { type Call, caller } from '../support/api.js'
import { isWhole } from '../support/how-much.js'
import {
  applyChange,
  approvedChange,
  type Business,
  newBusiness,
  requestChange,
} from '../support/scenes/account-changes.js'
import { newItem, WEATHER } from '../support/scenes/catalog.js'
import { expectProblem } from '../support/scenes/market.js'
import { useFileStorages } from '../support/storage/file-storages.js'
import { sharedByProcesses } from '../support/storage/presence.js'

const files = useFileStorages()

/** A storage that fails once, at the `at`-th row that is put or write that ends; nowhere at 0. */
interface FaultyStorage extends Storage {
  at: number
  /** How many such places were passed. */
  passed: number
}

function faultyStorage(): FaultyStorage {
  const inner = memoryStorage()
  const storage: FaultyStorage = {
    ...inner,
    at: 0,
    passed: 0,
    write: (body) =>
      inner.write(async (tx) => {
        const value = await body({
          get: (from, id) => tx.get(from, id),
          getMany: (from, ids) => tx.getMany(from, ids),
          find: (from, query) => tx.find(from, query),
          nextId: (of) => tx.nextId(of),
          nextIds: (of) => tx.nextIds(of),
          remove: (from, id) => tx.remove(from, id),
          put(into, row) {
            pass()
            tx.put(into, row)
          },
        })
        pass()
        return value
      }),
  }
  function pass() {
    if (++storage.passed === storage.at) throw new Error('the disk is full')
  }
  return storage
}

/** A storage whose second write from now on never ends, as if its process died before. */
function dyingStorage(inner: Storage): Storage & { die(): Promise<void> } {
  let writes = Number.NEGATIVE_INFINITY
  return {
    ...inner,
    write: <T>(body: (tx: Writer) => Promise<T>) => (++writes > 1 ? new Promise<T>(() => {}) : inner.write(body)),
    async die() {
      if (writes < 0) writes = 0
      else await expect.poll(() => writes).toBeGreaterThan(1)
    },
  }
}

const ENDPOINT = 'https://api.example.test/weather'
const FIELDS = { ...WEATHER, external_endpoint: ENDPOINT }

/** A change of each kind, all of whose steps have something to do. */
const changes: Record<string, (call: Call, business: Business) => Promise<object>> = {
  async 'update_item, restoring'(call, { seller }) {
    const { id } = await newItem(call, seller)
    await call('POST', `/v4/catalog/items/${id}/archive`, seller)
    return { kind: 'update_item', catalog_item_id: id, archived: false, name: 'Rain', price: 1 }
  },
  async 'update_item, archiving'(call, { seller }) {
    const { id } = await newItem(call, seller)
    return { kind: 'update_item', catalog_item_id: id, archived: true, name: 'Rain', price: 1 }
  },
  create_item: async () => ({ kind: 'create_item', ...FIELDS }),
  rename_wallet: async (_, { hostname }) => ({ kind: 'rename_wallet', hostname, name: 'Shop' }),
  update_account: async () => ({
    kind: 'update_account',
    name: 'Rain',
    tax_number: 'NO 1',
    businessName: 'Rain House',
  }),
}

const open: Service[] = []
afterEach(async () => {
  for (const service of open.splice(0)) await service.close()
})

function start(storage: Storage, options: Partial<ServiceOptions> = {}) {
  const service = createService({ storage, sandbox: true, log: { error: () => {} }, ...options })
  open.push(service)
  return { service, call: caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) }) }
}

async function prepared(name: string) {
  const storage = faultyStorage()
  const { call, service } = start(storage)
  const business = await newBusiness(call)
  const change = await (changes[name] as (typeof changes)[string])(call, business)
  const id = await approvedChange(call, business, change)
  const statusOf = async () => (await call('GET', `/v4/agent/approvals/${id}`, business.agent)).body.status
  const rowsOf = async (names: string[]) => {
    const { rows } = await service.sandbox.snapshot()
    return names.map((each) => rows[each] ?? [])
  }
  return { storage, call, service, business, id, statusOf, rowsOf }
}

/** What account changes touch. */
const TOUCHED = [
  ...['accounts', 'billing_profiles', 'catalog_items', 'commodities', 'twins', 'twin_names', 'balances'],
  ...['account_changes', 'events', 'approvals'],
]

/** The steps of each of these are as those of another one. */
const alike = ['update_item, archiving', 'rename_wallet']

describe.each(Object.keys(changes).filter((name) => isWhole || !alike.includes(name)))('%s', (name) => {
  test('either changes nothing when a write fails, or keeps what it made and says so', async () => {
    const seen = { nothing: 0, partly: 0 }
    for (let at = 1; ; at++) {
      const { storage, call, business, id, statusOf, rowsOf } = await prepared(name)
      const before = await rowsOf(TOUCHED)
      Object.assign(storage, { at, passed: 0 })
      const answer = await applyChange(call, business.agent, id)
      storage.at = 0
      if (answer.status === 200) break
      const { changed } = answer.body
      if (changed === undefined) {
        seen.nothing++
        expectProblem(answer, 500, 'internal_error')
        expect(await rowsOf(TOUCHED)).toEqual(before)
        expect(await statusOf()).toBe('approved')
        expect((await applyChange(call, business.agent, id)).status).toBe(200)
      } else {
        seen.partly++
        expectProblem(answer, 500, 'change_incomplete')
        expect([changed, await statusOf()]).toEqual([true, 'spent'])
        expectProblem(await applyChange(call, business.agent, id), 409, 'approval_spent')
        const { twins } = (await call('GET', '/v4/twins', business.seller)).body
        expect([twins.length, answer.body.made.hostname]).toEqual([2, twins[0].hostname])
      }
    }
    expect(seen.nothing).toBeGreaterThan(2)
    expect(seen.partly > 2).toBe(name === 'create_item')
  })
})

test('an obstacle found during the first step leaves the approval unspent', async () => {
  const { call, business, id, statusOf, rowsOf } = await prepared('create_item')
  for (let n = 0; n < 25; n++) await newItem(call, business.seller)
  const before = await rowsOf(TOUCHED)
  const refused = await applyChange(call, business.agent, id)
  expectProblem(refused, 400, 'change_impossible')
  expect(refused.body.reason).toBe('plan_limit_reached')
  expect([await rowsOf(TOUCHED), await statusOf()]).toEqual([before, 'approved'])
  const { items } = (await call('GET', '/v4/catalog/mine', business.seller)).body
  await call('POST', `/v4/catalog/items/${items[0].id}/archive`, business.seller)
  expect((await applyChange(call, business.agent, id)).status).toBe(200)
})

test('an obstacle to a later step is reported, together with what was already made', async () => {
  const { storage, call, business, id } = await prepared('create_item')
  const { write } = storage
  let writes = 0
  // Between the two steps the account comes to have as many items as it may.
  storage.write = async <T>(body: (tx: Writer) => Promise<T>) => {
    if (++writes === 2) {
      storage.write = write
      for (let n = 0; n < 25; n++) await newItem(call, business.seller)
    }
    return write(body)
  }
  const refused = await applyChange(call, business.agent, id)
  expectProblem(refused, 400, 'change_impossible')
  expect(refused.body).toMatchObject({
    reason: 'plan_limit_reached',
    changed: true,
    made: { hostname: expect.any(String) },
  })
  expectProblem(await applyChange(call, business.agent, id), 409, 'approval_spent')
})

describe('A change whose process died between its steps', () => {
  /** Makes the wallet, and never comes to the item. */
  async function died(storage: Storage, options: Partial<ServiceOptions> = {}) {
    const dying = dyingStorage(storage)
    const { call } = start(dying, options)
    const business = await newBusiness(call)
    const id = await approvedChange(call, business, { kind: 'create_item', ...FIELDS })
    await dying.die()
    void applyChange(call, business.agent, id)
    await dying.die()
    // What died is closed by nobody.
    open.splice(0)
    return { business, id }
  }

  test('is continued by the next call, with the wallet that was already made', async () => {
    const { business, id } = await died(await files.open())
    const { call } = start(await fileStorage({ file: await files.leave('killed') }))
    const { status, body } = await applyChange(call, business.agent, id)
    expect(status).toBe(200)
    const { twins } = (await call('GET', '/v4/twins', business.seller)).body
    expect([twins.length, twins[0].hostname]).toEqual([2, body.result.item.hostname])
    expectProblem(await applyChange(call, business.agent, id), 409, 'approval_spent')
  })

  test('is left alone while the other process may still be alive', async () => {
    const { storage, end } = sharedByProcesses(memoryStorage())
    const options = { encryptionKey: '7'.repeat(64) }
    const { business, id } = await died(storage, options)
    const { call } = start(storage, options)
    expectProblem(await applyChange(call, business.agent, id), 409, 'approval_spent')
    end()
    expect((await applyChange(call, business.agent, id)).status).toBe(200)
    expect((await call('GET', '/v4/twins', business.seller)).body.twins).toHaveLength(2)
  })
})

test('a request for a change makes nothing until it is approved', async () => {
  const { call, service } = start(memoryStorage())
  const business = await newBusiness(call)
  const before = (await service.sandbox.snapshot()).rows
  expect((await requestChange(call, business.agent, { kind: 'create_item', ...FIELDS })).status).toBe(201)
  const after = (await service.sandbox.snapshot()).rows
  for (const name of ['twins', 'catalog_items', 'commodities', 'balances']) expect(after[name]).toEqual(before[name])
})
