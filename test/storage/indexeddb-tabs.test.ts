import 'fake-indexeddb/auto'
import { forceCloseDatabase } from 'fake-indexeddb'
import { deleteDB, openDB } from 'idb'
import { describe, expect, test, vi } from 'vitest'
import { type AnyCollection, collection, StorageUnavailable, UniqueViolation } from '../../src/storage/storage.js'
import { useTabs } from '../support/storage/indexeddb-tabs.js'
import { type Note, notes } from '../support/storage/storage-model.js'
import { accounts, find, idsOf, put } from './cases.js'

const tabs = useTabs()
const { tab } = tabs

/** The collection of notes with other indexes. */
const notesBy = (indexes: AnyCollection['indexes']) => collection<Note>()('notes', indexes) as unknown as typeof notes
const byRank = notesBy({ byOwner: { fields: ['owner'] }, byRank: { fields: ['rank'] } })

describe('a database made by other code', () => {
  test('is unchanged if it matches the declarations', async () => {
    await put(tab(), { id: 1 })
    const stores = {
      counters: [],
      schema: [],
      'rows.accounts': [],
      'rows.notes': ['byOwner', 'byOwnerAndRank', 'bySlug'],
    }
    expect(await tabs.layout()).toEqual({ version: 1, stores })
    await put(tab(), { id: 2 })
    await find(tab(), {})
    expect(await tabs.layout()).toEqual({ version: 1, stores })
  })

  test('gets its missing collections and indexes, and keeps its rows', async () => {
    const old = tab({ collections: [notesBy({})] })
    const rows: Note[] = [
      { id: 1, owner: 'p', slug: 's' },
      { id: 2, owner: 'o' },
      { id: 3, owner: null },
    ]
    await old.write(async (tx) => rows.forEach((row) => tx.put(notesBy({}), row)))
    await old.write((tx) => tx.nextId('n'))
    await old.close()
    const storage = tab()
    expect(await idsOf(storage, { index: 'byOwner' })).toEqual([2, 1])
    await expect(put(storage, { id: 4, slug: 's' })).rejects.toThrow(UniqueViolation)
    await storage.write(async (tx) => tx.put(accounts, { id: 'a', balance: 1 }))
    expect(await storage.write((tx) => tx.nextId('n'))).toBe(2)
    expect(await idsOf(storage, {})).toEqual([1, 2, 3])
    expect((await tabs.layout()).version).toBe(2)
  })

  test('loses indexes that are no longer declared, and gets changed ones rebuilt', async () => {
    const old = tab({ collections: [notesBy({ byOwner: { fields: ['rank'] }, bygone: { fields: ['owner'] } })] })
    await put(old, { id: 1, owner: 'p', rank: 1 }, { id: 2, owner: 'o', rank: 2 })
    await old.close()
    const storage = tab({ collections: [byRank] })
    expect(await idsOf(storage, { index: 'byOwner' })).toEqual([2, 1])
    expect(await tabs.layout()).toEqual({
      version: 2,
      stores: { counters: [], schema: [], 'rows.notes': ['byOwner', 'byRank'] },
    })
  })

  test('is upgraded once by three tabs that open it together', async () => {
    await put(tab({ collections: [notesBy({})] }), { id: 1, owner: 'o' })
    const found = await Promise.all([tab(), tab(), tab()].map((each) => idsOf(each, { index: 'byOwner' })))
    expect(found).toEqual([[1], [1], [1]])
    expect((await tabs.layout()).version).toBe(2)
  })
})

describe('an upgrade', () => {
  test('starts again if another tab upgraded further in the meantime', async () => {
    await put(tab({ collections: [notesBy({})] }), { id: 1, owner: 'o' })
    const open = IDBFactory.prototype.open
    let rival: IDBOpenDBRequest | undefined
    vi.spyOn(IDBFactory.prototype, 'open').mockImplementation(function (this: IDBFactory, ...given) {
      if (given[1] === 2 && !rival) {
        rival = open.call(this, tabs.name, 3)
        rival.onsuccess = () => rival?.result.close()
      }
      return open.apply(this, given)
    })
    expect(await idsOf(tab(), { index: 'byOwner' })).toEqual([1])
    expect(rival?.result.version).toBe(3)
    expect((await tabs.layout()).version).toBe(4)
  })

  test('may take long once it has begun', async () => {
    await put(tab({ collections: [notesBy({})] }), { id: 1, owner: 'o' })
    const createIndex = IDBObjectStore.prototype.createIndex
    vi.spyOn(IDBObjectStore.prototype, 'createIndex').mockImplementation(function (this: IDBObjectStore, ...given) {
      for (const end = performance.now() + 60; performance.now() < end; );
      return createIndex.apply(this, given)
    })
    expect(await idsOf(tab({ patience: 50 }), { index: 'byOwner' })).toEqual([1])
  })
})

