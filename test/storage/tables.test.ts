import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { collection, type Key, type Row, UniqueViolation } from '../../src/storage/storage.js'
import { LayeredMap, ROWS_PER_CHUNK, Rows } from '../../src/storage/tables/rows.js'
import { Table } from '../../src/storage/tables/table.js'
import { Tables } from '../../src/storage/tables/tables.js'
import { Transaction } from '../../src/storage/transaction.js'
import { howMuch } from '../support/how-much.js'
import { Model, type Note, notes, questions, runOnBoth, writes } from '../support/storage/storage-model.js'

const note = (id: Key, fields: Partial<Note> = {}): Note => ({ id, ...fields })
const changesOf = (...rows: Note[]) => {
  const tx = new Transaction(new Tables())
  for (const row of rows) tx.put(notes, row)
  return [...tx.changes()]
}

describe('Tables', () => {
  test('are after an undo as they were before, with indexes that were read and those that were not', async () => {
    const steps = fc.array(fc.tuple(writes, fc.boolean()), { minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(steps, fc.array(questions, { maxLength: 5 }), fc.boolean(), async (steps, asked, isWarm) => {
        const tables = new Tables()
        let model = new Model()
        const expectFound = async () => {
          for (const query of asked) expect(await tables.find(notes, query)).toEqual(model.find(query))
        }
        for (const [{ steps: made }, isUndone] of steps) {
          if (isWarm) await expectFound()
          const before = model.clone()
          // What lands is what a storage would let land.
          const storage = {
            async write(body: (tx: Transaction) => Promise<unknown>) {
              const tx = new Transaction(tables)
              const seen = await body(tx)
              const changes = [...tx.changes()]
              tables.check(changes)
              const replaced = tables.land(changes)
              expect(replaced).toEqual(
                tx.rowChanges.map(({ collection, id }) => ({ collection, id, row: before.get(id) })),
              )
              if (isUndone) tables.undo(replaced)
              return seen
            },
          }
          const { seen, expected } = await runOnBoth({ steps: made, throws: false }, storage as never, model)
          expect(seen).toEqual(expected)
          if (isUndone) model = before
          expect(tables.state()).toEqual({ counters: {}, rows: model.rows.length > 0 ? { notes: model.rows } : {} })
          expect(tables.size).toBe(model.rows.length)
        }
        await expectFound()
      }),
      { numRuns: howMuch(40, 300) },
    )
  })

  test('hand over what a new state replaces, and take it back', async () => {
    const tables = new Tables({ counters: { a: 3 }, rows: { notes: [note(1, { slug: 's' })] } })
    const fork = tables.fork()
    const before = tables.state()
    const { former, undo } = tables.load({ counters: { b: 1 }, rows: { notes: [note(2)], others: [note(1)] } })
    expect(tables.state()).toEqual({ counters: { b: 1 }, rows: { notes: [note(2)], others: [note(1)] } })
    expect([former.state(), former.size, tables.size]).toEqual([before, 1, 2])
    expect(await former.get(notes, 1)).toEqual(note(1, { slug: 's' }))
    expect(tables.moved()).toBeUndefined()
    tables.land(changesOf(note(3)))
    expect(former.state()).toEqual(before)
    undo()
    expect(tables.state()).toEqual(before)
    expect(tables.moved()).toEqual({ a: 3 })
    // The fork shares these rows again, and sees no write.
    tables.land(changesOf(note(4, { slug: 't' })))
    expect(fork.state()).toEqual(before)
    expect(() => tables.load({ counters: {}, rows: { notes: [{}] } })).toThrow(TypeError)
    expect(tables.state().rows.notes).toHaveLength(2)
  })

  test('lend their rows to a former state that shares them with a fork', () => {
    const tables = new Tables({ counters: {}, rows: { notes: [note(1)] } })
    const fork = tables.fork()
    const { former } = tables.load({ counters: {}, rows: {} })
    former.restore('notes', 2, note(2))
    expect([fork.size, former.size, tables.size]).toEqual([1, 2, 0])
    tables.restore('notes', 3, note(3))
    fork.restore('notes', 1, null)
    expect([fork.size, former.size, tables.size]).toEqual([0, 2, 1])
  })

  test('know the last number of each counter that moved since it was kept', async () => {
    const tables = new Tables({ counters: { z: 5, a: 1 }, rows: {} })
    expect(tables.moved()).toBeUndefined()
    expect([await tables.nextId('z'), await tables.nextIds(['a', 'new', 'a'])]).toEqual([6, [2, 1, 3]])
    expect(tables.moved()).toEqual({ z: 6, a: 3, new: 1 })
    tables.keptMoved()
    expect(tables.moved()).toBeUndefined()
    expect(JSON.stringify(tables.counters())).toBe('{"a":3,"new":1,"z":6}')
    tables.setCounter('z', 9)
    expect(tables.moved()).toBeUndefined()
    tables.undo([])
    expect(tables.moved()).toEqual({ a: 3, new: 1, z: 9 })
  })

  test('of rows that are in part unread hold each once', () => {
    const unread = { first: 0, count: 2, read: () => [note(1), note(2)], parts: () => [note(1), note(2)] }
    const of = (rows: Note[], parts = [unread]) =>
      Tables.ofChecked({ counters: { notes: 7 }, rows: { notes: rows, none: [] }, unread: { notes: parts } })
    const tables = of([note(600), note('a')])
    expect(tables.counters()).toEqual({ notes: 7 })
    expect([tables.size, tables.rowsIn('notes'), tables.rowsIn('none')]).toEqual([4, [note(600), note('a')], []])
    const { rows, unread: left } = tables.partlyRead()
    expect([rows, left]).toEqual([{ notes: [note(600), note('a')] }, { notes: [unread] }])
    for (const list of [[note(3), note(3)], [note(2)]]) expect(() => of(list)).toThrow('two rows of notes have one id')
    const only = of([])
    expect(only.partlyRead()).toEqual({ counters: { notes: 7 }, rows: { notes: [] }, unread: { notes: [unread] } })
    expect([only.has('notes', 2), only.has('notes', 3), only.has('none', 1)]).toEqual([true, false, false])
    expect(only.state()).toEqual({ counters: { notes: 7 }, rows: { notes: [note(1), note(2)] } })
    expect(Tables.ofChecked({ counters: {}, rows: { notes: [note(1)] } }).size).toBe(1)
  })

  test('freeze what they read from files, and find two rows with one unique key there', () => {
    const tables = new Tables()
    const [open, frozen] = [note(1, { slug: 's', body: { deep: [] } }), Object.freeze(note(2, { slug: 's' }))]
    tables.restore('notes', 1, open)
    tables.checkUniqueKeys([notes])
    expect(Object.isFrozen((open.body as { deep: unknown }).deep)).toBe(true)
    const both = new Tables()
    both.restore('notes', 1, open)
    both.restore('notes', 2, frozen)
    expect(() => both.checkUniqueKeys([notes])).toThrow(new UniqueViolation('notes', 'bySlug', ['s']))
    expect(both.state().rows.notes).toEqual([open, frozen])
    both.restore('notes', 1, null)
    both.checkUniqueKeys([notes])
    both.checkUniqueKeys([{ name: 'others', indexes: notes.indexes }])
  })
})

describe('A table', () => {
  test('keeps unique keys of one field and of two, for whoever reads and whoever writes', () => {
    const fields = { fields: ['owner', 'rank'], unique: true } as const
    const pairs = collection<Note>()('pairs', { bySlug: notes.indexes.bySlug, byPair: fields })
    const part = fc.constantFrom<Key | null>(1, '1', 'a', '1,a', null)
    const row = fc.record({ id: fc.nat(3), owner: part, rank: part, slug: fc.constantFrom('s', 't', null) })
    const step = fc.array(fc.tuple(row, fc.boolean()), { minLength: 1, maxLength: 3 })
    /** What two rows may not share. */
    const keysOf = ({ owner, rank, slug }: Note) => [
      ...(owner === null || rank === null ? [] : [`pairs.byPair already holds ${JSON.stringify([owner, rank])}`]),
      ...(slug === null ? [] : [`pairs.bySlug already holds ${JSON.stringify([slug])}`]),
    ]
    const violationOf = (check: () => void): UniqueViolation => {
      try {
        check()
      } catch (error) {
        if (error instanceof UniqueViolation) return error
      }
      throw new Error('two rows share a key')
    }
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20, size: 'max' }), fc.boolean(), (steps, isForked) => {
        let table = new Table()
        let held = new Map<Key, Note>()
        for (const step of steps) {
          const changes = new Map(step.map(([row, isPut]) => [row.id, isPut ? row : null]))
          const next = new Map(held)
          for (const [id, row] of changes) row ? next.set(id, row) : next.delete(id)
          const keys = [...next.values()].flatMap(keysOf)
          const twice = new Set(keys.filter((key, at) => keys.indexOf(key) !== at))
          if (twice.size > 0) {
            const error = violationOf(() => table.check(pairs, changes))
            expect(twice).toContain(error.message)
          } else {
            table.check(pairs, changes)
            if (isForked) table = table.copy()
            for (const [id, row] of changes) table.set(id, row)
            held = next
          }
          for (const owner of [1, '1', 'a'])
            for (const rank of ['1', 'a', '1,a']) {
              const found = [...held.values()].filter((row) => row.owner === owner && row.rank === rank)
              expect(table.find(pairs, { index: 'byPair', prefix: [owner, rank], limit: 5 })).toEqual(found)
            }
        }
      }),
      { numRuns: howMuch(20, 200) },
    )
  })

  const query = { index: 'byOwner', prefix: ['o'], limit: 1 } as const
  const filled = (numbered: number, named = 0) => {
    const table = new Table()
    for (let id = 0; id < numbered; id++) table.set(id, note(id, { owner: 'o' }))
    for (let id = 0; id < named; id++) table.set(`n${id}`, note(`n${id}`, { owner: 'o' }))
    return table
  }

  test('grows a new index first if it has more rows than are sorted at once, and others may wait', async () => {
    expect(filled(10_000).find(notes, query, true)).toHaveLength(1)
    const large = filled(10_001)
    expect(large.find(notes, query, true)).toBeUndefined()
    // Without a transaction that runs again, nobody would ask a second time.
    expect(await Tables.ofChecked({ counters: {}, rows: { notes: large.rows.all() } }).find(notes, query)).toHaveLength(
      1,
    )
    expect(large.find(notes, { ...query, index: 'id', prefix: [] }, true)).toHaveLength(1)
    expect(large.find(notes, { ...query, index: 'bySlug' }, true)).toEqual([])
    expect(large.find(notes, { ...query, limit: 0 }, true)).toEqual([])
    expect(large.find(notes, query)).toHaveLength(1)
    expect(large.find(notes, query, true)).toHaveLength(1)
  })

  test.each([
    [0, 0, 0],
    [499, 0, 0],
    [500, 0, 1],
    [1000, 0, 2],
    [0, 499, 0],
    [0, 500, 1],
    [501, 1001, 3],
  ])('lets others run each 500 rows while an index of %i and %i rows grows', async (numbered, named, turns) => {
    const table = filled(numbered, named)
    const waits = vi.spyOn(globalThis, 'setTimeout')
    try {
      const growing = table.grow(notes, 'byOwner')
      expect(table.grow(notes, 'byOwner')).toBe(growing)
      await growing
      expect(waits).toHaveBeenCalledTimes(turns)
      expect(table.find(notes, { ...query, limit: 5000 }, true)).toHaveLength(numbered + named)
    } finally {
      waits.mockRestore()
    }
  })
})

