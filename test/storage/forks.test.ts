import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { required } from '../../src/base/required.js'
import type { Key, Storage } from '../../src/storage/storage.js'
import { NO_HISTORY } from '../../src/storage/tables/migration.js'
import { forkStorage } from '../../src/storage/tables/serial.js'
import { storageContract } from '../storage.contract.js'
import { howMuch } from '../support/how-much.js'
import { Model, type Note, notes, questions, runOnBoth, writes } from '../support/storage/storage-model.js'
import { find, idsOf, put } from './cases.js'

storageContract('a fork', async () => {
  const parent = memoryStorage()
  await put(parent, { id: 'forked', owner: 'o', slug: 's' })
  const storage = await forkStorage(parent, NO_HISTORY)
  await storage.write(async (tx) => tx.remove(notes, 'forked'))
  return { storage, cleanup: () => storage.close() }
})

const forkOf = (storage: Storage) => forkStorage(storage, NO_HISTORY)

describe('Forks of a storage', () => {
  test('never see what another one writes', async () => {
    const step = fc.record({
      at: fc.nat(20),
      made: fc.oneof({ weight: 3, arbitrary: writes }, fc.constant('fork' as const)),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 20, size: 'max' }),
        fc.array(questions, { maxLength: 3 }),
        async (steps, asked) => {
          const family = [{ storage: memoryStorage(), model: new Model() }]
          for (const { at, made } of steps) {
            const { storage, model } = required(family[at % family.length], 'a member')
            if (made === 'fork') family.push({ storage: await forkOf(storage), model: model.clone() })
            else {
              const { seen, expected } = await runOnBoth(made, storage, model)
              expect(seen).toEqual(expected)
            }
          }
          for (const { storage, model } of family) {
            expect(await find(storage, { limit: 100 })).toEqual(model.rows)
            for (const query of asked) expect(await find(storage, query)).toEqual(model.find(query))
          }
        },
      ),
      { numRuns: howMuch(40, 100) },
    )
  })

  // So many that the rows are in several chunks, the trees have several levels, and leading chunks are dropped.
  test('share many rows, and copy what they write', async () => {
    const change = fc.record({
      at: fc.nat(9),
      from: fc.nat(3000),
      count: fc.constantFrom(1, 40, 1500),
      done: fc.constantFrom('put', 'name', 'remove', 'fork'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 12 }), async (changes) => {
        const first = memoryStorage()
        const family = [{ storage: first, rows: new Map<Key, Note>() }]
        const noteOf = (id: Key, n: number): Note => ({ id, owner: n % 3, slug: `${id}` })
        const grow = Array.from({ length: 2000 }, (_, n) => noteOf(n + 1, n))
        await put(first, ...grow)
        for (const row of grow) family[0]?.rows.set(row.id, row)
        for (const [n, { at, from, count, done }] of changes.entries()) {
          const { storage, rows } = required(family[at % family.length], 'a member')
          const ids = Array.from({ length: count }, (_, i) => (done === 'name' ? `n${from + i}` : from + i))
          if (done === 'fork') family.push({ storage: await forkOf(storage), rows: new Map(rows) })
          else if (done === 'remove') {
            await storage.write(async (tx) => ids.forEach((id) => tx.remove(notes, id)))
            for (const id of ids) rows.delete(id)
          } else {
            const made = ids.map((id) => noteOf(id, n))
            await put(storage, ...made)
            for (const row of made) rows.set(row.id, row)
          }
        }
        for (const { storage, rows } of family) {
          const inOrder = [...rows.values()].sort(byId)
          expect(await find(storage, { limit: 10_000 })).toEqual(inOrder)
          expect((await storage.export()).rows.notes ?? []).toEqual(inOrder)
          const owned = inOrder.filter(({ owner }) => owner === 1).map(({ id }) => id)
          expect(await idsOf(storage, { index: 'byOwner', prefix: [1], limit: 10_000 })).toEqual(owned)
          for (const { id, slug } of inOrder.slice(0, 5))
            expect(await idsOf(storage, { index: 'bySlug', prefix: [slug ?? ''] })).toEqual([id])
        }
      }),
      { numRuns: howMuch(8, 20) },
    )
  })

  test('keep their own counters, and unique keys', async () => {
    const parent = memoryStorage()
    const next = (storage: Storage) => storage.write((tx) => tx.nextId('notes'))
    await put(parent, { id: 1, slug: 'taken' })
    await next(parent)
    const fork = await forkOf(parent)
    expect([await next(fork), await next(fork), await next(parent)]).toEqual([2, 3, 2])
    await fork.write(async (tx) => tx.remove(notes, 1))
    await put(fork, { id: 2, slug: 'taken' })
    await expect(put(parent, { id: 2, slug: 'taken' })).rejects.toThrow('already holds')
  })

  test('outlive each other, and an import leaves the others alone', async () => {
    const parent = memoryStorage()
    await put(parent, { id: 1 })
    const fork = await forkOf(parent)
    const second = await forkOf(fork)
    await parent.import({ counters: {}, rows: { notes: [{ id: 'imported' }] } })
    await fork.close()
    expect(await idsOf(second, {})).toEqual([1])
    await put(second, { id: 2 })
    expect(await idsOf(parent, {})).toEqual(['imported'])
    expect(await idsOf(second, {})).toEqual([1, 2])
  })

  test('copy a state that they cannot share', async () => {
    const { fork: _, ...closed } = memoryStorage()
    await put(closed, { id: 1 })
    const fork = await forkOf(closed)
    await put(closed, { id: 2 })
    expect(await idsOf(fork, {})).toEqual([1])
  })
})

const byId = (a: Note, b: Note): number => {
  if (typeof a.id === typeof b.id) return a.id < b.id ? -1 : 1
  return typeof a.id === 'number' ? -1 : 1
}
