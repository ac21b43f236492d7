import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { CommitHistory, type HistoryOptions, StateForgotten } from '../../src/storage/history/history.js'
import { watchedStorage } from '../../src/storage/history/watched-storage.js'
import { storageOver } from '../../src/storage/service-storage.js'
import {
  type Key,
  OutcomeUnknown,
  type Reader,
  type Replaced,
  type Row,
  type Storage,
  type Writer,
} from '../../src/storage/storage.js'
import { changeRows, olderRows } from '../../src/storage/tables/migration.js'
import { serialStorage } from '../../src/storage/tables/serial.js'
import { Tables } from '../../src/storage/tables/tables.js'
import { howMuch } from '../support/how-much.js'
import { Model, notes, runOnBoth, type Write, writes } from '../support/storage/storage-model.js'
import { put } from './cases.js'

/** A storage that others use too, and that counts the commits of all. It does not know what they replace. */
function shared() {
  const memory = memoryStorage()
  let count = 0
  memory.watchCommits?.(() => count++)
  const base = Object.assign(storageOver(memory, {}), { countCommits: async () => count })
  return { others: memory, base }
}

function remember(base: Storage, options?: HistoryOptions) {
  const storage = watchedStorage(base)
  const history = new CommitHistory(storage, options)
  const seenAt = (commit: number) =>
    history.readAt(commit, (tx) => tx.find(notes, { index: 'id', prefix: [], limit: 1000 }))
  /** The numbers of the commits whose states can be read. Those are the last ones. */
  const readable = async () => {
    const found: number[] = []
    for (let commit = 0; commit <= history.last; commit++)
      await seenAt(commit).then(
        () => found.push(commit),
        (error) => expect(error).toBeInstanceOf(StateForgotten),
      )
    expect(found.at(-1)).toBe(history.last)
    return found
  }
  return { storage, history, seenAt, readable }
}

type Step = { by: 'us' | 'others'; write: Write } | { by: 'import'; of: 'us' | 'others' } | { to: number }

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ by: fc.constant('us' as const), write: writes }) },
    { weight: 2, arbitrary: fc.record({ by: fc.constant('others' as const), write: writes }) },
    { weight: 1, arbitrary: fc.record({ by: fc.constant('import' as const), of: fc.constantFrom('us', 'others') }) },
    { weight: 2, arbitrary: fc.nat(20).map((to) => ({ to })) },
  ),
  { maxLength: 10 },
)

describe('The history of a storage that others use too', () => {
  test('shows each state as it was, or says that it is forgotten', async () => {
    const imported = { counters: {}, rows: { notes: [{ id: 'imported' }] } }
    await fc.assert(
      fc.asyncProperty(steps, async (made) => {
        const { others, base } = shared()
        const { storage, history, seenAt } = remember(base)
        let model = new Model()
        const states = new Map<number, Model>()
        /** The commits before something that this process cannot know. */
        const lost = new Set<number>()
        const lose = () => [...states.keys()].forEach((commit) => lost.add(commit))
        expect(await seenAt(0)).toEqual([])
        states.set(0, model.clone())
        for (const step of made) {
          const before = JSON.stringify(model.rows)
          if ('to' in step) {
            const [commit = 0, past = model] = [...states][step.to % states.size] ?? []
            const isLost = await history.rewindTo(commit).then(
              () => false,
              (error) => error instanceof StateForgotten,
            )
            if (isLost) expect(lost).toContain(commit)
            else model = past.clone()
          } else if (step.by === 'import') {
            await (step.of === 'us' ? storage : others).import(imported)
            model = new Model()
            model.put({ id: 'imported' })
            if (step.of === 'others') lose()
          } else {
            const { seen, expected } = await runOnBoth(step.write, step.by === 'us' ? storage : others, model)
            expect(seen).toEqual(expected)
            const isWriter = step.write.steps.some((each) => each.do === 'put' || each.do === 'remove')
            const outcome = (expected as { outcome: unknown }).outcome
            // A write that was told and failed is taken for one of others.
            if (step.by === 'others' ? isWriter && Array.isArray(outcome) : outcome === 'violation') {
              if (step.by === 'us') states.set(history.last, model.clone())
              lose()
            }
          }
          const isOurs = 'to' in step || (step.by === 'import' ? step.of : step.by) === 'us'
          if (isOurs && !lost.has(history.last)) states.set(history.last, model.clone())
          if (!isOurs) expect(JSON.stringify(model.rows) === before || lost.has(history.last)).toBe(true)
        }
        for (const [commit, { rows }] of states)
          if (lost.has(commit)) await expect(seenAt(commit)).rejects.toBeInstanceOf(StateForgotten)
          else expect(await seenAt(commit)).toEqual(rows)
      }),
      { numRuns: howMuch(50, 300) },
    )
  })

  test('names the first commit that it has', async () => {
    const { others, base } = shared()
    const { storage, history, seenAt } = remember(base)
    await put(storage, { id: 1 })
    await put(others, { id: 2 })
    await put(storage, { id: 3 })
    expect(history.last).toBe(3)
    await expect(seenAt(1)).rejects.toMatchObject({ first: 2, message: 'The history begins with commit 2.' })
    expect(await seenAt(2)).toEqual([{ id: 1 }, { id: 2 }])
    await expect(seenAt(4)).rejects.toMatchObject({ first: 2 })
    await expect(seenAt(-1)).rejects.toMatchObject({ first: 2 })
  })
})

