import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { systemRandom } from '../../src/base/ports.js'
import { keyring } from '../../src/base/secrets.js'
import {
  bothObservers,
  ObservedStorage,
  type ServiceStorageOptions,
  type StorageObserver,
  serviceStorage,
  storageOver,
} from '../../src/storage/service-storage.js'
import {
  OutcomeUnknown,
  type Storage,
  StorageClosed,
  StorageUnavailable,
  type Writer,
} from '../../src/storage/storage.js'
import type { CommitRecord } from '../../src/storage/transaction.js'
import { bound } from '../support/storage/bound.js'
import { notes } from '../support/storage/storage-model.js'

const keys = keyring('7'.repeat(64), systemRandom)
const state = { counters: {}, rows: {} }

/** An observer that notes what it hears, under a name. */
function noting(heard: unknown[], name = 'one'): Required<StorageObserver> {
  return {
    before: async () => void heard.push([name, 'before']),
    hasRead: (reads, retries) => heard.push([name, 'read', reads, retries]),
    hasWritten: ({ reads, writes, retries }) => heard.push([name, 'written', reads, writes, retries]),
    hasImported: () => heard.push([name, 'imported']),
    noteFault: (id) => heard.push([name, 'fault', id]),
  }
}

/** A service's storage, and what its observer and its commits say. */
function service(base: Storage, options: Partial<ServiceStorageOptions> = {}) {
  const heard: unknown[] = []
  const onCommit = ({ reads, writes }: CommitRecord) => heard.push(['commit', reads, writes])
  return { storage: serviceStorage(base, { keys: () => keys, onCommit, ...options }), heard, observer: noting(heard) }
}

/** A storage that does all of a write or import, and fails then. */
const failing = (error: Error): Storage =>
  storageOver(memoryStorage(), {
    write: async (body) => {
      await memoryStorage().write(body)
      throw error
    },
    import: () => Promise.reject(error),
  })

/** A storage of others: its transactions are no class of ours, and each body runs twice. */
function foreign(): Storage {
  const memory = memoryStorage()
  return storageOver(memory, {
    read: (body) =>
      memory.read(async (tx) => {
        await body(tx)
        return body(tx)
      }),
    write: (body) =>
      memory.write(async (tx) => {
        await body(bound(tx))
        return body(bound(tx))
      }),
  })
}

describe('A storage over another one', () => {
  const calls = ['read', 'write', 'export', 'import', 'close'] as const

  test('does what the other does, but for its own parts', async () => {
    for (const own of [undefined, ...calls]) {
      const called: string[] = []
      const noted =
        (who: string, name: string) =>
        async (...args: unknown[]) => {
          called.push(`${who} ${name} ${JSON.stringify(args)}`)
          return who as never
        }
      const base = { ...memoryStorage(), ...Object.fromEntries(calls.map((name) => [name, noted('base', name)])) }
      const over = storageOver(base, own ? { [own]: noted('own', own) } : {})
      const options = { keepsNumbers: true }
      const given = { read: [1], write: [2], export: [], import: [state, options], close: [] } as const
      for (const name of calls) {
        const call = over[name] as (...args: readonly unknown[]) => Promise<unknown>
        expect(await call.call(over, ...given[name])).toBe(name === own ? 'own' : 'base')
      }
      expect(called).toEqual(
        calls.map((name) => `${name === own ? 'own' : 'base'} ${name} ${JSON.stringify(given[name])}`),
      )
    }
  })

  test('tells what the other tells, now', async () => {
    const presence = { enter: async () => {}, isAlive: async () => true }
    const fault = new StorageClosed()
    const base = {
      ...memoryStorage(),
      ...{ name: 'theirs', exclusive: false, isShared: true, presence, fault: undefined as StorageClosed | undefined },
      commits: 3,
      countCommits: async function (this: { commits: number }) {
        return this.commits
      },
    }
    const over = storageOver(base, {})
    expect(over).toMatchObject({ name: 'theirs', exclusive: false, isShared: true, fault: undefined })
    expect(over.presence).toBe(presence)
    base.fault = fault
    base.commits = 4
    expect(over.fault).toBe(fault)
    expect(await over.countCommits?.()).toBe(4)
    expect((await over.fork?.())?.name).toBe('memory')
    const other = { ...presence }
    expect(storageOver(base, { presence: other }).presence).toBe(other)
    const { fork: _, ...least } = memoryStorage()
    const plain = storageOver(least, {})
    expect([plain.name, plain.exclusive, plain.isShared]).toEqual(['memory', true, false])
    expect(['presence', 'countCommits', 'fork'].filter((name) => name in plain)).toEqual([])
  })
})

