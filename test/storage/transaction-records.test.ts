import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Keyring } from '../../src/base/secrets.js'
import { collection, type Key, type Row, type State } from '../../src/storage/storage.js'
import { Tables } from '../../src/storage/tables/tables.js'
import { type CommittedReader, ReadTransaction, Transaction } from '../../src/storage/transaction.js'
import { howMuch } from '../support/how-much.js'
import { Model, type Note, notes, type Write, writes } from '../support/storage/storage-model.js'

const others = collection<Row>()('others', {})
const tries = collection<Row>()('tries', {}, { isTally: true })

/** Committed rows that say which ids were asked for. Rows that were found count as asked for. */
function spied(tables: Tables) {
  const asked: Key[] = []
  const base: CommittedReader = {
    get(from, id) {
      asked.push(id)
      return tables.get(from, id)
    },
    getMany(from, ids) {
      asked.push(...ids)
      return tables.getMany(from, ids)
    },
    find: (from, query) => tables.find(from, query),
    nextId: (of) => tables.nextId(of),
    nextIds: (of) => tables.nextIds(of),
  }
  return { base, asked }
}

async function take({ steps }: Write, tx: Transaction, model: Model) {
  const [seen, expected, order]: [unknown[], unknown[], Key[]] = [[], [], []]
  for (const step of steps) {
    if (step.do === 'put' || step.do === 'remove') order.push(step.do === 'put' ? step.row.id : step.id)
    if (step.do === 'put') tx.put(notes, structuredClone(step.row))
    else if (step.do === 'remove') tx.remove(notes, step.id)
    else if (step.do === 'get') seen.push(await tx.get(notes, step.id))
    else if (step.do === 'getMany') seen.push(await tx.getMany(notes, step.ids))
    else seen.push(await tx.find(notes, step.query))
    if (step.do === 'put') model.put(step.row)
    else if (step.do === 'remove') model.remove(step.id)
    else if (step.do === 'get') expected.push(model.get(step.id))
    else if (step.do === 'getMany') expected.push(step.ids.map((id) => model.get(id)))
    else expected.push(model.find(step.query))
  }
  return { seen, expected, order }
}

