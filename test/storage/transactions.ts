import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UniqueViolation } from '../../src/storage/storage.js'
import { howMuch } from '../support/how-much.js'
import { LONG, Model, type Note, notes, runOnBoth, writes } from '../support/storage/storage-model.js'
import { type Created, find, idsOf, type Law, put } from './cases.js'

export function transactionCases(law: Law, create: () => Promise<Created>): void {
  law('returns the result of the body', async ({ storage }) => {
    expect(await storage.read(async () => 'read')).toBe('read')
    expect(await storage.write(async () => ({ wrote: 1 }))).toEqual({ wrote: 1 })
  })

  law('numbers rows in the order in which they land, however long each write takes', async ({ storage }) => {
    const followed: unknown[] = []
    const follow = async () => {
      const after = [Number(followed.at(-1) ?? 0)]
      followed.push(...(await idsOf(storage, { index: 'id', after, limit: 50 })))
    }
    const write = (reads: number) =>
      storage.write(async (tx) => {
        const id = await tx.nextId('notes')
        // What drew an earlier number takes longer.
        for (let each = 0; each < reads; each++) await tx.get(notes, -1)
        tx.put(notes, { id })
        return id
      })
    const written: Promise<number>[] = []
    for (let n = 0; n < 30; n++) {
      written.push(write(30 - n))
      await follow()
    }
    const ids = await Promise.all(written)
    await follow()
    expect(followed).toEqual(ids.toSorted((a, b) => a - b))
  })

  law('shows a write its own puts and removes, in order among committed rows', async ({ storage }) => {
    await put(storage, ...[1, 2, 3, 4].map((id) => ({ id, owner: 'o' })))
    const seen = await storage.write(async (tx) => {
      tx.put(notes, { id: 2.5, owner: 'o' })
      tx.put(notes, { id: 3, owner: 'p' })
      tx.remove(notes, 1)
      const query = { index: 'byOwner', prefix: ['o'], limit: 2 } as const
      return {
        got: [await tx.get(notes, 1), await tx.get(notes, 2.5)],
        found: (await tx.find(notes, query)).map(({ id }) => id),
        reversed: (await tx.find(notes, { ...query, reverse: true })).map(({ id }) => id),
        past: (await tx.find(notes, { ...query, after: ['o', 2.5] })).map(({ id }) => id),
      }
    })
    expect(seen).toEqual({ got: [undefined, { id: 2.5, owner: 'o' }], found: [2, 2.5], reversed: [4, 2.5], past: [4] })
    expect(await idsOf(storage, { index: 'byOwner', prefix: ['o'] })).toEqual([2, 2.5, 4])
  })

  law('answers a write for many ids with its own puts and removes in place', async ({ storage }) => {
    await put(storage, ...[1, 2, 3].map((id) => ({ id, body: 'committed' })))
    const seen = await storage.write(async (tx) => {
      const before = await tx.getMany(notes, [3, 1])
      tx.put(notes, { id: 2, body: 'changed' })
      tx.put(notes, { id: 4, body: 'added' })
      tx.remove(notes, 1)
      tx.remove(notes, 5)
      return { before, after: await tx.getMany(notes, [4, 3, 2, 1, 5, 6, 3, 4]), own: await tx.getMany(notes, [4, 1]) }
    })
    const [third, added] = [
      { id: 3, body: 'committed' },
      { id: 4, body: 'added' },
    ]
    expect(seen).toEqual({
      before: [third, { id: 1, body: 'committed' }],
      after: [added, third, { id: 2, body: 'changed' }, undefined, undefined, undefined, third, added],
      own: [added, undefined],
    })
  })

  law('fills a page with the rows after those that a write removed', async ({ storage }) => {
    await put(storage, ...[1, 2, 3, 4, 5].map((id) => ({ id })))
    const page = await storage.write(async (tx) => {
      for (const id of [1, 2, 3]) tx.remove(notes, id)
      return tx.find(notes, { index: 'id', prefix: [], limit: 2 })
    })
    expect(page.map(({ id }) => id)).toEqual([4, 5])
  })

  law('keeps the last of several changes to one row', async ({ storage }) => {
    await put(storage, { id: 'kept' })
    await storage.write(async (tx) => {
      tx.put(notes, { id: 'fleeting' })
      tx.remove(notes, 'fleeting')
      tx.remove(notes, 'kept')
      tx.put(notes, { id: 'kept', body: 1 })
      tx.put(notes, { id: 'kept', body: 2 })
      tx.remove(notes, 'never was')
    })
    expect(await find(storage, {})).toEqual([{ id: 'kept', body: 2 }])
  })

  law('hides every change of a body that throws, and passes its error on', async ({ storage }) => {
    await put(storage, { id: 1, owner: 'o' })
    const error = new Error('on purpose')
    const failing = storage.write(async (tx) => {
      tx.put(notes, { id: 1, owner: 'p' })
      tx.put(notes, { id: 2, owner: 'o' })
      tx.remove(notes, 1)
      throw error
    })
    await expect(failing).rejects.toBe(error)
    await expect(storage.read(() => Promise.reject(error))).rejects.toBe(error)
    expect(await find(storage, { index: 'byOwner' })).toEqual([{ id: 1, owner: 'o' }])
  })

  law('refuses a row whose id or indexed field cannot be a key, and the whole write with it', async ({ storage }) => {
    for (const row of [{ id: 2, owner: true }, { id: 2, rank: {} }, { id: 2, owner: Number.NaN }, { id: null }, {}])
      await expect(put(storage, { id: 1 }, row as unknown as Note)).rejects.toThrow(TypeError)
    expect(await find(storage, {})).toEqual([])
  })

  test('agrees with a plain model on any sequence of writes', { timeout: LONG }, async () => {
    const sequences = fc.array(writes, { minLength: 1, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(sequences, async (sequence) => {
        const { storage, cleanup } = await create()
        const model = new Model()
        try {
          for (const write of sequence) {
            const { seen, expected } = await runOnBoth(write, storage, model)
            expect(seen).toEqual(expected)
          }
          expect(await find(storage, {})).toEqual(model.rows)
        } finally {
          await cleanup()
        }
      }),
      { numRuns: howMuch(20, 60) },
    )
  })
}

export function uniqueCases(law: Law): void {
  law('refuses a second row under one key, and the whole write with it', async ({ storage }) => {
    await put(storage, { id: 1, slug: 's' })
    await expect(put(storage, { id: 2, slug: 't' }, { id: 3, slug: 's' })).rejects.toThrow(UniqueViolation)
    await expect(put(storage, { id: 4, slug: 'u' }, { id: 5, slug: 'u' })).rejects.toThrow(UniqueViolation)
    expect(await find(storage, {})).toEqual([{ id: 1, slug: 's' }])
    await put(storage, { id: 2, slug: 't' })
    expect(await idsOf(storage, { index: 'bySlug' })).toEqual([1, 2])
  })

  law('accepts any number of rows that are not in the index', async ({ storage }) => {
    await put(storage, { id: 1 }, { id: 2 }, { id: 3, slug: null }, { id: 4, slug: null })
    expect(await idsOf(storage, {})).toEqual([1, 2, 3, 4])
  })

  law('accepts a new version of the row that has the key', async ({ storage }) => {
    await put(storage, { id: 1, slug: 's' })
    await put(storage, { id: 1, slug: 's', body: 'new' })
    expect(await find(storage, { index: 'bySlug', prefix: ['s'] })).toEqual([{ id: 1, slug: 's', body: 'new' }])
  })

  law('lets two rows swap their keys in one write', async ({ storage }) => {
    await put(storage, { id: 1, slug: 'a' }, { id: 2, slug: 'b' })
    await put(storage, { id: 1, slug: 'b' }, { id: 2, slug: 'a' })
    expect(await idsOf(storage, { index: 'bySlug' })).toEqual([2, 1])
    for (const slug of ['a', 'b']) await expect(put(storage, { id: 3, slug })).rejects.toThrow(UniqueViolation)
    expect(await idsOf(storage, { index: 'bySlug', prefix: ['a'] })).toEqual([2])
  })

  law('frees a key when its row is removed, in the same write or later', async ({ storage }) => {
    await put(storage, { id: 1, slug: 'a' }, { id: 2, slug: 'b' })
    await storage.write(async (tx) => {
      tx.put(notes, { id: 3, slug: 'a' })
      tx.remove(notes, 1)
      tx.put(notes, { id: 2 })
    })
    await put(storage, { id: 4, slug: 'b' })
    expect(await find(storage, {})).toEqual([{ id: 2 }, { id: 3, slug: 'a' }, { id: 4, slug: 'b' }])
  })

  law('gives a key to only one of many simultaneous writes', async ({ storage }) => {
    const tries = await Promise.allSettled(
      Array.from({ length: 20 }, (_, id) =>
        storage.write(async (tx) => {
          const [holder] = await tx.find(notes, { index: 'bySlug', prefix: ['s'], limit: 1 })
          if (!holder) tx.put(notes, { id, slug: 's' })
          return !holder
        }),
      ),
    )
    expect(tries.filter((one) => one.status === 'fulfilled' && one.value)).toHaveLength(1)
    expect(await find(storage, {})).toHaveLength(1)
  })
}