describe('The storage of a service', () => {
  test.each([
    ['memory', () => memoryStorage(), 0],
    ['a storage of others that runs bodies twice', foreign, 1],
  ])('tells what one run of a body did: %s', async (_, create, retries) => {
    const base = create()
    const checked: unknown[] = []
    const { storage, heard, observer } = service(base, {
      check: async (tx) => void checked.push(await tx.get(notes, 'checked')),
    })
    const written = await storage.write(async (tx) => {
      tx.put(notes, { id: 1 })
      await tx.get(notes, 1)
      return 'written'
    }, observer)
    expect(written).toBe('written')
    const begun = Array.from({ length: retries + 1 }, () => ['one', 'before'])
    expect(heard.splice(0)).toEqual([...begun, ['commit', 1, 1], ['one', 'written', 1, 1, retries]])
    expect(checked).toHaveLength(retries + 1)
    const read = storage.read(async (tx) => {
      await tx.getMany(notes, [1])
      return (await tx.find(notes, { index: 'id', prefix: [], limit: 2 })).concat((await tx.get(notes, 1)) ?? [])
    }, observer)
    expect(await read).toEqual([{ id: 1 }, { id: 1 }])
    expect(heard.splice(0)).toEqual([['one', 'read', 3, retries]])
    await storage.import(state, {}, observer)
    expect(heard.splice(0)).toEqual([['one', 'imported']])
    await storage.write(async (tx) => tx.put(notes, { id: 2 }))
    expect(await storage.read((tx) => tx.get(notes, 2))).toEqual({ id: 2 })
    await storage.import(state)
    expect((await base.export()).rows).toEqual({})
  })

  test('tells of a read that fails, and of one that never began', async () => {
    const { storage, heard, observer } = service(memoryStorage())
    const failed = storage.read(async (tx) => Promise.reject((await tx.get(notes, 1)) ?? new Error('thrown')), observer)
    await expect(failed).rejects.toThrow('thrown')
    await storage.close()
    await expect(storage.read(async () => 1, observer)).rejects.toThrow(StorageClosed)
    expect(heard).toEqual([
      ['one', 'read', 1, 0],
      ['one', 'read', 0, 0],
    ])
  })

  test('tells of a write that may have landed, and of no other that failed', async () => {
    const outcomes = [new OutcomeUnknown('perhaps'), new StorageUnavailable('no'), new Error('thrown')]
    for (const error of outcomes) {
      const { storage, heard, observer } = service(failing(error))
      const write = storage.write(async (tx) => tx.put(notes, { id: 1 }), observer)
      await expect(write).rejects.toBe(error)
      await expect(storage.import(state, undefined, observer)).rejects.toBe(error)
      const told =
        error instanceof OutcomeUnknown
          ? [
              ['one', 'written', 0, 1, 0],
              ['one', 'imported'],
            ]
          : []
      expect(heard).toEqual([['one', 'before'], ...told])
      await expect(storage.write(async () => {})).rejects.toBe(error)
      await expect(storage.import(state)).rejects.toBe(error)
    }
    const never = service(storageOver(memoryStorage(), { write: () => Promise.reject(new OutcomeUnknown('perhaps')) }))
    await expect(never.storage.write(async () => {}, never.observer)).rejects.toThrow('perhaps')
    expect(never.heard).toEqual([])
  })

  test('writes nothing that a check or an observer refuses', async () => {
    const refused = () => Promise.reject(new Error('refused'))
    const base = memoryStorage()
    const checked = service(base, { check: refused })
    await expect(checked.storage.write(async (tx) => tx.put(notes, { id: 1 }), checked.observer)).rejects.toThrow()
    expect(checked.heard).toEqual([])
    const { storage, heard } = service(base)
    await expect(storage.write(async (tx) => tx.put(notes, { id: 1 }), { before: refused })).rejects.toThrow('refused')
    expect(heard).toEqual([])
    expect((await base.export()).rows).toEqual({})
  })

  test('is at fault when the storage is, or else when the service says so', () => {
    const [own, theirs] = [new StorageUnavailable('own'), new StorageUnavailable('theirs')]
    const at = (fault: StorageUnavailable | undefined, options: Partial<ServiceStorageOptions>) =>
      service({ ...memoryStorage(), fault }, options).storage.fault
    expect([at(undefined, {}), at(theirs, {})]).toEqual([undefined, theirs])
    expect([at(undefined, { fault: () => own }), at(theirs, { fault: () => own })]).toEqual([own, theirs])
  })

  test('lets what is around writes run each of them, as often as it wants', async () => {
    let isOn = false
    const { storage, heard, observer } = service(memoryStorage(), {
      around: () =>
        isOn
          ? async (write, body, heardBy) => {
              heardBy?.noteFault?.('f')
              await write(body)
              return write(body)
            }
          : undefined,
    })
    const write = () => storage.write(async (tx) => tx.nextId('n'), observer)
    expect(await write()).toBe(1)
    isOn = true
    expect(await write()).toBe(3)
    const once = [
      ['one', 'before'],
      ['commit', 0, 0],
      ['one', 'written', 0, 0, 0],
    ]
    expect(heard).toEqual([...once, ['one', 'fault', 'f'], ...once, ...once])
  })

  test('uses its parts in place of those of the storage', async () => {
    const { storage } = service(memoryStorage(), { parts: { export: async () => ({ ...state, schema: 99 }) } })
    expect((await storage.export()).schema).toBe(99)
  })
})