describe('a transaction', () => {
  test('records what it did and what it replaces, and asks for no committed row twice', async () => {
    const rows = fc.uniqueArray(fc.constantFrom<Key>(1, 2, 10, '1', 'a', 'b'))
    await fc.assert(
      fc.asyncProperty(rows, writes, fc.boolean(), async (stored, write, remembers) => {
        const tables = new Tables()
        const model = new Model()
        for (const id of stored) {
          tables.restore('notes', id, { id, owner: 'a', body: 'committed' } as Note)
          model.put({ id, owner: 'a', body: 'committed' })
        }
        const { base, asked } = spied(tables)
        const before = model.clone()
        const tx = new Transaction(base)
        if (remembers) tx.rememberStored()
        const { seen, expected, order } = await take(write, tx, model)
        expect(seen).toEqual(expected)
        expect([tx.reads, tx.writes]).toEqual([seen.length, order.length])
        expect([tx.isEmpty, tx.hasChanged]).toEqual([order.length === 0, order.length > 0])
        const ids = [...new Set(order)]
        expect(tx.rowChanges).toEqual(ids.map((id) => ({ collection: notes, id, is: model.get(id) })))
        const changes = new Map(ids.map((id) => [id, model.get(id) ?? null]))
        expect([...tx.changes()]).toEqual(ids.length > 0 ? [{ collection: notes, rows: changes }] : [])
        asked.length = 0
        const expectedRows = ids.map((id) => ({ collection: notes, id, row: before.get(id) }))
        expect(await tx.replaced()).toEqual(expectedRows)
        expect(new Set(asked).size).toBe(asked.length)
        asked.length = 0
        expect(await tx.replaced()).toEqual(expectedRows)
        if (remembers) expect(asked).toEqual([])
      }),
      { numRuns: howMuch(60, 400) },
    )
  })

  test('reads no row for what it replaces that it has read, found or numbered', async () => {
    const tables = new Tables({ counters: { notes: 3 }, rows: { notes: [1, 2, 3, 'a'].map((id) => ({ id })) } })
    const { base, asked } = spied(tables)
    const tx = new Transaction(base)
    tx.rememberStored()
    await tx.get(notes, 1)
    await tx.getMany(notes, [2, 9])
    await tx.find(notes, { index: 'id', prefix: [3], limit: 1 })
    const numbers = [await tx.nextId('notes'), ...(await tx.nextIds(['notes', 'others', 'notes']))]
    expect(numbers).toEqual([4, 5, 1, 6])
    asked.length = 0
    for (const id of [1, 2, 3, 4, 5, 6, 9, 'a']) tx.put(notes, { id })
    tx.put(others, { id: 1 })
    tx.put(others, { id: 'a' })
    const before = [1, 2, 3, undefined, undefined, undefined, undefined, 'a'].map((id) => id && { id })
    expect((await tx.replaced()).map(({ row }) => row)).toEqual([...before, undefined, undefined])
    expect(asked).toEqual(['a', 'a'])
  })

  test('that wrote only tallies has changed nothing', () => {
    const tx = new Transaction(new Tables())
    tx.put(tries, { id: 1 })
    expect([tx.isEmpty, tx.hasChanged]).toEqual([false, false])
    tx.remove(others, 1)
    expect([tx.isEmpty, tx.hasChanged]).toEqual([false, true])
  })

  test('is the given one of a storage of ours, and writes to one of others in its order', async () => {
    const outer = new Transaction(new Tables())
    expect(Transaction.over(outer)).toBe(outer)
    const inner = new Transaction(outer)
    inner.put(others, { id: 2 })
    inner.put(notes, { id: 1 })
    inner.remove(others, 3)
    inner.put(others, { id: 2 })
    expect(outer.isEmpty).toBe(true)
    inner.into(outer)
    expect(outer.rowChanges).toEqual(inner.rowChanges)
    expect(outer.rowChanges.map(({ id, is }) => [id, is !== undefined])).toEqual([
      [2, true],
      [1, true],
      [3, false],
    ])
  })
})

interface Letter extends Row {
  readonly id: number
  readonly to: string
  readonly text?: string
  readonly code?: number
}

const letters = collection<Letter>()(
  'letters',
  { byTo: { fields: ['to'] } },
  { sealed: { text: 'Unreadable', code: 0 } },
)

/** A key that shows what it was given, and counts. Another name is another key. */
function plainKeys(name: string) {
  const counts = { sealed: 0, opened: 0 }
  const keys: Keyring = {
    derive: () => new Uint8Array(),
    deriveUuid: () => '',
    async seal(plain, context) {
      counts.sealed++
      return JSON.stringify([name, context, plain])
    },
    async open(sealed, context) {
      counts.opened++
      const [by, of, plain] = JSON.parse(sealed)
      return by === name && of === context ? plain : undefined
    },
  }
  return { keys, counts }
}

