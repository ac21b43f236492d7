import 'fake-indexeddb/auto'
import { deleteDB, openDB } from 'idb'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { indexedDbStorage, StorageFull } from '../../adapters/storage/indexeddb.js'
import { collections, createService } from '../../src/index.js'
import { type State, type Storage, StorageUnavailable } from '../../src/storage/storage.js'
import { changeRows, olderRows, type SchemaHistory, SchemaNewer } from '../../src/storage/tables/migration.js'
import { caller } from '../support/api.js'
import { expectProblem } from '../support/scenes/market.js'
import { defaultDq, newSeller } from '../support/scenes/world.js'
import { useTabs } from '../support/storage/indexeddb-tabs.js'
import { notes } from '../support/storage/storage-model.js'
import { accounts, find, put } from './cases.js'

const tabs = useTabs()

/** Each schema writes its number into the body of every note. */
const upTo = (current: number, ran: number[] = []): SchemaHistory => ({
  current,
  migrations: Array.from({ length: current - 1 }, (_, at) => ({
    to: at + 2,
    what: `Writes ${at + 2}.`,
    migrate(tx) {
      ran.push(at + 2)
      return changeRows(tx, olderRows('notes'), (row) => ({ ...row, body: at + 2 }))
    },
  })),
})
const tabOf = (history: SchemaHistory, patience?: number): Storage =>
  tabs.tab({ collections: [notes, accounts], history, ...(patience !== undefined && { patience }) })

afterEach(async () => {
  for (const schema of [1, 2, 3]) await deleteDB(`${tabs.name}.v${schema}`)
})

/** A database as the first release left it: it does not say its schema. */
async function leaveFirst(): Promise<void> {
  const db = await openDB(tabs.name, 3, {
    upgrade(db) {
      db.createObjectStore('counters').put(7, 'notes')
      for (const name of ['notes', 'accounts', 'gone']) db.createObjectStore(`rows.${name}`, { keyPath: 'id' })
    },
  })
  await db.put('rows.notes', { id: 1, owner: 'o' })
  await db.put('rows.gone', { id: 'x' })
  db.close()
}

const first: State = {
  schema: 1,
  counters: { notes: 7 },
  rows: { gone: [{ id: 'x' }], notes: [{ id: 1, owner: 'o' } as never] },
}

/** What a database holds, as a release that knows its schema reads it. */
async function contentOf(name: string, schema: number): Promise<State> {
  const storage = indexedDbStorage({ name, collections: [notes, accounts], locks: tabs.locks, history: upTo(schema) })
  const state = await storage.export()
  await storage.close()
  return state
}

const copies = async () =>
  (await indexedDB.databases()).flatMap(({ name }) =>
    name?.startsWith(`${tabs.name}.`) ? [name.slice(tabs.name.length)] : [],
  )

describe('an older database', () => {
  test('is migrated when it is opened, and a copy of it stays', async () => {
    await leaveFirst()
    const storage = tabOf(upTo(3))
    expect(await find(storage, { index: 'byOwner', prefix: ['o'] })).toEqual([{ id: 1, owner: 'o', body: 3 }])
    expect(await storage.export()).toEqual({
      ...first,
      schema: 3,
      rows: { gone: [{ id: 'x' }], notes: [{ id: 1, owner: 'o', body: 3 }] },
    })
    expect(await storage.write((tx) => tx.nextId('notes'))).toBe(8)
    expect(await copies()).toEqual(['.v1'])
    expect(await contentOf(`${tabs.name}.v1`, 1)).toEqual(first)
  })

  test('leaves one copy at most, however many releases follow', async () => {
    await leaveFirst()
    for (const schema of [2, 3]) {
      const storage = tabOf(upTo(schema))
      await find(storage, {})
      await storage.close()
    }
    expect(await copies()).toEqual(['.v2'])
    expect((await contentOf(`${tabs.name}.v2`, 2)).rows.notes).toEqual([{ id: 1, owner: 'o', body: 2 }])
    expect((await contentOf(tabs.name, 3)).rows.notes).toEqual([{ id: 1, owner: 'o', body: 3 }])
  })

  test('is migrated once, by whichever tab is first', async () => {
    await leaveFirst()
    const ran: number[] = []
    const storages = [1, 2, 3].map(() => tabOf(upTo(2, ran)))
    const found = await Promise.all(storages.map((storage) => find(storage, {})))
    expect(found).toEqual(storages.map(() => [{ id: 1, owner: 'o', body: 2 }]))
    expect(ran).toEqual([2])
  })

  const faults: [string, string, typeof StorageUnavailable][] = [
    ['the copy does not fit', '.v1', StorageFull],
    ['the migrated rows do not fit', '', StorageFull],
  ]
  test.each(faults)('stays as it is if %s, and is migrated by the next try', async (_, of, kind) => {
    await leaveFirst()
    const before = await contentOf(tabs.name, 1)
    const put = IDBObjectStore.prototype.put
    let failed = 0
    vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(function (this: IDBObjectStore, ...given) {
      const request = put.apply(this, given)
      const isMeant = this.transaction.db.name === tabs.name + of && this.name === 'rows.notes' && failed === 0
      if (isMeant) request.addEventListener('success', () => (this.transaction as any)._abort('QuotaExceededError'))
      if (isMeant) failed++
      return request
    })
    const storage = tabOf(upTo(2))
    await expect(find(storage, {})).rejects.toThrow(kind)
    expect(failed).toBe(1)
    expect(await contentOf(tabs.name, 1)).toEqual(before)
    expect(await find(storage, {})).toEqual([{ id: 1, owner: 'o', body: 2 }])
    expect(await contentOf(`${tabs.name}.v1`, 1)).toEqual(before)
  })
})