describe('an open tab', () => {
  test('lets newer code upgrade in the middle of a write, and continues', async () => {
    const old = tab({ collections: [notesBy({ byOwner: { fields: ['owner'] } })] })
    await put(old, { id: 1, owner: 'o', rank: 3 })
    const newer = tab({ collections: [byRank, accounts] })
    await old.write(async (tx) => {
      tx.put(notes, { id: 2, owner: 'o', rank: 1 })
      await tx.get(notes, 1)
      // The newer one waits for the lock, but not with its upgrade.
      const upgraded = await openDB(tabs.name, 2, {
        upgrade: (_db, _from, _to, tx) => void tx.objectStore('rows.notes').createIndex('byRank', ['rank', 'id']),
      })
      upgraded.close()
      expect(await tx.find(notes, { index: 'byOwner', prefix: ['o'], limit: 9 })).toHaveLength(2)
    })
    expect(await newer.read((tx) => tx.find(byRank as any, { index: 'byRank', prefix: [], limit: 9 }))).toHaveLength(2)
    await put(old, { id: 3, owner: 'o', rank: 2 })
    expect(await newer.read((tx) => tx.find(byRank as any, { index: 'byRank', prefix: [], limit: 9 }))).toHaveLength(3)
    // The older one did not take away what it does not know.
    expect((await tabs.layout()).stores).toEqual({
      counters: [],
      schema: [],
      'rows.accounts': [],
      'rows.notes': ['byOwner', 'byRank'],
    })
  })

  test('keeps using an index that newer code dropped, and neither tab undoes the changes of the other', async () => {
    const old = tab({ collections: [notesBy({ byOwner: { fields: ['owner'] } })] })
    await put(old, { id: 1, owner: 'o', rank: 3 })
    const newer = tab({ collections: [notesBy({ byOwnerAndRank: { fields: ['owner', 'rank'] } })] })
    for (let round = 0; round < 3; round++) {
      expect(await idsOf(newer, { index: 'byOwnerAndRank' })).toEqual([1])
      expect(await idsOf(old, { index: 'byOwner' })).toEqual([1])
    }
    const stores = { counters: [], schema: [], 'rows.notes': ['byOwner', 'byOwnerAndRank'] }
    expect(await tabs.layout()).toEqual({ version: 3, stores })
  })

  test('is told to reload if newer code changed one of its indexes', async () => {
    const old = tab({ collections: [notesBy({ byOwner: { fields: ['rank'] } })] })
    await put(old, { id: 1, owner: 'o', rank: 3 })
    const newer = tab({ collections: [byRank] })
    expect(await idsOf(newer, { index: 'byOwner' })).toEqual([1])
    await expect(find(old, {})).rejects.toThrow(
      'Another tab runs a newer version of this site, which keeps notes.byOwner otherwise. Reload',
    )
    await expect(find(old, {})).rejects.toThrow(StorageUnavailable)
    expect(await idsOf(newer, { index: 'byOwner' })).toEqual([1])
  })

  test('asks to close the other tabs if one blocks it, and continues once that tab closes', async () => {
    await put(tab({ collections: [notesBy({})] }), { id: 1, owner: 'o' })
    const stubborn = await openDB(tabs.name)
    const storage = tab({ patience: 50 })
    const open = vi.spyOn(IDBFactory.prototype, 'open')
    const blocked = [1, 2, 3].map((id) => put(storage, { id }))
    for (const each of blocked) await expect(each).rejects.toThrow(StorageUnavailable)
    await expect(find(storage, {})).rejects.toThrow('Close the other tabs of this site')
    // All that wait, wait together: one look and one try to upgrade, and then once more.
    expect(open.mock.calls.length).toBeLessThanOrEqual(4)
    stubborn.close()
    expect(await idsOf(storage, { index: 'byOwner' })).toEqual([1])
    expect((await tabs.layout()).version).toBe(2)
  })

  test('waits for another tab that closes in time', async () => {
    await put(tab({ collections: [notesBy({})] }), { id: 1, owner: 'o' })
    const slow = await openDB(tabs.name)
    setTimeout(() => slow.close(), 50)
    expect(await idsOf(tab(), { index: 'byOwner' })).toEqual([1])
  })

  test('reopens the database after the browser closed it, with or without a notice', async () => {
    const connections = tabs.watchConnections()
    const storage = tab()
    await put(storage, { id: 1 })
    forceCloseDatabase(connections.at(-1) as never)
    await put(storage, { id: 2 })
    connections.at(-1)?.close()
    await put(storage, { id: 3 })
    expect(await idsOf(storage, {})).toEqual([1, 2, 3])
    expect(connections).toHaveLength(3)
  })

  test('lets its database be deleted, and starts a new one', async () => {
    const storage = tab()
    await put(storage, { id: 1 })
    await deleteDB(tabs.name)
    await put(storage, { id: 2 })
    expect(await idsOf(storage, {})).toEqual([2])
  })
})
