import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { WatchedParts, Watches } from '../../src/jobs/watches/watches.js'
import { collection, type Reader, type Writer } from '../../src/storage/storage.js'
import { type CommitRecord, Transaction } from '../../src/storage/transaction.js'

interface Thing {
  readonly id: number
  readonly group: string
}

const things = collection<Thing>()('things', { byGroup: { fields: ['group'] } })

const none = { index: 'id', prefix: [], limit: 9 } as const
const reads: Record<string, (tx: Reader) => Promise<unknown>> = {
  'a row': (tx) => tx.get(things, 1),
  'a row that is not there': (tx) => tx.get(things, 9),
  'two rows': (tx) => tx.getMany(things, [1, 9]),
  'a group': (tx) => tx.find(things, { index: 'byGroup', prefix: ['a'], limit: 9 }),
  'an empty group': (tx) => tx.find(things, { index: 'byGroup', prefix: ['c'], limit: 9 }),
  'all by group': (tx) => tx.find(things, { index: 'byGroup', prefix: [], limit: 9 }),
  'all by id': (tx) => tx.find(things, none),
}

const changes: Record<string, (tx: Writer) => void> = {
  'moves a row': (tx) => tx.put(things, { id: 1, group: 'b' }),
  'moves a row in': (tx) => tx.put(things, { id: 2, group: 'a' }),
  'adds to a group': (tx) => tx.put(things, { id: 3, group: 'a' }),
  'adds to an empty group': (tx) => tx.put(things, { id: 3, group: 'c' }),
  'adds to another group': (tx) => tx.put(things, { id: 3, group: 'b' }),
  'adds the missing row': (tx) => tx.put(things, { id: 9, group: 'd' }),
  'removes a row': (tx) => tx.remove(things, 1),
  'removes another row': (tx) => tx.remove(things, 2),
}

async function started() {
  const storage = memoryStorage()
  await storage.write(async (tx) => {
    tx.put(things, { id: 1, group: 'a' })
    tx.put(things, { id: 2, group: 'b' })
  })
  const watches = new Watches({ alarm: { set: () => () => {} } })
  const write = async (body: (tx: Writer) => void) => {
    const commit = await storage.write(async (tx) => {
      body(tx)
      return Transaction.over(tx)
    })
    watches.wakeFor(commit)
  }
  const watch = async (read: (tx: Reader) => Promise<unknown>, ending?: AbortSignal) => {
    const { changed, end, value } = await watches.watch({ storage, ms: 1000, ending }, read)
    const state = { value, end, woken: undefined as boolean | undefined }
    void changed.then((goesOn) => Object.assign(state, { woken: goesOn }))
    return state
  }
  return { storage, watches, write, watch }
}

const turn = () => new Promise((resolve) => setTimeout(resolve))

/** Nobody is left who may be woken: then nobody looks at what a commit changed. */
function expectNothingLeft(watches: Watches): void {
  const commit = {
    get rowChanges(): never {
      throw new Error('someone still watches')
    },
  } as unknown as CommitRecord
  expect(() => watches.wakeFor(commit)).not.toThrow()
}

test.each(Object.entries(reads))(
  'a caller that has read %s is woken by what changes it, and by nothing else',
  async (_, read) => {
    for (const [name, change] of Object.entries(changes)) {
      const { storage, watches, write, watch } = await started()
      const [first, second, ended] = [await watch(read), await watch(read), await watch(read)]
      ended.end()
      await turn()
      expect([first.woken, second.woken, ended.woken], name).toEqual([undefined, undefined, true])
      await write(change)
      const isChanged = JSON.stringify(await storage.read(read)) !== JSON.stringify(first.value)
      await turn()
      expect([first.woken, second.woken], name).toEqual(isChanged ? [true, true] : [undefined, undefined])
      first.end()
      second.end()
      expectNothingLeft(watches)
    }
  },
)

test('one that ends leaves the others their watch', async () => {
  const { watches, write, watch } = await started()
  const [first, second] = [await watch((tx) => tx.find(things, none)), await watch((tx) => tx.find(things, none))]
  first.end()
  first.end()
  await write((tx) => tx.put(things, { id: 7, group: 'a' }))
  await turn()
  expect(second.woken).toBe(true)
  expectNothingLeft(watches)
})

