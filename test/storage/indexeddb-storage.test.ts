import 'fake-indexeddb/auto'
import { describe, expect, test, vi } from 'vitest'
import { indexedDbStorage, StorageFull } from '../../adapters/storage/indexeddb.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { collections, createService } from '../../src/index.js'
import { SCHEMA } from '../../src/migrations/schema.js'
import {
  type AnyCollection,
  collection,
  type Index,
  type Row,
  type State,
  StorageUnavailable,
  UniqueViolation,
} from '../../src/storage/storage.js'
import { durableStorageContract, storageContract } from '../storage.contract.js'
import { createIndexedDb } from '../support/storage/indexeddb-durable.js'
import { useTabs } from '../support/storage/indexeddb-tabs.js'
import { lockManager } from '../support/storage/locks.js'
import { type Note, notes } from '../support/storage/storage-model.js'
import { accounts, fill, find, idsOf, put } from './cases.js'

const create = (collections: readonly AnyCollection[]) => createIndexedDb(collections, { locks: lockManager() })
storageContract('IndexedDB', create)
durableStorageContract('IndexedDB', create)

const tabs = useTabs()
const { tab } = tabs

/** Has the next row put do its work and then fail its transaction. */
function failNextPut(fail: (tx: IDBTransaction) => void): void {
  const put = IDBObjectStore.prototype.put
  vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementationOnce(function (this: IDBObjectStore, ...given) {
    const request = put.apply(this, given)
    request.addEventListener('success', () => fail(this.transaction))
    return request
  })
}

describe('a storage', () => {
  test('is available at once, and opens its database on first use', async () => {
    const storage = tab()
    expect(storage.name).toBe('indexeddb')
    expect((await indexedDB.databases()).map((database) => database.name)).not.toContain(tabs.name)
    await put(storage, { id: 1 })
    expect((await indexedDB.databases()).map((database) => database.name)).toContain(tabs.name)
  })

  test('stores the whole service, and exports the same bytes as the memory storage', async () => {
    const memory = memoryStorage()
    const states: string[] = []
    for (const storage of [memory, tab({ collections })]) {
      if (storage !== memory) await storage.import(await memory.export())
      const service = createService({ storage, sandbox: true })
      const answer = await service.fetch(new Request('http://127.0.0.1/_sandbox/health'))
      expect(await answer.json()).toMatchObject({ storage: storage.name })
      states.push(JSON.stringify(await storage.export()))
    }
    expect(states[0]?.length).toBeGreaterThan(500)
    expect(states[1]).toBe(states[0])
  })

  test('does not reuse the numbers of a write that threw, as the memory storage does not', async () => {
    const exported = await Promise.all(
      [tab(), memoryStorage()].map(async (storage) => {
        await storage
          .write(async (tx) => {
            await Promise.all([tx.nextId('b'), tx.nextId('a'), tx.nextId('b')])
            throw new Error('on purpose')
          })
          .catch(() => {})
        return JSON.stringify(await storage.export())
      }),
    )
    expect(exported).toEqual(Array(2).fill(`{"schema":${SCHEMA},"counters":{"a":1,"b":2},"rows":{}}`))
  })

  test('gives distinct numbers to a body that asks for several at once', async () => {
    const given = await tab().write((tx) => Promise.all(Array.from({ length: 20 }, () => tx.nextId('n'))))
    expect(given.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
  })

  test('reads any number of rows in one request, and writes with durability "strict"', async () => {
    const storage = tab()
    const transaction = vi.spyOn(IDBDatabase.prototype, 'transaction')
    await put(storage, ...Array.from({ length: 50 }, (_, id) => ({ id, owner: 'o' })))
    expect(transaction).toHaveBeenLastCalledWith(['rows.notes', 'schema'], 'readwrite', { durability: 'strict' })
    const getAll = vi.spyOn(IDBIndex.prototype, 'getAll')
    const openCursor = vi.spyOn(IDBIndex.prototype, 'openCursor')
    expect(await find(storage, { index: 'byOwner', prefix: ['o'] })).toHaveLength(50)
    expect([getAll, openCursor].map((method) => method.mock.calls.length)).toEqual([1, 0])
  })

  test('returns frozen rows, one or many', async () => {
    const storage = tab()
    await put(storage, { id: 1, body: { deep: [{}] } }, { id: 2, body: {} })
    const got = await storage.read((tx) => tx.get(notes, 1))
    const all = [got, ...(await find(storage, { limit: Number.POSITIVE_INFINITY }))] as Note[]
    expect(all.map(({ id }) => id)).toEqual([1, 1, 2])
    for (const row of all) expect([row, row.body].every(Object.isFrozen)).toBe(true)
    expect((got as any).body.deep.every(Object.isFrozen)).toBe(true)
  })

  test('matches a prefix in full', async () => {
    const storage = tab()
    await put(storage, { id: 1 })
    expect(await idsOf(storage, { prefix: [1] })).toEqual([1])
    expect(await idsOf(storage, { prefix: [1, 1] })).toEqual([])
  })

  test('closes the database after its running writes end', async () => {
    const connections = tabs.watchConnections()
    const storage = tab()
    let hasEnded = false
    const slow = storage.write(async (tx) => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      tx.put(notes, { id: 1 })
    })
    slow.then(() => (hasEnded = true))
    await storage.close()
    expect(hasEnded).toBe(true)
    expect(() => connections.at(-1)?.transaction('counters')).toThrow('InvalidStateError')
  })

  test('reports a collection that was not declared', async () => {
    const storage = tab({ collections: [accounts] })
    await expect(put(storage, { id: 1 })).rejects.toThrow('no such collection: name it among `collections`')
    await expect(find(storage, {})).rejects.toThrow(TypeError)
  })

  test('reports a page that is not secure, or has no IndexedDB', () => {
    vi.stubGlobal('navigator', {})
    expect(() => indexedDbStorage()).toThrow(StorageUnavailable)
    expect(() => indexedDbStorage()).toThrow('serve this page over https, or from localhost')
    vi.stubGlobal('indexedDB', undefined)
    expect(() => indexedDbStorage({ locks: tabs.locks })).toThrow('this storage is for browsers')
  })
})

