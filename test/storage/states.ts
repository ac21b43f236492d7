import { expect } from 'vitest'
import { type Reader, type Row, type State, StorageUnavailable, UniqueViolation } from '../../src/storage/storage.js'
import { notes } from '../support/storage/storage-model.js'
import { type Account, accounts, fill, find, idsOf, type Law, put } from './cases.js'

/** Tries to change a value in every way; a frozen one throws, and a copy takes it. */
function vandalize(row: Account): void {
  const open = row as unknown as { balance: number; tags?: { name: string }[]; added?: boolean }
  const attempts = [
    () => (open.balance = -1),
    () => (open.added = true),
    () => open.tags?.push({ name: 'added' }),
    () => open.tags?.[0] && (open.tags[0].name = 'changed'),
  ]
  for (const attempt of attempts)
    try {
      attempt()
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError)
    }
}

export function immutabilityCases(law: Law): void {
  const sound = { id: 'a', balance: 1, tags: [{ name: 'kept' }] }
  const query = { index: 'id', prefix: [], limit: 9 } as const

  law('through the objects that were put, frozen on the outside or not', async ({ storage }) => {
    const given: Account[] = []
    await storage.write(async (tx) => {
      for (const row of [structuredClone(sound), Object.freeze({ ...structuredClone(sound), id: 'b' })]) {
        tx.put(accounts, row)
        vandalize(row)
        given.push(row)
      }
    })
    given.forEach(vandalize)
    expect(await storage.read((tx) => tx.find(accounts, query))).toEqual([sound, { ...sound, id: 'b' }])
  })

  law('through the objects that were read', async ({ storage }) => {
    await storage.write(async (tx) => tx.put(accounts, structuredClone(sound)))
    for (const method of ['read', 'write'] as const) {
      const read = await storage[method](async (tx) => {
        const rows = [(await tx.get(accounts, 'a')) as Account, ...(await tx.find(accounts, query))]
        for (const row of await tx.getMany(accounts, ['a'])) if (row) rows.push(row)
        rows.forEach(vandalize)
        return rows
      })
      read.forEach(vandalize)
    }
    expect(await storage.read((tx) => tx.find(accounts, query))).toEqual([sound])
  })

  law('through exported or imported states', async ({ storage }) => {
    const given = { counters: { c: 1 }, rows: { accounts: [structuredClone(sound)] } }
    await storage.import(given)
    given.counters.c = 9
    given.rows.accounts.forEach(vandalize)
    const exported = (await storage.export()) as typeof given
    exported.counters.c = 9
    exported.rows.accounts.forEach(vandalize)
    exported.rows.accounts.length = 0
    expect(await storage.export()).toEqual({
      schema: expect.any(Number),
      counters: { c: 1 },
      rows: { accounts: [sound] },
    })
    expect(await storage.read((tx) => tx.find(accounts, query))).toEqual([sound])
  })
}