describe('Two observers', () => {
  const tellAll = async (observer: StorageObserver) => {
    await observer.before?.({} as Writer)
    observer.hasRead?.(1, 2)
    observer.hasWritten?.({ reads: 3, writes: 4, retries: 5 } as CommitRecord)
    observer.hasImported?.()
    observer.noteFault?.('f')
  }
  const told = [['before'], ['read', 1, 2], ['written', 3, 4, 5], ['imported'], ['fault', 'f']]

  test('both hear everything, in their order', async () => {
    const heard: unknown[] = []
    await tellAll(bothObservers(noting(heard, 'one'), noting(heard, 'other')))
    expect(heard).toEqual(told.flatMap((each) => ['one', 'other'].map((name) => [name, ...each])))
  })

  test('need not listen to everything', async () => {
    const heard: unknown[] = []
    await tellAll(bothObservers({}, noting(heard)))
    await tellAll(bothObservers(noting(heard), {}))
    expect(heard).toEqual([...told, ...told].map((each) => ['one', ...each]))
  })

  test('hear of one piece of work, with or without another', async () => {
    const { storage, heard } = service(memoryStorage(), { onCommit: () => {} })
    const observed = new ObservedStorage(storage, noting(heard))
    for (const other of [undefined, noting(heard, 'other')]) {
      await observed.write(async (tx) => tx.put(notes, { id: 1 }), other)
      expect(await observed.read((tx) => tx.get(notes, 1), other)).toEqual({ id: 1 })
      await observed.import(state, undefined, other)
      const all = [['before'], ['written', 0, 1, 0], ['read', 1, 0], ['imported']]
      const names = other ? ['one', 'other'] : ['one']
      expect(heard.splice(0)).toEqual(all.flatMap((each) => names.map((name) => [name, ...each])))
    }
  })
})