test('a layered map is a map, and its copies see nothing of one another', () => {
  const step = fc.tuple(fc.constantFrom('set', 'set', 'delete', 'copy'), fc.nat(12))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      let layered = new LayeredMap<number, number>()
      const map = new Map<number, number>()
      const older: [LayeredMap<number, number>, Map<number, number>][] = []
      const expectSame = (a: LayeredMap<number, number>, b: Map<number, number>) => {
        expect(a.size).toBe(b.size)
        expect([...a.values()].sort((x, y) => x - y)).toEqual([...b.values()].sort((x, y) => x - y))
        const keys = Array.from({ length: 13 }, (_, key) => key)
        expect(keys.map((key) => a.get(key))).toEqual(keys.map((key) => b.get(key)))
      }
      for (const [n, [what, key]] of steps.entries()) {
        if (what === 'copy') {
          older.push([layered, new Map(map)])
          layered = layered.copy()
        } else if (what === 'set') {
          layered.set(key, n)
          map.set(key, n)
        } else {
          layered.delete(key)
          map.delete(key)
        }
        expect(layered.size).toBe(map.size)
      }
      for (const [then, expected] of [...older, [layered, map] as const]) expectSame(then, expected)
    }),
    { numRuns: howMuch(40, 300) },
  )
})

describe('Rows by number', () => {
  const LAST = 2 * ROWS_PER_CHUNK

  test('are read in order from any number on, in either direction', () => {
    const id: fc.Arbitrary<Key> = fc.constantFrom<Key>(
      0,
      1,
      2,
      5,
      511,
      512,
      513,
      LAST,
      LAST + 1500,
      -1,
      0.5,
      5.5,
      'a',
      '1',
    )
    const afters = [undefined, -2, -1, 0, 0.5, 1, 4.5, 5, 511, 511.5, 512, LAST - 1, LAST, LAST + 1, 10_000]
    fc.assert(
      fc.property(fc.array(fc.tuple(id, fc.boolean()), { maxLength: 20, size: 'max' }), (steps) => {
        const rows = new Rows()
        for (const [id, isPut] of steps)
          if (isPut) rows.set(id, { id })
          else rows.delete(id)
        const named = new Set([...rows.named()].map(({ id }) => id))
        const all = rows.inOrder().map(({ id }) => id)
        for (const id of all) expect(rows.isNamed(id)).toBe(named.has(id))
        const numbered = all.filter((id) => !named.has(id)) as number[]
        for (const after of afters) {
          const up = numbered.filter((each) => after === undefined || each > after)
          const down = numbered.filter((each) => after === undefined || each < after).reverse()
          expect([...rows.numbered(after, false)].map(({ id }) => id)).toEqual(up)
          expect([...rows.numbered(after, true)].map(({ id }) => id)).toEqual(down)
        }
      }),
      { numRuns: howMuch(40, 300) },
    )
  })

  test('leave a gap of 1024 places at most, and count from the first unread row', () => {
    const rows = new Rows()
    rows.set(0, { id: 0 })
    expect([1025, 1026, -1, 0.5, 'a'].map((id) => rows.isNamed(id))).toEqual([false, true, true, true, true])
    const unread = (first: number) => ({
      ...{ first, count: 1, parts: () => [{ id: first }] },
      read: () => [{ id: first }],
    })
    const late = new Rows()
    late.addUnread(unread(4096))
    expect([4095, 4096, 4096 + 512 + 1024, 4096 + 512 + 1025].map((id) => late.isNamed(id))).toEqual([
      true,
      false,
      false,
      true,
    ])
    late.addUnread(unread(4096 + 512 + 1024))
    expect(late.unread().map(({ first }) => first)).toEqual([4096, 4096 + 512 + 1024])
    late.addUnread(unread(4096 + 512))
    expect(late.unread()).toHaveLength(2)
    // A chunk that was read ends with its last row.
    const read = new Rows()
    read.addUnread(unread(0))
    expect([read.get(0)?.id, read.isNamed(1025), read.isNamed(1026)]).toEqual([0, false, true])
    late.addUnread(unread(4096 + 512 * 7))
    expect([late.unread().length, late.size]).toEqual([2, 4])
    expect(late.inOrder().map(({ id }) => Number(id) - 4096)).toEqual([0, 512, 1536, 512 * 7])
  })

  test('drop their first chunks when 1024 places and half of all are empty', () => {
    const kept = (count: number, removed: number) => {
      const rows = new Rows()
      for (let id = 0; id < count; id++) rows.set(id, { id })
      const copy = rows.copy()
      for (let id = 0; id < removed; id++) copy.delete(id)
      expect(copy.size).toBe(count - removed)
      expect([...copy.numbered(undefined, false)].map(({ id }) => id)[0]).toBe(removed)
      copy.set(removed, { id: removed, isNew: true } as Row)
      expect([rows.get(removed), rows.size]).toEqual([{ id: removed }, count])
      // What is before the first place is named.
      return [0, 511, 512, 1023, 1024].findIndex((id) => !copy.isNamed(id))
    }
    expect([kept(1500, 1023), kept(1500, 1024), kept(2048, 1024), kept(2049, 1024)]).toEqual([0, 4, 4, 0])
  })
})