export function stateCases(law: Law): void {
  law('an empty storage as an empty state', async ({ storage }) => {
    expect(await storage.export()).toEqual({ schema: expect.any(Number), counters: {}, rows: {} })
    await put(storage, { id: 1 })
    await storage.write(async (tx) => tx.remove(notes, 1))
    expect((await storage.export()).rows).toEqual({})
  })

  law('collections and counters by name, and rows by id', async ({ storage }) => {
    await fill(storage)
    const state = await storage.export()
    expect(Object.keys(state.rows)).toEqual(['accounts', 'notes'])
    expect(Object.keys(state.counters)).toEqual(['a', 'z'])
    expect(state.rows.notes?.map(({ id }) => id)).toEqual([2, 10, 'a', 'b'])
    expect(JSON.parse(JSON.stringify(state))).toEqual(state)
  })

  law('to the byte', async ({ storage }) => {
    await fill(storage)
    const before = JSON.stringify(await storage.export())
    await storage.import(JSON.parse(before) as State)
    expect(JSON.stringify(await storage.export())).toBe(before)
    await storage.import({ counters: {}, rows: {} })
    expect(await storage.export()).toEqual({ schema: expect.any(Number), counters: {}, rows: {} })
    await storage.import(JSON.parse(before) as State)
    expect(JSON.stringify(await storage.export())).toBe(before)
  })

  law('in place of all earlier data, indexes and counters included', async ({ storage }) => {
    await fill(storage)
    await storage.import({ counters: { z: 40 }, rows: { notes: [{ id: 'b', owner: 'o' } as Row, { id: 'c' }] } })
    expect(await idsOf(storage, {})).toEqual(['b', 'c'])
    expect(await idsOf(storage, { index: 'byOwner', prefix: ['o'] })).toEqual(['b'])
    expect(await idsOf(storage, { index: 'bySlug' })).toEqual([])
    expect(await storage.write((tx) => tx.nextId('z'))).toBeGreaterThan(40)
    await put(storage, { id: 'd', slug: 's' })
    await expect(put(storage, { id: 'e', slug: 's' })).rejects.toThrow(UniqueViolation)
  })

  law('in one step, even during reads and writes', async ({ storage }) => {
    const state = (body: number): State => ({
      counters: {},
      rows: { notes: Array.from({ length: 50 }, (_, id) => ({ id, body }) as Row) },
    })
    await storage.import(state(0))
    const seen = await Promise.all(
      Array.from({ length: 10 }, async (_, i) => {
        const [rows] = await Promise.all([find(storage, {}), storage.import(state(i))])
        return new Set(rows.map(({ body }) => body)).size === 1 && rows.length === 50
      }),
    )
    expect(seen).toEqual(Array.from({ length: 10 }, () => true))
  })

  law('only after a check of what it replaces, in the same step', async ({ storage }) => {
    const state: State = { counters: {}, rows: { notes: [{ id: 'new' }] } }
    await fill(storage)
    const before = await storage.export()
    const refused = storage.import(state, { check: () => Promise.reject(new RangeError('not now')) })
    await expect(refused).rejects.toThrow(RangeError)
    expect(await storage.export()).toEqual(before)
    let seen: unknown
    await storage.import(state, { check: async (former) => void (seen = await former.get(notes, 10)) })
    expect(seen).toMatchObject({ id: 10, body: { z: 1, a: [null] } })
    expect(await idsOf(storage, {})).toEqual(['new'])
    // Of two imports that both want what is stored now, one comes first.
    const taking = (id: string) => {
      const check = async (former: Reader) => {
        if (!(await former.get(notes, 'new'))) throw new RangeError('gone')
      }
      return storage.import({ counters: {}, rows: { notes: [{ id }] } }, { check })
    }
    const outcomes = await Promise.allSettled([taking('a'), taking('b')])
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await idsOf(storage, {})).toHaveLength(1)
  })

  law('only valid states, and keeps its data when it refuses one', async ({ storage }) => {
    await fill(storage)
    const before = await storage.export()
    const broken = [
      null,
      [],
      {},
      { counters: {} },
      { counters: { a: -1 }, rows: {} },
      { counters: {}, rows: { notes: 1 } },
    ]
    const rows = [[{}], [{ id: true }], [null], [{ id: 1 }, { id: 1 }]].map((list) => ({
      counters: {},
      rows: { notes: list },
    }))
    for (const state of [...broken, ...rows])
      await expect(storage.import(state as unknown as State)).rejects.toThrow(TypeError)
    expect(await storage.export()).toEqual(before)
  })
}

export function closingCases(law: Law): void {
  law('after running calls finish', async ({ storage }) => {
    let finished = 0
    const slow = Array.from({ length: 5 }, (_, id) =>
      storage.write(async (tx) => {
        await new Promise((resolve) => setTimeout(resolve, 5))
        tx.put(notes, { id })
      }),
    )
    for (const write of slow) write.then(() => finished++)
    await storage.close()
    expect(await Promise.allSettled(slow)).toEqual(slow.map(() => ({ status: 'fulfilled', value: undefined })))
    expect(finished).toBe(5)
  })

  law('and refuses later calls', async ({ storage }) => {
    const closing = storage.close()
    await expect(storage.read(async () => 1)).rejects.toThrow(StorageUnavailable)
    await closing
    await expect(storage.read(async () => 1)).rejects.toThrow(StorageUnavailable)
    await expect(storage.write(async () => 1)).rejects.toThrow(StorageUnavailable)
    await expect(storage.export()).rejects.toThrow(StorageUnavailable)
    await expect(storage.import({ counters: {}, rows: {} })).rejects.toThrow(StorageUnavailable)
    await storage.close()
  })
}