describe('an imported state', () => {
  test('may contain undeclared collections, while other tabs are open', async () => {
    const [one, two, memory] = [tab(), tab(), memoryStorage()]
    await fill(two)
    const state: State = { counters: { n: 2 }, rows: { z: [{ id: 'z' }], 'a b': [{ id: 1 }, { id: 'b' }], empty: [] } }
    for (const storage of [one, memory]) await storage.import(state)
    const expected = JSON.stringify(await memory.export())
    expect(JSON.stringify(await one.export())).toBe(expected)
    expect(JSON.stringify(await two.export())).toBe(expected)
    await put(two, { id: 'here' })
    await Promise.all([one.close(), two.close()])
    expect((await tab().export()).rows).toEqual({ ...state.rows, empty: undefined, notes: [{ id: 'here' }] })
  })

  test('is refused if its rows cannot be stored, and changes nothing', async () => {
    const storage = tab()
    await fill(storage)
    const before = await storage.export()
    const rows = (...notes: Note[]): State => ({ counters: {}, rows: { notes, unknown: [{ id: 1 }] } })
    await expect(storage.import(rows({ id: 1, slug: 's' }, { id: 2, slug: 's' }))).rejects.toThrow(UniqueViolation)
    await expect(storage.import(rows({ id: 1, owner: true as never }))).rejects.toThrow('owner is indexed')
    expect(await storage.export()).toEqual(before)
  })
})

describe('a write that the browser fails', () => {
  const kinds: [string, (tx: IDBTransaction) => void, typeof StorageUnavailable, string][] = [
    ['for want of space', (tx) => (tx as any)._abort('QuotaExceededError'), StorageFull, 'no more space'],
    ['for reasons of its own', (tx) => (tx as any)._abort('UnknownError'), StorageUnavailable, 'UnknownError'],
    ['by an abort', (tx) => tx.abort(), StorageUnavailable, 'AbortError'],
  ]

  test.each(kinds)('%s is undone, and the storage keeps working', async (_, fail, kind, words) => {
    const storage = tab()
    await fill(storage)
    const before = await storage.export()
    failNextPut(fail)
    let given = 0
    const failing = storage.write(async (tx) => {
      tx.put(accounts, { id: 'a', balance: 1 })
      tx.put(notes, { id: 'b', slug: 'other' })
      tx.remove(notes, 'a')
      given = await tx.nextId('z')
    })
    await expect(failing).rejects.toThrow(kind)
    await expect(failing).rejects.toThrow(words)
    const after = await storage.export()
    expect(after).toEqual({ ...before, counters: { ...before.counters, z: given } })
    expect(await storage.write((tx) => tx.nextId('z'))).toBe(given + 1)
    await put(storage, { id: 'b', slug: 'other' })
    expect(await idsOf(storage, { index: 'bySlug' })).toEqual(['b'])
  })

  test.each(kinds)('%s during an import keeps the old state', async (_, fail, kind) => {
    const storage = tab()
    await fill(storage)
    const before = await storage.export()
    failNextPut(fail)
    await expect(storage.import({ counters: { q: 1 }, rows: { notes: [{ id: 1 }, { id: 2 }] } })).rejects.toThrow(kind)
    expect(await storage.export()).toEqual(before)
  })

  test('because a row cannot be copied is undone as well', async () => {
    const storage = tab()
    await expect(put(storage, { id: 1 }, { id: 2, body: () => {} })).rejects.toThrow('A row is not plain JSON')
    expect(await idsOf(storage, {})).toEqual([])
  })
})

interface Entry extends Row {
  readonly id: number
  readonly a: string
  readonly b: string
}

test('finds by the indexes that are declared now, whatever they were in the release before', async () => {
  const rows: Entry[] = [1, 2, 3, 4, 5, 6].map((id) => ({ id, a: 'xyz'[id % 3] ?? '', b: 'pq'[id % 2] ?? '' }))
  const layouts: Record<string, Index<Entry>>[] = [
    {},
    { one: { fields: ['a'] } },
    { one: { fields: ['b'] } },
    { one: { fields: ['a', 'b'] } },
    { one: { fields: ['b'] }, two: { fields: ['a'] } },
    { two: { fields: ['b', 'a'] } },
  ]
  const entries = (layout: Record<string, Index<Entry>>) => collection<Entry>()('entries', layout)
  const first = tab({ collections: [entries({})] })
  await first.write(async (tx) => rows.forEach((row) => tx.put(entries({}), row)))
  await first.close()
  const pairs = layouts.flatMap((before) => layouts.map((after) => [before, after]))
  for (const [at, layout] of pairs.flat().entries()) {
    const storage = tab({ collections: [entries(layout)] })
    expect(await storage.read((tx) => tx.get(entries(layout), 1))).toEqual(rows[0])
    for (const [index, { fields }] of Object.entries(layout)) {
      const found = await storage.read((tx) => tx.find(entries(layout), { index, prefix: [], limit: 9 }))
      const keyOf = (row: Entry) => [...fields.map((field) => row[field]), row.id].join()
      const expected = rows.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
      expect(found, `${at} ${index}`).toEqual(expected)
    }
    await storage.close()
    expect((await tabs.layout()).stores['rows.entries']).toEqual(Object.keys(layout))
  }
})