test('what changes while a caller reads wakes it at once', async () => {
  const { storage, watch, watches } = await started()
  const commit = await storage.write(async (tx) => {
    tx.put(things, { id: 2, group: 'z' })
    return Transaction.over(tx)
  })
  const meanwhile: [wakes: boolean, id: number, happens: () => void][] = [
    [false, 1, () => watches.wakeFor(commit)],
    [true, 2, () => watches.wakeFor(commit)],
    [true, 1, () => watches.wakeIn(undefined)],
  ]
  for (const [wakes, id, happens] of meanwhile) {
    const state = await watch(async (tx) => {
      const row = await tx.get(things, id)
      happens()
      return row
    })
    await turn()
    expect(state.woken).toBe(wakes ? true : undefined)
    state.end()
    expectNothingLeft(watches)
  }
})

test('the end of a caller or of all ends its wait with false, also while it reads, and leaves nothing', async () => {
  const read = (tx: Reader) => tx.get(things, 1)
  const { watch, watches } = await started()
  const server = new AbortController()
  const waits = await watch(read, server.signal)
  server.abort()
  const comesLate = await watch(read, server.signal)
  const leaving = new AbortController()
  const endsMeanwhile = await watch((tx) => {
    leaving.abort()
    return read(tx)
  }, leaving.signal)
  const failing = watch(async () => Promise.reject(new Error('no')))
  await expect(failing).rejects.toThrow('no')
  await turn()
  expect([waits.woken, comesLate.woken, endsMeanwhile.woken]).toEqual([false, false, false])
  expectNothingLeft(watches)
  const other = await watch(read)
  watches.end()
  const afterAll = await watch(read)
  await turn()
  expect([other.woken, afterAll.woken]).toEqual([false, false])
  expectNothingLeft(watches)
})

test('a signal that outlives many waits has no listener of theirs', async () => {
  const { watch, watches, write } = await started()
  const server = new AbortController()
  for (let n = 0; n < 3; n++) {
    const state = await watch((tx) => tx.get(things, 1), server.signal)
    expect(getEventListeners(server.signal, 'abort')).toHaveLength(1)
    await write((tx) => tx.put(things, { id: 1, group: `group ${n}` }))
    await turn()
    expect(state.woken).toBe(true)
    expect(getEventListeners(server.signal, 'abort')).toHaveLength(0)
  }
  expectNothingLeft(watches)
})

test.each(Object.entries(reads))('the end of a watch of %s leaves those of everything else', async (_, read) => {
  for (const [name, other] of Object.entries(reads)) {
    const { write, watch } = await started()
    const [stays, ends] = [await watch(other), await watch(read)]
    ends.end()
    for (const change of Object.values(changes)) await write(change)
    await turn()
    expect(stays.woken, name).toBe(true)
  }
})

test('parts of indexes that nobody watches any more are forgotten', () => {
  const parts = new WatchedParts()
  const shapes = [
    { from: things, index: 'id', depth: 1 },
    { from: things, index: 'byGroup', depth: 1 },
    { from: things, index: 'byGroup', depth: 0 },
  ]
  const changed = [{ collection: things, id: 1, is: { id: 1, group: 'a' } }]
  for (const left of [2, 1, 0]) {
    for (const shape of shapes) for (let n = 0; n < 3; n++) parts.add([shape])
    expect([...parts.touchedBy(changed)]).toHaveLength(3)
    for (const shape of shapes.slice(left)) for (let n = 0; n < 3; n++) parts.remove([shape])
    expect([...parts.touchedBy(changed)]).toHaveLength(left)
    for (const shape of shapes.slice(0, left)) for (let n = 0; n < 3; n++) parts.remove([shape])
    expect([...parts.touchedBy(changed)]).toEqual([])
  }
})

test.each(Object.entries(reads))('a watch of %s that ended costs a commit nothing', async (_, read) => {
  const { watches, watch } = await started()
  const costOf = async () => {
    let looks = 0
    const get = (all: object, name: string | symbol): unknown => {
      looks++
      return Reflect.get(all, name)
    }
    const indexes = new Proxy(things.indexes, { get })
    const change = { collection: { ...things, indexes }, id: 5, is: { id: 5, group: 'z' } }
    watches.wakeFor({ rowChanges: [change] } as unknown as CommitRecord)
    return looks
  }
  const stays = await watch((tx) => tx.get(things, 1))
  const before = await costOf()
  for (let n = 0; n < 3; n++) (await watch(read)).end()
  expect(await costOf()).toBe(before)
  expect(stays.woken).toBeUndefined()
})