describe('The history', () => {
  test('brings a copy back to a commit, but not beyond an import', async () => {
    const { storage, history } = remember(memoryStorage())
    await put(storage, { id: 1, body: 'first' }, { id: 2 })
    await put(storage, { id: 1, body: 'second' }, { id: 3 })
    await storage.write(async (tx) => tx.remove(notes, 2))
    const copyAt = async (commit: number) => {
      const copy = await (storage.fork as () => Promise<Storage>)()
      await copy.write(async (tx) => history.rewindCopy(commit, tx))
      return (await copy.export()).rows.notes ?? []
    }
    expect(await copyAt(3)).toEqual([{ id: 1, body: 'second' }, { id: 3 }])
    expect(await copyAt(2)).toEqual([{ id: 1, body: 'second' }, { id: 2 }, { id: 3 }])
    expect(await copyAt(1)).toEqual([{ id: 1, body: 'first' }, { id: 2 }])
    expect(await copyAt(0)).toEqual([])
    expect(history.last).toBe(3)
    await storage.import({ counters: {}, rows: { notes: [{ id: 1 }] } })
    await put(storage, { id: 5 })
    await expect(copyAt(3)).rejects.toMatchObject({ name: 'StateForgotten', first: 5 })
    expect(await copyAt(4)).toEqual([{ id: 1 }])
  })

  test('keeps the schema and the counters when it brings back what was before an import', async () => {
    // Each migration shows.
    const migrate = (tx: Writer) => changeRows(tx, olderRows('notes'), (row) => ({ ...row, wasOlder: true }))
    const schemas = { current: 2, migrations: [{ to: 2, what: 'Marks each row.', migrate }] }
    const { storage, history } = remember(serialStorage({ tables: new Tables(), history: schemas }))
    await put(storage, { id: 1 })
    await storage.import({ counters: { n: 7 }, rows: { notes: [{ id: 2 }] } })
    expect((await storage.export()).rows.notes).toEqual([{ id: 2, wasOlder: true }])
    await history.rewindTo(1)
    expect(await storage.export()).toEqual({ schema: 2, counters: { n: 7 }, rows: { notes: [{ id: 1 }] } })
  })

  test('takes what lands while it rewinds for later than the commit, an import too', async () => {
    for (const late of [
      (storage: Storage) => put(storage, { id: 'late' }),
      (storage: Storage) => storage.import({ counters: {}, rows: { notes: [{ id: 'late' }] } }),
    ]) {
      const { storage, history, seenAt } = remember(storageOver(memoryStorage(), {}))
      await put(storage, { id: 1 })
      await put(storage, { id: 2 })
      await Promise.all([late(storage), history.rewindTo(1)])
      expect(await seenAt(history.last)).toEqual([{ id: 1 }])
      expect(history.last).toBe(4)
    }
  })

  test('shows the past through the given reader, and lets nothing be numbered there', async () => {
    const opened = (tx: Reader): Reader => ({
      get: (from, id) => tx.get(from, id),
      getMany: (from, ids) => tx.getMany(from, ids),
      find: async (from, query) => (await tx.find(from, query)).map((row) => ({ ...row, opened: true })),
    })
    const { storage, seenAt } = remember(memoryStorage(), { opened })
    await put(storage, { id: 1 })
    await put(storage, { id: 2, body: 'old' })
    await put(storage, { id: 2, body: 'new' })
    expect(await seenAt(1)).toEqual([{ id: 1, opened: true }])
    const plain = remember(memoryStorage())
    await put(plain.storage, { id: 1 }, { id: 2, body: 'old' })
    await put(plain.storage, { id: 2, body: 'new' })
    await plain.history.readAt(1, async (tx) => {
      const past = tx as Writer // What it hands out could write, too.
      expect(await tx.get(notes, 2)).toEqual({ id: 2, body: 'old' })
      expect(await tx.getMany(notes, [2, 3, 1])).toEqual([{ id: 2, body: 'old' }, undefined, { id: 1 }])
      await expect(past.nextId('notes')).rejects.toThrow('the past takes no writes')
      await expect(past.nextIds(['notes'])).rejects.toThrow('the past takes no writes')
    })
  })

  const KB = 1000
  const sizes: [what: string, bytes: number, write: (storage: Storage, n: number) => Promise<void>][] = [
    ['a long text', 10 * KB, (storage, n) => put(storage, { id: 1, body: `${n}`.padStart(10 * KB) })],
    ['a list, as its JSON twice', 20 * KB, (storage, n) => put(storage, { id: 1, body: [`${n}`.padStart(10 * KB)] })],
    [
      'many rows without a text',
      // 64 each, and 24 a field.
      20 * (64 + 3 * 24),
      (storage, n) => put(storage, ...Array.from({ length: 20 }, (_, id) => ({ id, rank: 1e15 + n, owner: null }))),
    ],
    [
      'rows that were not there',
      20 * 64,
      (storage, n) => put(storage, ...Array.from({ length: 20 }, (_, at) => ({ id: n * 20 + at }))),
    ],
    [
      'a whole state',
      50 * 400,
      (storage) =>
        storage.import({ counters: {}, rows: { notes: Array.from({ length: 50 }, (_, id): Row => ({ id })) } }),
    ],
  ]

  test.each(sizes)('keeps as many commits as it has room for: %s', async (_, bytes, write) => {
    const room = 12
    const { storage, readable } = remember(memoryStorage(), { bytes: room * bytes })
    await write(storage, 0)
    for (let n = 1; n < room + 8; n++) {
      await write(storage, n)
      const kept = n % 3 === 1 ? (await readable()).length : undefined
      // One state more than commits. When it is full, a tenth is dropped at once.
      if (kept !== undefined && n < room - 1) expect(kept).toBe(n + 2)
      if (kept === undefined || n < room + 2) continue
      expect(kept).toBeGreaterThanOrEqual(Math.floor(room * 0.9) - 1)
      expect(kept).toBeLessThanOrEqual(room + 1)
    }
  })

  test('forgets at least 512 commits at once', async () => {
    const { storage, history, readable } = remember(memoryStorage())
    for (let n = 0; n < 513; n++) await put(storage, { id: 1, rank: n })
    history.forgetBefore(512)
    expect((await readable())[0]).toBe(0)
    history.forgetBefore(513)
    expect(await readable()).toEqual([513])
    history.forgetBefore(600)
    expect(await readable()).toEqual([513])
  })
})

