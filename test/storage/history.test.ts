import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { CommitHistory, StateForgotten } from '../../src/storage/history/history.js'
import { watchedStorage } from '../../src/storage/history/watched-storage.js'
import { storageOver } from '../../src/storage/service-storage.js'
import type { Key, Storage } from '../../src/storage/storage.js'
import { storageContract } from '../storage.contract.js'
import { Model, notes, type Question, questions, runOnBoth, writes } from '../support/storage/storage-model.js'
import { expectNewNumbers, put } from './cases.js'

/** A storage that does not know what its commits replace, as one behind a network would not. */
const unknowing = (options = {}) => storageOver(memoryStorage(options), {})

function remember(base: Storage, options?: { bytes: number }) {
  const storage = watchedStorage(base)
  const history = new CommitHistory(storage, options)
  /** Everything that a reader sees of the notes. */
  const seenAt = (commit: number, asked: readonly Question[] = []) =>
    history.readAt(commit, async (tx) => [
      await tx.find(notes, { index: 'id', prefix: [], limit: 100 }),
      ...(await Promise.all(asked.map((query) => tx.find(notes, query)))),
    ])
  return { storage, history, seenAt }
}

storageContract('a storage that reads what it replaces', async () => {
  const { storage } = remember(unknowing({ rerun: true }))
  return { storage, cleanup: () => storage.close() }
})

describe.each([
  { name: 'memory', create: () => memoryStorage() },
  { name: 'a storage that reads what it replaces', create: () => unknowing() },
])('The history of $name', ({ create }) => {
  test('reads the state as it was after every commit, and brings each back', async () => {
    const steps = fc.array(
      fc.oneof(
        { weight: 8, arbitrary: writes },
        { weight: 1, arbitrary: fc.constant('import' as const) },
        { weight: 1, arbitrary: fc.nat(20).map((to) => ({ to })) },
      ),
      { maxLength: 12 },
    )
    await fc.assert(
      fc.asyncProperty(steps, fc.array(questions, { maxLength: 3 }), async (made, asked) => {
        const { storage, history, seenAt } = remember(create())
        let model = new Model()
        const states = new Map([[0, model.clone()]])
        for (const step of made) {
          if (step === 'import') {
            model = new Model()
            model.put({ id: 'imported' })
            await storage.import({ counters: {}, rows: { notes: model.rows } })
          } else if ('to' in step) {
            const past = [...states][step.to % states.size]
            await history.rewindTo(past?.[0] ?? 0)
            model = past?.[1].clone() ?? new Model()
          } else await runOnBoth(step, storage, model)
          states.set(history.last, model.clone())
        }
        for (const [commit, then] of states)
          expect(await seenAt(commit, asked)).toEqual([then.rows, ...asked.map((query) => then.find(query))])
      }),
    )
  })

  test('holds nothing of a write that failed', async () => {
    const { storage, history, seenAt } = remember(create())
    await put(storage, { id: 1, body: 'kept' })
    const before = history.last
    const failed = storage.write(async (tx) => {
      tx.put(notes, { id: 1, body: 'lost' })
      throw new Error('thrown')
    })
    await expect(failed).rejects.toThrow('thrown')
    expect(history.last).toBe(before)
    await put(storage, { id: 2, slug: 'taken' })
    await expect(put(storage, { id: 3, slug: 'taken' })).rejects.toThrow('already holds')
    expect(await seenAt(before)).toEqual([[{ id: 1, body: 'kept' }]])
  })

  test('drops its oldest commits when it is full, and says so', async () => {
    const { storage, history, seenAt } = remember(create(), { bytes: 10_000 })
    const commits: number[] = []
    for (let n = 0; n < 100; n++) {
      await put(storage, { id: 1, body: 'x'.repeat(500) + n })
      commits.push(history.last)
    }
    const readable: number[] = []
    for (const commit of commits)
      await seenAt(commit).then(
        () => readable.push(commit),
        (error) => expect(error).toBeInstanceOf(StateForgotten),
      )
    expect(readable.length).toBeGreaterThan(10)
    expect(readable.length).toBeLessThan(20)
    expect(readable).toEqual(commits.slice(-readable.length))
    await expect(history.rewindTo(0)).rejects.toBeInstanceOf(StateForgotten)
    await expect(history.rewindTo(history.last + 1)).rejects.toBeInstanceOf(StateForgotten)
    await history.rewindTo(readable[0] ?? 0)
    expect(await seenAt(history.last)).toMatchObject([[{ body: expect.stringMatching(/8\d$/) }]])
  })

  test('forgets states that nobody will ask for, and no other', async () => {
    const { storage, history, seenAt } = remember(create())
    const commits: number[] = []
    for (let n = 0; n < 1100; n++) {
      await put(storage, { id: 1, body: String(n) })
      commits.push(history.last)
      // As a journal does that keeps a hundred entries.
      history.forgetBefore(commits.at(-100) ?? 0)
    }
    const [oldest = 0] = commits
    await expect(seenAt(oldest)).rejects.toBeInstanceOf(StateForgotten)
    for (const n of [1000, 1050, 1099]) expect(await seenAt(commits[n] ?? 0)).toEqual([[{ id: 1, body: String(n) }]])
    history.forgetBefore(commits[1050] ?? 0)
    await history.rewindTo(commits[1050] ?? 0)
    expect(await seenAt(history.last)).toEqual([[{ id: 1, body: '1050' }]])
  })

  test('keeps numbers used where an import is told to', () => expectNewNumbers(remember(create()).storage))

  test('never gives a number twice, also after a state before an import came back', async () => {
    const { storage, history } = remember(create())
    const next = () => storage.write((tx) => tx.nextId('notes'))
    await put(storage, { id: await next() })
    const before = history.last
    const first = await storage.export()
    await next()
    await storage.import(first)
    await next()
    const last = await next()
    await history.rewindTo(before)
    expect(await storage.export()).toMatchObject({ rows: { notes: [{ id: 1 }] } })
    expect(await next()).toBe(last + 1)
  })
})

