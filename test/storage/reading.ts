import { expect } from 'vitest'
import { keyOf } from '../../src/storage/key.js'
import type { Key } from '../../src/storage/storage.js'
import { type Note, notes } from '../support/storage/storage-model.js'
import { accounts, find, idsOf, type Law, put } from './cases.js'

export function readingCases(law: Law): void {
  law('returns undefined or an empty list if nothing is found', async ({ storage }) => {
    expect(await storage.read((tx) => tx.get(notes, 'none'))).toBeUndefined()
    expect(await find(storage, {})).toEqual([])
    expect(await find(storage, { index: 'bySlug', prefix: ['none'] })).toEqual([])
    expect(await find(storage, { index: 'bySlug', prefix: ['none'], reverse: true })).toEqual([])
  })

  law('tells the id 1 from the id "1"', async ({ storage }) => {
    await put(storage, { id: 1, body: 'number' }, { id: '1', body: 'string' })
    expect(await storage.read((tx) => tx.get(notes, 1))).toEqual({ id: 1, body: 'number' })
    expect(await storage.read((tx) => tx.get(notes, '1'))).toEqual({ id: '1', body: 'string' })
    expect(await idsOf(storage, { prefix: ['1'] })).toEqual(['1'])
  })

  law('returns a row for each id in the order of the ids, twice for an id named twice', async ({ storage }) => {
    await put(storage, { id: 1, body: 'number' }, { id: '1', body: 'string' }, { id: 'a' })
    const read = (...ids: Key[]) => storage.read((tx) => tx.getMany(notes, ids))
    expect(await read()).toEqual([])
    expect(await read('none')).toEqual([undefined])
    expect(await read('a', 2, '1', 1, '2', '1')).toEqual([
      { id: 'a' },
      undefined,
      { id: '1', body: 'string' },
      { id: 1, body: 'number' },
      undefined,
      { id: '1', body: 'string' },
    ])
    expect(await storage.read((tx) => tx.getMany(accounts, ['1']))).toEqual([undefined])
  })

  law('returns rows for many ids at once', async ({ storage }) => {
    const ids = Array.from({ length: 2000 }, (_, id) => id)
    await put(storage, ...ids.map((id) => ({ id })))
    const reversed = [...ids].reverse()
    const rows = await storage.read((tx) => tx.getMany(notes, reversed))
    expect(rows.map((row) => row?.id)).toEqual(reversed)
  })

  law('orders numbers by value, then strings by code unit', async ({ storage }) => {
    const sorted = [-1.5, 0, 2, 10, 1e15, '', '1', '10', '2', 'A', 'a', 'a ', 'aa', 'b', 'é', '\u{1f600}', '\uff5e']
    await put(storage, ...sorted.map((id) => ({ id, owner: 'o', rank: id })).reverse())
    expect(await idsOf(storage, {})).toEqual(sorted)
    expect(await idsOf(storage, { reverse: true })).toEqual([...sorted].reverse())
    expect(await idsOf(storage, { index: 'byOwnerAndRank', prefix: ['o'] })).toEqual(sorted)
  })

  law('orders rows under one key by their ids', async ({ storage }) => {
    await put(storage, { id: 'b', owner: 'o' }, { id: 2, owner: 'o' }, { id: 'a', owner: 'o' }, { id: 10, owner: 'o' })
    expect(await idsOf(storage, { index: 'byOwner', prefix: ['o'] })).toEqual([2, 10, 'a', 'b'])
  })

  law('matches a prefix by whole parts of a key, not by the start of a string', async ({ storage }) => {
    await put(storage, { id: 1, owner: 'a', rank: 1 }, { id: 2, owner: 'ab', rank: 1 }, { id: 3, owner: 'a', rank: 12 })
    expect(await idsOf(storage, { index: 'byOwner', prefix: ['a'] })).toEqual([1, 3])
    expect(await idsOf(storage, { index: 'byOwnerAndRank', prefix: ['a', 1] })).toEqual([1])
    expect(await idsOf(storage, { index: 'byOwnerAndRank', prefix: ['a', 12, 3] })).toEqual([3])
    expect(await idsOf(storage, { index: 'byOwnerAndRank', prefix: ['a', 12, 4] })).toEqual([])
    expect(await idsOf(storage, { index: 'byOwner', prefix: [] })).toEqual([1, 3, 2])
  })

  law('leaves a row out of an index if it lacks a field or has null there', async ({ storage }) => {
    await put(storage, { id: 1 }, { id: 2, owner: null }, { id: 3, owner: 'o' }, { id: 4, owner: 'o', rank: 0 })
    expect(await idsOf(storage, { index: 'byOwner' })).toEqual([3, 4])
    expect(await idsOf(storage, { index: 'byOwnerAndRank' })).toEqual([4])
    expect(await idsOf(storage, {})).toEqual([1, 2, 3, 4])
  })

  law('moves a row in the indexes with its fields', async ({ storage }) => {
    await put(storage, { id: 1, owner: 'a' }, { id: 2, owner: 'b' }, { id: 3 })
    await put(storage, { id: 1, owner: 'b' }, { id: 2 }, { id: 3, owner: 'a' })
    expect(await idsOf(storage, { index: 'byOwner' })).toEqual([3, 1])
    await storage.write(async (tx) => tx.remove(notes, 3))
    expect(await idsOf(storage, { index: 'byOwner' })).toEqual([1])
  })

  law('continues strictly after a key, even one without a row, and only within the prefix', async ({ storage }) => {
    await put(storage, ...[1, 2, 3, 5].map((id) => ({ id, owner: 'o' })), { id: 4, owner: 'p' })
    const past = (after: Key[], reverse = false) => idsOf(storage, { index: 'byOwner', prefix: ['o'], after, reverse })
    expect(await past(['o', 2])).toEqual([3, 5])
    expect(await past(['o', 4])).toEqual([5])
    expect(await past(['o', 4], true)).toEqual([3, 2, 1])
    expect(await past(['o', 1], true)).toEqual([])
    expect(await past(['n', 9])).toEqual([1, 2, 3, 5])
    expect(await past(['n', 9], true)).toEqual([])
    expect(await past(['p', 0])).toEqual([])
    expect(await past(['p', 0], true)).toEqual([5, 3, 2, 1])
  })

  law('returns at most as many rows as requested', async ({ storage }) => {
    await put(storage, ...[1, 2, 3].map((id) => ({ id })))
    expect(await idsOf(storage, { limit: 0 })).toEqual([])
    expect(await idsOf(storage, { limit: 2 })).toEqual([1, 2])
    expect(await idsOf(storage, { limit: 2, reverse: true })).toEqual([3, 2])
    expect(await idsOf(storage, { limit: 1_000_000 })).toEqual([1, 2, 3])
  })

  law('returns each row once across all pages, in either direction', async ({ storage }) => {
    const ranks = Array.from({ length: 57 }, (_, i) => (i * 7) % 5)
    await put(storage, ...ranks.map((rank, id) => ({ id, owner: id % 3 === 0 ? 'p' : 'o', rank })))
    for (const reverse of [false, true]) {
      const all = await find(storage, { index: 'byOwnerAndRank', prefix: ['o'], reverse })
      expect(all).toHaveLength(38)
      const paged: Note[] = []
      for (let page: Note[] | undefined; page?.length !== 0; paged.push(...page)) {
        const last = paged.at(-1)
        const after = last && (keyOf(notes.indexes.byOwnerAndRank, last) as Key[])
        page = await find(storage, {
          index: 'byOwnerAndRank',
          prefix: ['o'],
          limit: 5,
          reverse,
          ...(after && { after }),
        })
      }
      expect(paged).toEqual(all)
    }
  })

  law('keeps every character and any plain JSON unchanged', async ({ storage }) => {
    const text = 'ÅA\u030a \u{1f469}\u200d\u{1f680} שלום \u2028\u2029 "\\/\b\f\n\r\t\u007f \u{10ffff} ﷽'
    const body = { [text]: [text, 0, -1.25, 1e300, true, false, null, [], {}, { '': { ' ': [[]] } }] }
    await put(storage, { id: text, owner: text, rank: text, slug: text, body })
    for (const index of ['byOwner', 'byOwnerAndRank', 'bySlug'] as const)
      expect(await find(storage, { index, prefix: [text] })).toEqual([
        { id: text, owner: text, rank: text, slug: text, body },
      ])
    expect(await storage.read((tx) => tx.get(notes, text))).toEqual({
      id: text,
      owner: text,
      rank: text,
      slug: text,
      body,
    })
  })

  law('keeps big rows and many at once', async ({ storage }) => {
    const body = 'long \u{1f4be}'.repeat(150_000)
    await put(storage, { id: 'big', body }, ...Array.from({ length: 2000 }, (_, id) => ({ id, owner: id % 2 })))
    expect(await storage.read((tx) => tx.get(notes, 'big'))).toEqual({ id: 'big', body })
    expect(await find(storage, { index: 'byOwner', prefix: [1], limit: 5000 })).toHaveLength(1000)
  })
}