describe('A storage that tells what its commits replace', () => {
  const unknowing = (parts = {}) => storageOver(memoryStorage(), parts)
  const state = { counters: {}, rows: { notes: [{ id: 'imported' }] } }
  /** The ids that each commit replaced, and those of the state before an import. */
  function told(base: Storage) {
    const storage = watchedStorage(base)
    const heard: (readonly [Key[], Key[] | undefined, true | undefined])[] = []
    const hear = ({ rows, former, isUnknown }: Replaced) =>
      heard.push([rows.map(({ id }) => id), former?.state().rows.notes?.map(({ id }) => id), isUnknown])
    storage.watchCommits(hear)
    return { storage, heard }
  }

  test('is a storage itself if it knows', () => {
    const memory = memoryStorage()
    expect(watchedStorage(memory)).toBe(memory)
    expect(watchedStorage(unknowing()).noticeOthers).toBeUndefined()
    expect(watchedStorage(shared().base).noticeOthers).toBeTypeOf('function')
  })

  test('tells everybody of writes that put or removed, and of imports', async () => {
    const { storage, heard } = told(unknowing())
    const again: unknown[] = []
    storage.watchCommits(({ rows }) => again.push(rows.length))
    await put(storage, { id: 1 }, { id: 2 })
    await storage.write(async (tx) => tx.get(notes, 1))
    await storage.write(async (tx) => tx.remove(notes, 1))
    await storage.import(state)
    expect(heard).toEqual([
      [[1, 2], undefined, undefined],
      [[1], undefined, undefined],
      [[], [2], undefined],
    ])
    expect(again).toEqual([2, 1, 0])
  })

  test('tells that it does not know what others have replaced, once, before its next commit', async () => {
    const { others, base } = shared()
    const { storage, heard } = told(base)
    await put(storage, { id: 1 })
    await put(others, { id: 2 })
    await put(storage, { id: 3 })
    await put(storage, { id: 4 })
    const own = [1, 3, 4].map((id) => [[id], undefined, undefined])
    expect(heard).toEqual([own[0], [[], undefined, true], ...own.slice(1)])
  })

  test('tells of an import whose outcome is unknown, and of no other that failed', async () => {
    for (const error of [new OutcomeUnknown('perhaps'), new Error('no')]) {
      const { storage, heard } = told(unknowing({ import: () => Promise.reject(error) }))
      await put(storage, { id: 1 })
      await expect(storage.import(state)).rejects.toBe(error)
      await put(storage, { id: 2 })
      const unknown = [[], [1], undefined]
      const is = error instanceof OutcomeUnknown ? [unknown] : []
      expect(heard).toEqual([[[1], undefined, undefined], ...is, [[2], undefined, undefined]])
    }
  })

  test('hands on how an import shall be done', async () => {
    const { storage } = told(unknowing())
    await storage.write((tx) => tx.nextId('n'))
    await storage.import(state, { keepsNumbers: true })
    expect(await storage.write((tx) => tx.nextId('n'))).toBe(2)
  })

  test('replaces states one after the other, each while no write runs', async () => {
    const order: string[] = []
    const memory = memoryStorage()
    const slow = async <T>(name: string, job: () => Promise<T>) => {
      order.push(`${name} begins`)
      for (let turn = 0; turn < 5; turn++) await Promise.resolve()
      return job().finally(() => order.push(`${name} ends`))
    }
    const { storage } = told(
      storageOver(memory, {
        write: (body) => slow('write', () => memory.write(body)),
        import: (given, options) => slow('import', () => memory.import(given, options)),
      }),
    )
    const refused = { check: () => Promise.reject(new Error('refused')) }
    const writes = [put(storage, { id: 1 }), put(storage, { id: 2 })]
    const imports = [storage.import(state, refused), storage.import(state), storage.import(state)]
    const late = [put(storage, { id: 3 }), put(storage, { id: 4 })]
    const failed = storage.write(() => Promise.reject(new Error('thrown')))
    const all = await Promise.allSettled([...writes, ...imports, ...late, failed])
    expect(all.filter(({ status }) => status === 'rejected')).toHaveLength(2)
    let running: string[] = []
    for (const each of order) {
      const [name = '', what] = each.split(' ')
      if (what === 'ends') running = running.toSpliced(running.indexOf(name), 1)
      else {
        expect(name === 'import' ? running : running.filter((other) => other === 'import')).toEqual([])
        running.push(name)
      }
    }
    expect(order.slice(0, 4)).toEqual(['write begins', 'write begins', 'write ends', 'write ends'])
    expect((await storage.export()).rows.notes?.map(({ id }) => id)).toEqual([3, 4, 'imported'])
  })
})