describe('a newer database', () => {
  test('is refused by name and number, and stays as it is', async () => {
    await put(tabOf(upTo(3)), { id: 1, owner: 'o' })
    const [layout, state] = [await tabs.layout(), await contentOf(tabs.name, 3)]
    const older = tabs.tab({ collections: [notes], history: upTo(2) })
    for (const use of [
      () => find(older, {}),
      () => put(older, { id: 2 }),
      () => older.import(first),
      () => older.export(),
    ]) {
      await expect(use()).rejects.toThrow(SchemaNewer)
      await expect(use()).rejects.toThrow(
        `The database ${tabs.name} was written by a newer farthing: schema 3, this one knows up to 2. Nothing was changed.`,
      )
    }
    expect(await tabs.layout()).toEqual(layout)
    expect(await contentOf(tabs.name, 3)).toEqual(state)
  })
})

/** Work inside a transaction that ends when the test says so. */
function longWork() {
  let end = () => {}
  let begin = () => {}
  const ended = new Promise<void>((resolve) => (end = resolve))
  const begun = new Promise<void>((resolve) => (begin = resolve))
  const running = () => {
    begin()
    return ended
  }
  return { begun, end, running }
}

describe('tabs of different releases', () => {
  test('lose nothing: the older one ends its write, which is migrated, and is then told to reload', async () => {
    const older = tabOf(upTo(2))
    await put(older, { id: 1 })
    const { begun, end, running } = longWork()
    const writing = older.write(async (tx) => {
      tx.put(notes, { id: 2, body: 2 })
      await running()
      expect(await tx.get(notes, 1)).toEqual({ id: 1 })
      tx.put(notes, { id: 3, body: 2 })
    })
    await begun
    const reading = find(tabOf(upTo(3)), {})
    await new Promise((resolve) => setTimeout(resolve, 30))
    const refused = expect(put(older, { id: 4 })).rejects.toThrow(
      'A newer version of this page is open: reload this page.',
    )
    end()
    await writing
    expect((await reading).map(({ id, body }) => [id, body])).toEqual([1, 2, 3].map((id) => [id, 3]))
    await refused
    await expect(find(older, {})).rejects.toThrow('reload this page')
  })

  test('tell which tabs to close while an older one does not end its write, and go on when it does', async () => {
    const older = tabOf(upTo(2))
    await put(older, { id: 1 })
    const { begun, end, running } = longWork()
    const writing = older.write(async (tx) => {
      tx.put(notes, { id: 2 })
      await running()
    })
    await begun
    const newer = tabOf(upTo(3), 50)
    await expect(find(newer, {})).rejects.toThrow(StorageUnavailable)
    await expect(find(newer, {})).rejects.toThrow('Another tab still uses an older state of')
    end()
    await writing
    await expect
      .poll(() => find(newer, {}))
      .toEqual([
        { id: 1, body: 3 },
        { id: 2, body: 3 },
      ])
  })
})

describe('a service in the browser', () => {
  const serviceOn = (storage: Storage) => {
    const service = createService({ storage, sandbox: true, log: { error() {} } })
    return { ...service, call: caller({ url: service.baseUrl, fetch: service.fetch }) }
  }

  test('answers 503 with the advice to reload once a newer release has migrated the state', async () => {
    const { call } = serviceOn(tabs.tab({ collections }))
    await newSeller(call)
    const newer = tabs.tab({ collections, history: upTo(9) })
    await newer.export()
    for (const method of ['GET', 'POST'] as const) {
      const answer = await call(
        method,
        method === 'GET' ? '/v4/dq' : '/_sandbox/seed',
        method === 'POST' ? { body: {} } : {},
      )
      expectProblem(answer, 503, 'storage_unavailable')
      expect(answer.text).toContain('schema 9')
      expect(answer.text).toContain('A newer version of this page is open: reload this page.')
    }
  })

  test('answers 507 with advice to a write that does not fit, and everything else as before', async () => {
    const { call } = serviceOn(tabs.tab({ collections }))
    const { token } = await newSeller(call)
    const before = (await call('GET', '/_sandbox/snapshot')).body.rows
    const put = IDBObjectStore.prototype.put
    const full = vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(function (
      this: IDBObjectStore,
      ...given
    ) {
      const request = put.apply(this, given)
      request.addEventListener('success', () => (this.transaction as any)._abort('QuotaExceededError'))
      return request
    })
    const twin = { token, body: { dq: await defaultDq(call) }, headers: { 'idempotency-key': 'one' } }
    for (const refused of [
      await call('POST', '/v4/twin', twin),
      await call('POST', '/_sandbox/seed', { body: { accounts: [{ name: 'A' }] } }),
      await call('PUT', '/_sandbox/snapshot', { body: { counters: {}, rows: {} } }),
    ]) {
      expectProblem(refused, 507, 'storage_full')
      expect(refused.text).toMatch(/Free space on the device, or export the state and delete what you do not need/)
    }
    expect((await call('GET', '/_sandbox/snapshot')).body.rows).toEqual(before)
    expect((await call('GET', '/v4/twins', { token })).status).toBe(200)
    full.mockRestore()
    expect((await call('POST', '/v4/twin', twin)).status).toBe(201)
  })
})
