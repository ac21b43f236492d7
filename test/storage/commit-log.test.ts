import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Key,
  OutcomeUnknown,
  type Row,
  type Storage,
  StorageClosed,
  StorageUnavailable,
} from '../../src/storage/storage.js'
import { type Commit, type CommitLog, serialStorage } from '../../src/storage/tables/serial.js'
import { Tables } from '../../src/storage/tables/tables.js'
import type { Changes } from '../../src/storage/transaction.js'
import { howMuch } from '../support/how-much.js'
import { type Note, notes } from '../support/storage/storage-model.js'

interface Appended {
  readonly commits: Commit[]
  readonly durable: Promise<void>
  resolve(): void
  reject(cause: Error): void
}

/** A log in memory, which stores what was appended when it is told to. */
class ScriptedLog implements CommitLog {
  fault: StorageUnavailable | undefined
  canRecover = true
  isClosed = false
  /** What `replaced` ends with, if it fails. */
  replacing: Error | undefined
  replacements = 0
  recoveries = 0
  readonly kept: Commit[] = []
  waiting: Appended[] = []

  /** `joins`: commits that wait become durable together. */
  constructor(readonly joins: boolean) {}

  prepare(changes: readonly Changes[]): readonly Changes[] {
    return changes
  }

  append(commit: Commit): Promise<void> {
    if (this.fault) throw this.fault
    const last = this.waiting.at(-1)
    if (last && this.joins) {
      last.commits.push(commit)
      return last.durable
    }
    let ends: Pick<Appended, 'resolve' | 'reject'> | undefined
    const durable = new Promise<void>((resolve, reject) => (ends = { resolve, reject }))
    if (ends) this.waiting.push({ commits: [commit], durable, ...(ends as Pick<Appended, 'resolve' | 'reject'>) })
    return durable
  }

  /** Makes the oldest commits durable. */
  store(): void {
    const next = this.waiting.shift()
    if (!next) return
    this.kept.push(...next.commits)
    next.resolve()
  }

  fail(cause: StorageUnavailable): void {
    this.fault = cause
    for (const each of this.waiting.splice(0)) each.reject(cause)
  }

  async replaced(): Promise<void> {
    this.replacements++
    if (this.replacing) throw this.replacing
  }

  async recover(): Promise<void> {
    this.recoveries++
    if (!this.canRecover && this.fault) throw this.fault
    this.fault = undefined
  }

  async close(): Promise<void> {
    this.isClosed = true
  }
}

/** Lets everything run that waits for nothing outside. */
const settle = async () => {
  for (let turn = 0; turn < 30; turn++) await Promise.resolve()
}

function over(log: ScriptedLog) {
  const storage = serialStorage({ name: 'scripted', tables: new Tables(), log })
  /** Adds one to a row, and answers its number and what the row was. */
  const add = (id: Key) =>
    storage.write(async (tx) => {
      const { rank } = (await tx.get(notes, id)) ?? { rank: 0 }
      tx.put(notes, { id, rank: Number(rank) + 1 })
      return { was: Number(rank), number: await tx.nextId('notes') }
    })
  const read = (id: Key) => storage.read(async (tx) => Number((await tx.get(notes, id))?.rank ?? 0))
  return { storage, add, read }
}

/** What is in a log, read as an opening storage would. */
function replay(kept: readonly Commit[]) {
  const tables = new Tables()
  for (const { changes, counters } of kept) {
    for (const { collection, rows } of changes) for (const [id, row] of rows) tables.restore(collection.name, id, row)
    for (const [name, last] of Object.entries(counters ?? {})) tables.setCounter(name, last)
  }
  return tables.state()
}

const calls = ['add', 'look', 'read', 'throw', 'store', 'fail', 'unknown', 'stay', 'heal'] as const

