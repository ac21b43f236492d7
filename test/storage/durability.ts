import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UniqueViolation } from '../../src/storage/storage.js'
import { howMuch } from '../support/how-much.js'
import { LONG, Model, notes, runOnBoth, writes } from '../support/storage/storage-model.js'
import { type Durable, fill, find, idsOf, type Law, put } from './cases.js'

export function durableCases(law: Law<Durable>, create: () => Promise<Durable>): void {
  law('with every row, counter and removal, byte for byte', async ({ storage, reopen }) => {
    await fill(storage)
    await storage.write(async (tx) => tx.remove(notes, 'a'))
    const before = JSON.stringify(await storage.export())
    let again = await reopen()
    expect(JSON.stringify(await again.export())).toBe(before)
    again = await reopen()
    expect(JSON.stringify(await again.export())).toBe(before)
  })

  law('with its indexes, unique ones included', async ({ storage, reopen }) => {
    await put(storage, { id: 1, owner: 'o', rank: 2, slug: 's' }, { id: 2, owner: 'o', rank: 1 })
    const again = await reopen()
    expect(await idsOf(again, { index: 'byOwnerAndRank', prefix: ['o'] })).toEqual([2, 1])
    await expect(put(again, { id: 3, slug: 's' })).rejects.toThrow(UniqueViolation)
    await put(again, { id: 1, slug: 't' }, { id: 3, slug: 's' })
    expect(await idsOf(again, { index: 'bySlug' })).toEqual([3, 1])
  })

  law('and gives no number twice, even after a failed write', async ({ storage, reopen }) => {
    const given = [await storage.write((tx) => tx.nextId('n'))]
    let last = 0
    const failing = storage.write(async (tx) => {
      last = await tx.nextId('n')
      throw new Error('on purpose')
    })
    await failing.catch(() => given.push(last))
    let again = await reopen()
    given.push(await again.write((tx) => tx.nextId('n')))
    again = await reopen()
    given.push(await again.write((tx) => tx.nextId('n')))
    expect(given).toEqual([...new Set(given)].sort((a, b) => a - b))
  })

  law('without rows that were rolled back or refused', async ({ storage, reopen }) => {
    await put(storage, { id: 1, slug: 's' })
    const refused = [
      put(storage, { id: 2 }, { id: 3, slug: 's' }),
      storage.write(async (tx) => {
        tx.put(notes, { id: 4 })
        throw new Error('on purpose')
      }),
    ]
    await Promise.allSettled(refused)
    await put(storage, { id: 5 })
    expect(await idsOf(await reopen(), {})).toEqual([1, 5])
  })

  law('with an imported state and later writes', async ({ storage, reopen }) => {
    await fill(storage)
    await storage.import({ counters: { z: 7 }, rows: { notes: [{ id: 'imported' }] } })
    await put(storage, { id: 'later' })
    const again = await reopen()
    expect(await again.export()).toEqual({
      schema: expect.any(Number),
      counters: { z: 7 },
      rows: { notes: [{ id: 'imported' }, { id: 'later' }] },
    })
  })

  law('with all writes that were running when it closed', async ({ storage, reopen }) => {
    const running = Promise.allSettled(Array.from({ length: 100 }, (_, id) => put(storage, { id })))
    const again = await reopen()
    expect((await running).every(({ status }) => status === 'fulfilled')).toBe(true)
    expect(await find(again, { limit: 1000 })).toHaveLength(100)
  })

  test('and agrees with a plain model on any sequence of writes and closings', { timeout: LONG }, async () => {
    const sequences = fc.array(fc.tuple(writes, fc.boolean()), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(sequences, async (sequence) => {
        const made = await create()
        const model = new Model()
        let { storage } = made
        try {
          for (const [write, reopens] of sequence) {
            const { seen, expected } = await runOnBoth(write, storage, model)
            expect(seen).toEqual(expected)
            if (reopens) storage = await made.reopen()
            expect(await find(storage, {})).toEqual(model.rows)
          }
        } finally {
          await made.cleanup()
        }
      }),
      { numRuns: howMuch(10, 25) },
    )
  })
}
