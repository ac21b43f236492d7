import 'fake-indexeddb/auto'
import { expect, test, vi } from 'vitest'
import { CommitHistory, StateForgotten } from '../../src/storage/history/history.js'
import { watchedStorage } from '../../src/storage/history/watched-storage.js'
import { useTabs } from '../support/storage/indexeddb-tabs.js'
import { notes } from '../support/storage/storage-model.js'
import { expectNewNumbers, idsOf, put } from './cases.js'

const { tab } = useTabs()

function remember() {
  const storage = watchedStorage(tab())
  const history = new CommitHistory(storage)
  const at = (commit: number) =>
    history
      .readAt(commit, (tx) => tx.find(notes, { index: 'id', prefix: [], limit: 100 }))
      .then((rows) => rows.map(({ id, body }) => (body === undefined ? id : [id, body])))
  return { storage, history, at }
}

test('a tab that writes alone reads and returns to each of its commits', async () => {
  const { storage, history, at } = remember()
  await put(storage, { id: 1, body: 'a' })
  const one = history.last
  await put(storage, { id: 1, body: 'b' }, { id: 2 })
  const two = history.last
  await storage.import({ counters: {}, rows: { notes: [{ id: 'imported' }] } })
  const three = history.last
  await storage.write(async (tx) => tx.remove(notes, 'imported'))
  expect([await at(one), await at(two), await at(three)]).toEqual([[[1, 'a']], [[1, 'b'], 2], ['imported']])
  await Promise.all([put(storage, { id: 7 }), put(storage, { id: 8 }), storage.write((tx) => tx.nextId('notes'))])
  await history.rewindTo(two)
  expect(await idsOf(storage, {})).toEqual([1, 2])
  await history.rewindTo(one)
  expect(await at(history.last)).toEqual([[1, 'a']])
  expect(await at(two)).toEqual([[1, 'b'], 2])
})

test.each([
  { how: 'writes', act: (other: ReturnType<typeof tab>) => put(other, { id: 'other' }) },
  { how: 'replaces the state', act: (other: ReturnType<typeof tab>) => other.import({ counters: {}, rows: {} }) },
  { how: 'returns to a commit of its own', act: rewindOther },
])('forgets what was before another tab $how, and remembers what comes after', async ({ act }) => {
  const { storage, history, at } = remember()
  await put(storage, { id: 1 })
  const before = history.last
  await act(tab())
  await expect(at(before)).rejects.toBeInstanceOf(StateForgotten)
  await expect(history.rewindTo(before)).rejects.toBeInstanceOf(StateForgotten)
  const found = await idsOf(storage, {})
  await put(storage, { id: 2 })
  const after = history.last
  await put(storage, { id: 3 })
  await history.rewindTo(after)
  expect(await idsOf(storage, {})).toEqual([...found, 2].sort())
})

async function rewindOther(other: ReturnType<typeof tab>) {
  const storage = watchedStorage(other)
  const history = new CommitHistory(storage)
  await put(storage, { id: 'kept' })
  const kept = history.last
  await put(storage, { id: 'lost' })
  await history.rewindTo(kept)
}

test('takes a commit that failed in the browser for one that it cannot know', async () => {
  const { storage, history, at } = remember()
  await put(storage, { id: 1 })
  const before = history.last
  const put_ = IDBObjectStore.prototype.put
  vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementationOnce(function (this: IDBObjectStore, ...given) {
    const request = put_.apply(this, given)
    request.addEventListener('success', () => this.transaction.abort())
    return request
  })
  await expect(put(storage, { id: 2 })).rejects.toThrow()
  await put(tab(), { id: 1, body: 'of another tab' })
  await expect(at(before)).rejects.toBeInstanceOf(StateForgotten)
  const now = history.last
  await put(storage, { id: 3 })
  await history.rewindTo(now)
  expect(await idsOf(storage, {})).toEqual([1])
})

test('keeps numbers used where an import is told to', () => expectNewNumbers(remember().storage))

test('a body that throws changes nothing of what is known', async () => {
  const { storage, history, at } = remember()
  await put(storage, { id: 1 })
  const before = history.last
  await expect(
    storage.write(async (tx) => {
      tx.put(notes, { id: 2 })
      throw new Error('thrown')
    }),
  ).rejects.toThrow('thrown')
  await put(storage, { id: 3 })
  expect(await at(before)).toEqual([1])
})
