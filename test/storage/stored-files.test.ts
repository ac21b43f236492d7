import fs from 'node:fs/promises'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { isCommit, journaled, LongFields, replay, SharedStrings } from '../../adapters/storage/file/commit.js'
import { DataFile, type Snapshot } from '../../adapters/storage/file/data-file.js'
import { StorageDamaged } from '../../adapters/storage/file/errors.js'
import { appendJournalPart, type JournalPart } from '../../adapters/storage/file/journal-part.js'
import { KeyFile } from '../../adapters/storage/file/key-file.js'
import { checksumOf, objectLine } from '../../adapters/storage/file/line.js'
import { formatOf, isStorage, readStateDocument, readStored, storageAt } from '../../adapters/storage/file/stored.js'
import { compareParts } from '../../src/storage/key.js'
import type { Row } from '../../src/storage/storage.js'
import { Tables } from '../../src/storage/tables/tables.js'
import { howMuch } from '../support/how-much.js'
import { notes } from '../support/storage/storage-model.js'
import { VirtualDisk } from '../support/storage/virtual/disk.js'
import { withMounted } from '../support/storage/virtual/mount.js'

/** The files of a file storage, one by one, against plain models. They are on a disk in memory. */

const ROOT = '/virtual-files'
const FILE = `${ROOT}/data.json`
let disk: VirtualDisk

beforeEach(() => {
  disk = new VirtualDisk(ROOT)
})
const onDisk = (body: () => Promise<void>) => async () => {
  await withMounted(disk, body)
  expect(disk.openFiles).toBe(0)
}

async function write(file: string, text: string): Promise<void> {
  const handle = await fs.open(file, 'w')
  await handle.writeFile(text)
  await handle.close()
}

const failing = (error: unknown) => (error instanceof StorageDamaged ? error.reason : String(error))