describe('A storage with a log', () => {
  test('shows and keeps what the log holds, whenever it fails', async () => {
    const steps = fc.array(
      fc.tuple(fc.constantFrom<(typeof calls)[number]>(...calls, 'add', 'add', 'store'), fc.constantFrom<Key>(1, 'a')),
      {
        maxLength: 25,
        size: 'max',
      },
    )
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (steps, joins) => {
        const log = new ScriptedLog(joins)
        const { storage, add, read } = over(log)
        /** What is in the tables. */
        const now = new Map<Key, number>([
          [1, 0],
          ['a', 0],
        ])
        /** The commits that are not durable yet: the row to which each added, if any. */
        const waiting: { id: Key | undefined; group: number }[] = []
        /** Whether numbers were lost with a commit. The next one holds them, even if it changes no row. */
        let carries = false
        const watched: {
          promise: Promise<unknown>
          until: number
          failed?: StorageUnavailable
          expected: unknown
          isRead: boolean
        }[] = []
        const numbers: number[] = []
        let group = 0
        const call = (promise: Promise<unknown>, expected: unknown, isRead: boolean) => {
          promise.catch(() => {})
          watched.push({ promise, until: waiting.length > 0 ? group : -1, expected, isRead })
        }
        const append = (id?: Key) => {
          if (waiting.length === 0 || !joins) group++
          waiting.push({ id, group })
          carries = false
        }
        const isRefused = () => log.fault !== undefined && !log.canRecover
        for (const [step, id] of steps) {
          const rank = now.get(id) ?? 0
          if (step === 'add') {
            const promise = add(id)
            if (isRefused()) await expect(promise).rejects.toBe(log.fault)
            else {
              append(id)
              now.set(id, rank + 1)
              call(
                promise.then(({ was, number }) => {
                  numbers.push(number)
                  return was
                }),
                rank,
                false,
              )
            }
          } else if (step === 'look' || step === 'throw') {
            const promise = storage.write(async (tx) => {
              const found = Number((await tx.get(notes, id))?.rank ?? 0)
              if (step === 'look') return found
              tx.put(notes, { id, rank: 1000 })
              throw new RangeError(`thrown ${found}`)
            })
            if (isRefused()) await expect(promise).rejects.toBe(log.fault)
            else if (step === 'throw') await expect(promise).rejects.toThrow(new RangeError(`thrown ${rank}`))
            else {
              if (carries) append()
              call(promise, rank, true)
            }
          } else if (step === 'read') call(read(id), rank, true)
          else if (step === 'store') {
            const first = waiting[0]?.group
            log.store()
            while (first !== undefined && waiting[0]?.group === first) waiting.shift()
            for (const each of watched) if (each.until === first) each.until = -1
          } else if (step === 'fail' || step === 'unknown') {
            const cause = new (step === 'fail' ? StorageUnavailable : OutcomeUnknown)('the disk', { reason: 'why' })
            log.fail(cause)
            carries ||= waiting.length > 0
            for (const { id } of waiting.splice(0)) if (id !== undefined) now.set(id, (now.get(id) ?? 0) - 1)
            for (const each of watched) if (each.until !== -1 && !each.failed) each.failed = cause
          } else log.canRecover = step === 'heal'
          await settle()
        }
        log.canRecover = true
        while (log.waiting.length > 0) log.store()
        for (const { promise, failed, expected, isRead } of watched) {
          if (!failed) expect(await promise).toBe(expected)
          else if (isRead && failed instanceof OutcomeUnknown) {
            const error = await promise.catch((cause: unknown) => cause)
            expect(error).toBeInstanceOf(StorageUnavailable)
            expect(error).not.toBeInstanceOf(OutcomeUnknown)
            expect(error).toMatchObject({ message: 'the disk', reason: 'why', cause: failed })
          } else await expect(promise).rejects.toBe(failed)
        }
        const last = add('last')
        await settle()
        log.store()
        numbers.push((await last).number)
        expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b))
        const { schema: _, ...state } = await storage.export()
        expect(state).toEqual(replay(log.kept))
        const ranks = [...now].filter(([, rank]) => rank > 0).map(([id, rank]) => ({ id, rank }))
        expect(state.rows.notes).toEqual([...ranks, { id: 'last', rank: 1 }])
      }),
      { numRuns: howMuch(80, 400) },
    )
  })

  test('has a name and the fault of its log, and no fork, because the log may hold parts of rows', async () => {
    const log = new ScriptedLog(false)
    const { storage } = over(log)
    expect([storage.name, storage.exclusive, storage.fault, storage.fork]).toEqual([
      'scripted',
      true,
      undefined,
      undefined,
    ])
    log.fail(new StorageUnavailable('the disk'))
    expect(storage.fault).toBe(log.fault)
    expect(serialStorage({ tables: new Tables() })).toMatchObject({ name: 'memory', fault: undefined })
  })

  test('tells those who watch of each commit before it is durable, but not of one that changed nothing', async () => {
    const log = new ScriptedLog(false)
    const { storage, add } = over(log)
    const heard: unknown[] = []
    storage.watchCommits?.(({ rows }) => heard.push(rows.map(({ id, row }) => [id, row])))
    const added = [add(1), add(1)]
    await settle()
    expect(heard).toEqual([[[1, undefined]], [[1, { id: 1, rank: 1 }]]])
    const numbered = storage.write((tx) => tx.nextId('notes'))
    await settle()
    expect(log.waiting.map(({ commits: [commit] }) => [commit?.changes.length, commit?.counters])).toEqual([
      [1, { notes: 1 }],
      [1, { notes: 2 }],
      [0, { notes: 3 }],
    ])
    while (log.waiting.length > 0) log.store()
    await Promise.all(added)
    expect(await numbered).toBe(3)
    await storage.write(async (tx) => tx.get(notes, 1))
    expect(heard).toHaveLength(2)
  })

  test('keeps rows as the log holds them', async () => {
    const log = new ScriptedLog(false)
    log.prepare = (changes) =>
      changes.map(({ collection, rows }) => ({
        collection,
        rows: new Map([...rows].map(([id, row]) => [id, row && { ...row, body: 'on the disk' }])),
      }))
    const { storage, add } = over(log)
    const added = add(1)
    await settle()
    log.store()
    await added
    expect((await storage.export()).rows.notes).toEqual([{ id: 1, rank: 1, body: 'on the disk' }])
    log.prepare = () => {
      throw new StorageUnavailable('no room for a long field')
    }
    await expect(add(1)).rejects.toThrow('no room')
    expect((await storage.export()).rows.notes).toEqual([{ id: 1, rank: 1, body: 'on the disk' }])
  })

  const state = { counters: { notes: 9 }, rows: { notes: [{ id: 'imported' }] } }

  test.each([
    [undefined, true],
    [new StorageUnavailable('no'), false],
    [new OutcomeUnknown('perhaps'), true],
  ])('has the state that the log holds after an import that ends with %s', async (replacing, isImported) => {
    const log = new ScriptedLog(false)
    const { storage, add } = over(log)
    const heard: unknown[] = []
    const added = add(1)
    await settle()
    log.store()
    await added
    storage.watchCommits?.(({ former }) => heard.push(former?.state().rows.notes))
    log.replacing = replacing
    const importing = storage.import(state)
    if (replacing) await expect(importing).rejects.toBe(replacing)
    else await importing
    const before = { counters: { notes: 1 }, rows: { notes: [{ id: 1, rank: 1 }] } }
    expect(await storage.export()).toEqual({ schema: 1, ...(isImported ? state : before) })
    expect(heard).toEqual(isImported ? [before.rows.notes] : [])
    // What a refused import left is logged whole again.
    const next = add('next')
    await settle()
    expect(log.waiting[0]?.commits[0]?.counters).toEqual({ notes: isImported ? 10 : 2 })
    log.store()
    expect((await next).number).toBe(isImported ? 10 : 2)
  })

  test('imports only when the log has recovered, and when everything before is durable', async () => {
    const log = new ScriptedLog(false)
    const { storage, add } = over(log)
    const fault = new StorageUnavailable('the disk')
    log.fail(fault)
    log.canRecover = false
    await expect(storage.import(state)).rejects.toBe(fault)
    expect([log.replacements, log.recoveries]).toEqual([0, 1])
    log.canRecover = true
    const added = add(1)
    const importing = storage.import(state)
    await settle()
    expect(log.replacements).toBe(0)
    log.store()
    await Promise.all([added, importing])
    expect(log.replacements).toBe(1)
    const lost = add(2)
    lost.catch(() => {})
    const late = storage.import({ counters: {}, rows: {} })
    late.catch(() => {})
    await settle()
    log.fail(new OutcomeUnknown('the disk'))
    await expect(lost).rejects.toThrow(OutcomeUnknown)
    // The import itself has changed nothing.
    expect(await late.catch((error: unknown) => error)).not.toBeInstanceOf(OutcomeUnknown)
    expect(log.replacements).toBe(1)
    expect((await storage.export()).rows).toEqual(state.rows)
  })

  test('closes once, when its commits have ended, and takes nothing after', async () => {
    const log = new ScriptedLog(false)
    const { storage, add } = over(log)
    const added = [add(1), add(2)]
    await settle()
    const closing = storage.close()
    expect(storage.close()).toBe(closing)
    await settle()
    expect(log.isClosed).toBe(false)
    log.store()
    await settle()
    expect(log.isClosed).toBe(false)
    log.fail(new StorageUnavailable('the disk'))
    await closing
    expect(log.isClosed).toBe(true)
    expect((await Promise.allSettled(added)).map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    const refused: ((storage: Storage) => Promise<unknown>)[] = [
      ({ read }) => read(async () => 1),
      ({ write }) => write(async () => 1),
      (closed) => closed.export(),
      (closed) => closed.import(state),
    ]
    for (const call of refused) await expect(call(storage)).rejects.toThrow(StorageClosed)
    expect(log.recoveries).toBe(0)
    const memory = serialStorage({ tables: new Tables() })
    await memory.close()
    await expect(memory.fork?.()).rejects.toThrow(StorageClosed)
  })
})

test('without a log, those who watch hear of commits that put or removed, and of imports', async () => {
  const storage = serialStorage({ tables: new Tables() })
  const heard: unknown[] = []
  storage.watchCommits?.(({ rows, former }) => heard.push(former ? former.size : rows.length))
  await storage.write(async (tx) => [tx.put(notes, { id: 1 } as Note), tx.put(notes, { id: 2 } as Note)])
  await storage.write((tx) => tx.nextId('notes'))
  await storage.write(async () => {})
  await storage.import({ counters: {}, rows: { notes: [{ id: 1 } as Row] } })
  await storage.import({ counters: {}, rows: {} })
  expect(heard).toEqual([2, 2, 1])
})