describe('sealed fields', () => {
  const letter = fc.record(
    { id: fc.nat(4), to: fc.constantFrom('a', 'b'), text: fc.string({ maxLength: 3 }), code: fc.nat(2) },
    { requiredKeys: ['id', 'to'] },
  )

  test('are encrypted in what lands, and whole in everything that reads', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(letter, { maxLength: 4 }), { maxLength: 4 }), async (commits) => {
        const tables = new Tables()
        const now = new Map<number, Letter>()
        const { keys } = plainKeys('right')
        const expectAll = async (tx: ReadTransaction | Transaction) => {
          const all = [...now.values()].sort((a, b) => a.id - b.id)
          expect(await tx.find(letters, { index: 'id', prefix: [], limit: 9 })).toEqual(all)
          const ofA = all.filter(({ to }) => to === 'a')
          expect(await tx.find(letters, { index: 'byTo', prefix: ['a'], limit: 9 })).toEqual(ofA)
          const ids = [4, 3, 2, 1, 0, 4]
          expect(await tx.getMany(letters, ids)).toEqual(ids.map((id) => now.get(id)))
          for (const id of ids) expect(await tx.get(letters, id)).toEqual(now.get(id))
          expect(tx.reads).toBe(9)
        }
        for (const rows of commits) {
          const tx = new Transaction(tables)
          tx.openWith(keys)
          await expectAll(tx)
          for (const row of rows) {
            tx.put(letters, { ...row })
            now.set(row.id, row)
          }
          tx.reads = 0
          await expectAll(tx)
          await tx.seal()
          tables.land([...tx.changes()])
        }
        await expectAll(new ReadTransaction(tables, keys))
        const stored = tables.state().rows.letters ?? []
        expect(stored).toEqual(
          [...now.values()]
            .sort((a, b) => a.id - b.id)
            .map(({ id, to, ...secret }) => ({ id, to, sealed: expect.stringContaining(`"letters:${id}"`), secret }))
            .map(({ secret: _, ...row }) => row),
        )
        for (const { id, sealed } of stored as (Row & { sealed: string })[]) {
          const { to: _, id: __, ...secret } = now.get(Number(id)) as Letter
          expect(JSON.parse(JSON.parse(sealed)[2])).toEqual(secret)
          expect(Object.isFrozen(tables.state().rows.letters?.find((row) => row.id === id))).toBe(true)
        }
      }),
      { numRuns: howMuch(30, 200) },
    )
  })

  test('that no key has encrypted, and those of another key, are read all the same', async () => {
    const state: State = {
      counters: {},
      rows: {
        letters: [
          { id: 1, to: 'a', text: 'plain' } as Letter,
          { id: 2, to: 'a', sealed: '["other","letters:2","{}"]' } as unknown as Letter,
        ],
      },
    }
    const { keys, counts } = plainKeys('right')
    for (const tx of [new ReadTransaction(new Tables(state), keys), new Transaction(new Tables(state))]) {
      const isOpen = tx instanceof ReadTransaction
      expect(await tx.getMany(letters, [1, 2, 3])).toEqual([
        state.rows.letters?.[0],
        isOpen ? { id: 2, to: 'a', text: 'Unreadable', code: 0 } : state.rows.letters?.[1],
        undefined,
      ])
    }
    expect(counts).toEqual({ sealed: 0, opened: 1 })
  })

  test('are encrypted only where a row has changed, and never without a key', async () => {
    const { keys, counts } = plainKeys('right')
    const tables = new Tables()
    const write = async (body: (tx: Transaction) => unknown, opened = true) => {
      const tx = new Transaction(tables)
      if (opened) tx.openWith(keys)
      await body(tx)
      const sealing = tx.seal()
      await sealing
      tables.land([...tx.changes()])
      return sealing !== undefined
    }
    expect(await write((tx) => tx.put(notes, { id: 1 }))).toBe(false)
    expect(await write((tx) => tx.remove(letters, 1))).toBe(false)
    expect(await write((tx) => tx.put(letters, { id: 1, to: 'a', text: 'x' }), false)).toBe(false)
    expect(await write((tx) => tx.put(letters, { id: 2, to: 'a', text: 'x', code: 1 }))).toBe(true)
    expect(counts.sealed).toBe(1)
    const change = (fields: Partial<Letter>) =>
      write(async (tx) => tx.put(letters, { ...((await tx.get(letters, 2)) as Letter), ...fields }))
    for (const [fields, sealed] of [
      [{ to: 'b' }, 1],
      [{ text: 'y' }, 2],
      [{ code: 2 }, 3],
      [{ text: 'y', code: 2 }, 3],
    ] as const) {
      await change(fields)
      expect(counts.sealed).toBe(sealed)
    }
  })
})