describe('the key file', () => {
  const keys = (value: number) => ({ service_keys: [{ id: 'key', value } as Row] })
  const steps = fc.array(fc.oneof(fc.nat(2), fc.constantFrom('sync', 'fail')), { maxLength: 12 })

  test(
    'gives the rows of every commit that a crash may return to, and no older ones than it needs',
    onDisk(() =>
      fc.assert(
        fc.asyncProperty(steps, async (steps) => {
          await fs.rm(`${FILE}.key`, { force: true })
          const file = await KeyFile.open(`${FILE}.key`)
          let history: Row[][] = [[]]
          let durable = 0
          for (const step of steps) {
            if (step === 'sync') durable = history.length - 1
            else if (step === 'fail') {
              file.forget(durable)
              history = history.slice(0, durable + 1)
            } else {
              const { service_keys } = keys(step)
              file.write({ commit: history.length, rows: { service_keys } }, durable)
              history.push(service_keys)
            }
            expect(file.rows.service_keys ?? []).toEqual(history.at(-1))
            for (let commit = durable; commit < history.length; commit++) {
              const opened = await KeyFile.open(`${FILE}.key`)
              expect(opened.settle(commit).service_keys ?? []).toEqual(history[commit])
              expect(opened.rows.service_keys ?? []).toEqual(history[commit])
            }
          }
          file.write({ commit: history.length, rows: keys(9) }, durable)
          const { generations } = JSON.parse(await fs.readFile(`${FILE}.key`, 'utf8'))
          const old = generations.filter(({ commit }: { commit: number }) => commit <= durable)
          expect(old.length).toBeLessThanOrEqual(1)
        }),
        { numRuns: howMuch(40, 400) },
      ),
    ),
  )

  const generations = [{ commit: 3, rows: keys(1) }]
  const checksum = checksumOf(JSON.stringify(generations))
  test.each<[document: unknown, refused: RegExp | undefined]>([
    [{ format: 'farthing-key/2', checksum, generations }, undefined],
    [{ format: 'farthing-key/1', generations }, undefined],
    [{ format: 'farthing-key/2', generations }, /checksum is wrong/],
    [{ format: 'farthing-key/2', checksum: checksum.replace(/./, 'x'), generations }, /checksum is wrong/],
    [{ format: 'farthing-key/3', checksum, generations }, /its format is unknown/],
    [{ format: 'farthing-key/1', generations: {} }, /its format is unknown/],
    [{ format: 'farthing-key/1' }, /its format is unknown/],
    [null, /its format is unknown/],
    [[], /its format is unknown/],
    [{ format: 'farthing-key/1', generations: [null] }, /its rows name no commit/],
    [{ format: 'farthing-key/1', generations: [{ commit: '3', rows: {} }] }, /its rows name no commit/],
    [{ format: 'farthing-key/1', generations: [{ commit: 3 }] }, /this is not a key file \(/],
    [
      { format: 'farthing-key/1', generations: [{ commit: 3, rows: { service_keys: [{}] } }] },
      /this is not a key file \(/,
    ],
  ])('with %j is refused with %s', (document, refused) =>
    onDisk(async () => {
      await write(`${FILE}.key`, JSON.stringify(document))
      const opening = KeyFile.open(`${FILE}.key`)
      if (refused)
        await expect(opening.catch((error) => Promise.reject(new Error(failing(error))))).rejects.toThrow(refused)
      else expect((await opening).settle(3)).toEqual(keys(1))
    })(),
  )
})

describe('the data file', () => {
  const long = 'y'.repeat(17_000)
  const kinds = [
    (id: unknown) => ({ id, owner: `owner ${id}`, body: ['"', '\\', `[{${id}`] }),
    (id: unknown) => ({ id, owner: 'é', body: { a: 1 } }),
    (id: unknown) => ({ owner: 1, id }),
    (id: unknown) => ({ id, body: long }),
  ]
  const collection = fc.record({
    from: fc.constantFrom(0, 1, 500, 2048),
    count: fc.constantFrom(0, 1, 63, 64, 65, 700),
    named: fc.subarray([0.5, -1, 'a', 'b']),
    kind: fc.nat(1),
    odd: fc.array(fc.tuple(fc.nat(700), fc.nat(3)), { maxLength: 2 }),
  })

  type Drawn = typeof collection extends fc.Arbitrary<infer T> ? T : never
  const rowsOf = ({ from, count, named, kind, odd }: Drawn) => {
    const ids = [...Array.from({ length: count }, (_, at) => from + at), ...named].sort(compareParts)
    const kindAt = (at: number) => odd.find(([place]) => place === at)?.[1] ?? kind
    return ids.map((id, at) => kinds[kindAt(at)]?.(id) as Row)
  }

  /** The same snapshot after somebody asked for a row of one chunk of each collection. */
  const withOneRead = ({ rows, unread = {}, ...rest }: Snapshot, at: number): Snapshot => ({
    ...rest,
    rows: Object.fromEntries(
      Object.entries(rows).map(([name, list]) => {
        const chunk = unread[name]?.[at]?.read() ?? []
        return [name, [...list, ...chunk].sort((a, b) => compareParts(a.id, b.id))]
      }),
    ),
    unread: Object.fromEntries(Object.entries(unread).map(([name, list]) => [name, list.toSpliced(at, 1)])),
  })

  /** Every row of a snapshot, read or not, in the order of the ids. */
  const allRows = ({ rows, unread = {} }: Snapshot) =>
    Object.fromEntries(
      Object.entries(rows).map(([name, list]) => [
        name,
        [...list, ...(unread[name] ?? []).flatMap((each) => each.read())].sort((a, b) => compareParts(a.id, b.id)),
      ]),
    )

  test(
    'is read as it was written, whole or row by row, and written again from both',
    onDisk(() =>
      fc.assert(
        fc.asyncProperty(fc.array(collection, { maxLength: 2 }), fc.nat(2), async (collections, parts) => {
          const longFields = new LongFields(FILE)
          const given = Object.fromEntries(collections.map((each, at) => [`c${at}`, rowsOf(each)]))
          const rows = Object.fromEntries(
            Object.entries(given).map(([name, list]) => [name, list.map((row) => longFields.storeRow(name, row))]),
          )
          const journals = Array.from({ length: parts }, (_, at): JournalPart => ({ journal: at + 4, id: `0${at}` }))
          const head = { schema: 2, store: 's', commit: 3, counters: { a: 1 } }
          let snapshot: Snapshot = { ...head, rows, journals: [] }
          for (const partly of [true, true, false, true]) {
            const file = new DataFile(FILE, longFields)
            await file.write(snapshot)
            await file.replace(journals)
            const read = await (partly ? file.readPartly() : file.read())
            if (!read) throw new Error('there is no file')
            const size = (await fs.stat(FILE)).size
            const names = journals.map((part) => objectLine(part)).join('').length
            expect(file.partNames).toEqual({ from: size - names, to: size })
            const { rows: _, unread = {}, journals: found, ...rest } = read
            expect(rest).toEqual(head)
            expect(found).toEqual(journals)
            for (const [name, { count, odd }] of collections.map((each, at) => [`c${at}`, each] as const)) {
              if (partly && count >= 64 && odd.length === 0) expect(unread[name] ?? []).not.toEqual([])
              if (!partly || count < 63) expect(unread[name] ?? []).toEqual([])
            }
            // The chunks are in their order.
            for (const list of Object.values(read.rows)) {
              const ids = list.map(({ id }) => Number(id)).filter((id) => Number.isSafeInteger(id) && id >= 0)
              expect(ids).toEqual(ids.toSorted((one, other) => one - other))
            }
            snapshot = { ...withOneRead(read, parts), journals: [] }
            expect(JSON.stringify(allRows(read))).toBe(JSON.stringify(given))
          }
        }),
        { numRuns: howMuch(12, 120) },
      ),
    ),
  )

  test(
    'is read right, or refused, if its list of blocks says something else about them',
    onDisk(async () => {
      const notes = Array.from({ length: 700 }, (_, at) => kinds[0]?.(at) as Row)
      const file = new DataFile(FILE)
      await file.write({ schema: 1, store: 's', commit: 0, counters: {}, rows: { notes }, journals: [] })
      await file.replace([])
      const lines = (await fs.readFile(FILE, 'utf8')).trimEnd().split('\n')
      const { checksum: _, blocks, ...end } = JSON.parse(lines.pop() ?? '')
      const lies: [at: number, by: number][] = [2, 3].flatMap((at) =>
        [-512, -1, 1, 512].map((by): [number, number] => [at, by]),
      )
      let refused = 0
      for (const place of [0, 1])
        for (const [at, by] of lies) {
          const lying = structuredClone(blocks) as number[][]
          const [block] = lying.filter(({ length }) => length === 4).slice(place)
          if (block) block[at] = (block[at] ?? 0) + by
          await write(FILE, `${lines.join('\n')}\n${objectLine({ ...end, blocks: lying })}`)
          const read = await new DataFile(FILE).readPartly()
          const found = await Promise.resolve(read)
            .then((each) => each && allRows(each))
            .catch(failing)
          if (typeof found === 'string') refused++
          expect([{ notes }, 'its rows are not what its end says'], `${place}: ${at} ${by}`).toContainEqual(found)
        }
      expect(refused).toBeGreaterThan(0)
    }),
  )

  test(
    'names a part of the journal once, after its last whole line',
    onDisk(async () => {
      const file = new DataFile(FILE)
      await file.write({ schema: 1, store: 's', commit: 0, counters: {}, rows: {}, journals: [] })
      await file.replace([])
      const whole = await fs.readFile(FILE, 'utf8')
      const parts = [1, 2, 20].map((journal): JournalPart => ({ journal, id: '0a' }))
      let expected = whole
      for (const part of parts) {
        expected += objectLine(part)
        for (const left of ['', objectLine(part), objectLine(part).slice(0, 9), 'x'.repeat(700)]) {
          await write(FILE, expected.slice(0, -objectLine(part).length) + left)
          await appendJournalPart(FILE, part)
          expect(await fs.readFile(FILE, 'utf8'), left).toBe(expected)
        }
      }
    }),
  )
})

describe('the files at a path', () => {
  const LINES = '{"farthing":"data"'
  test.each<[files: Record<string, string>, format: string | RegExp, isOne: boolean]>([
    [{}, 'none', false],
    [{ '': LINES }, 'lines', true],
    [{ '': '' }, 'first', false],
    [{ '': '{"counters":{}}' }, 'first', false],
    [{ '': `damaged\n${objectLine({ a: 1 })}` }, 'lines', true],
    [{ '': `${objectLine({ a: 1 })}damaged\n` }, 'first', false],
    [{ '': `damaged\n${objectLine({ a: 1 }).trimEnd()}` }, 'first', false],
    [{ '': `\n${objectLine({ a: 1 })}` }, 'first', false],
    [{ '.previous': '' }, /the file is missing, and others/, true],
    [{ '.journal.000000001.0a': '' }, /the file is missing, and others/, true],
    [{ '.journal.1.0a': '' }, 'none', false],
    [{ '.journal': '' }, 'none', true],
    [{ '.journal': 'damaged\nlines\n' }, /the line is damaged/, true],
    [{ '.key': '' }, 'none', true],
  ])('%j have the format %s, and are a storage: %s', (files, format, isOne) =>
    onDisk(async () => {
      for (const [end, text] of Object.entries(files)) await write(FILE + end, text)
      const found = await formatOf(FILE).catch(failing)
      if (typeof format === 'string') expect(found).toBe(format)
      else expect(found).toMatch(format)
      expect(await isStorage(FILE)).toBe(isOne)
      const beside = [
        '',
        '.key',
        '.lock',
        '.previous',
        '.journal',
        '.journal.000000001.0a',
        '.v1',
        '.v12',
        '.next',
        '.long',
      ]
      for (const end of [...beside, '.v1.key', '.previous.next', '.long/0a'])
        expect(await storageAt(FILE + end), end).toBe(isOne ? FILE : undefined)
      for (const end of [...beside, '.v1.key']) expect(await storageAt(FILE + end, FILE), end).toBe(FILE)
      for (const end of ['.other', 'x', '.v', '.journal.1.0a', '.journal.000000001.', '.key.b'])
        expect(await storageAt(FILE + end), end).toBeUndefined()
    })(),
  )

  const state = { counters: { a: 1 }, rows: { notes: [{ id: 1 }] } }
  test.each<[document: object, fault: RegExp | undefined]>([
    [state, undefined],
    [{ ...state, format: 'farthing/1', store: 's', commit: 0, schema: 1 }, undefined],
    [{ ...state, format: 'farthing/2' }, /its format is "farthing\/2"/],
    [{ ...state, store: 1 }, /"store" is not a string/],
    [{ ...state, commit: -1 }, /"commit" is not a whole number/],
    [{ ...state, commit: 0.5 }, /"commit" is not a whole number/],
    [{ ...state, commit: '1' }, /"commit" is not a whole number/],
  ])('an exported state %j is refused with %s', (document, fault) =>
    onDisk(async () => {
      await write(FILE, JSON.stringify(document, null, 1))
      let bytes = 0
      expect(await readStateDocument(FILE, (read) => (bytes = read))).toMatchObject(state)
      expect(bytes).toBe((await fs.stat(FILE)).size + 1)
      const found = await readStored(FILE).catch(failing)
      if (fault) expect(found).toMatch(fault)
      else expect(found).toMatchObject({ format: 'first', commit: 0, journal: { end: 0, size: 0 } })
    })(),
  )
})

describe('a commit in the journal', () => {
  test.each([
    [{ commit: 1 }, true],
    [{ commit: 1, counters: { a: 1 }, rows: {}, removed: {} }, true],
    [{}, false],
    [{ commit: '1' }, false],
    [{ commit: 1, counters: { a: '1' } }, false],
    [{ commit: 1, counters: null }, false],
    [{ commit: 1, rows: null }, false],
    [{ commit: 1, rows: 'x' }, false],
  ])('%j is one: %s', (line, isOne) => expect(isCommit(line)).toBe(isOne))

  test('changes the rows as the transaction did', () => {
    const changes = fc.array(fc.tuple(fc.nat(5), fc.option(fc.constantFrom('a', 'long text', '~'))), { maxLength: 8 })
    fc.assert(
      fc.property(fc.array(changes, { maxLength: 5 }), (commits) => {
        const long = new LongFields(FILE)
        const strings = new SharedStrings()
        const tables = new Tables()
        const rows = new Map<number, Row>()
        for (const [at, each] of commits.entries()) {
          const changed = new Map(
            each.map(([id, body]) => [id, body === null ? null : { id, body: [body], owner: body }]),
          )
          const counters = { notes: at }
          for (const [id, row] of changed) row ? rows.set(id, row) : rows.delete(id)
          const line = journaled(at + 1, { changes: [{ collection: notes, rows: changed }], counters }, long)
          for (const lists of [line.rows, line.removed]) expect(Object.values(lists ?? {})).not.toContainEqual([])
          replay(JSON.parse(JSON.stringify(line)), tables, { strings, long })
          expect(tables.counters()).toEqual(counters)
          expect(tables.rowsIn('notes')).toEqual([...rows.values()].sort((a, b) => compareParts(a.id, b.id)))
        }
      }),
      { numRuns: howMuch(50, 500) },
    )
  })
})