describe('A storage that reads what it replaces', () => {
  test('reads each row at most once that a write replaces', async () => {
    const memory = memoryStorage()
    const read: Key[] = []
    const { storage, seenAt } = remember(
      storageOver(memory, {
        write: (body) =>
          memory.write((tx) =>
            body({
              ...{
                put: tx.put.bind(tx),
                remove: tx.remove.bind(tx),
                find: tx.find.bind(tx),
              },
              ...{ nextId: tx.nextId.bind(tx), nextIds: tx.nextIds.bind(tx) },
              get(from, id) {
                read.push(id)
                return tx.get(from, id)
              },
              getMany(from, ids) {
                read.push(...ids)
                return tx.getMany(from, ids)
              },
            }),
          ),
      }),
    )
    await storage.write(async (tx) => {
      await tx.get(notes, 'read')
      tx.put(notes, { id: 'read' })
      tx.put(notes, { id: await tx.nextId('notes') })
      const [number = 0] = await tx.nextIds(['notes'])
      tx.put(notes, { id: number })
      expect(read).toEqual(['read'])
      tx.put(notes, { id: 'unread' })
      tx.put(notes, { id: 'unread', body: 'again' })
      expect(await tx.get(notes, 'unread')).toEqual({ id: 'unread', body: 'again' })
    })
    expect(read).toEqual(['read', 'unread'])
    expect(await seenAt(0)).toEqual([[]])
  })

  test('lets writes that began before an import land before it', async () => {
    const { storage, seenAt } = remember(unknowing())
    const early = put(storage, { id: 'early' })
    const imported = storage.import({ counters: {}, rows: {} })
    const late = put(storage, { id: 'late' })
    await Promise.all([early, imported, late])
    expect(await seenAt(1)).toEqual([[{ id: 'early' }]])
    expect(await seenAt(2)).toEqual([[]])
    expect(await seenAt(3)).toEqual([[{ id: 'late' }]])
  })
})
