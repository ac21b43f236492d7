import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { copyStored } from '../../adapters/storage/file/backup.js'
import { type Storage, StorageUnavailable } from '../../src/storage/storage.js'
import { type DiskFault, diskFault, withFault, withoutReading } from '../support/storage/failing-disk.js'
import { idsIn, useFileStorages } from '../support/storage/file-storages.js'
import { notes } from '../support/storage/storage-model.js'
import { put } from './cases.js'

const storages = useFileStorages()
const { open, leave } = storages

const JOURNAL = /\.journal\./
const DATA = /data\.json$/
const NEXT = /\.json\.next$/
const DIRECTORY = /farthing-[^/]*$/

/** `stored`, or the name of the error. */
const outcomeOf = (write: Promise<unknown>): Promise<string> =>
  write.then(
    () => 'stored',
    (error: Error) => error.name,
  )

/** What a process finds on a disk that works if this one dies now. */
async function left(name: string, fault: DiskFault): Promise<unknown[]> {
  const { now } = fault
  fault.now = false
  const storage = await open({ file: await leave(name), warn: () => {} })
  const ids = await idsIn(storage)
  fault.now = now
  return ids
}

const manyAtOnce = (storage: Storage, from: number) =>
  Promise.all(Array.from({ length: 32 }, (_, n) => put(storage, { id: from + n })))

describe('while the disk fails', () => {
  test.for([
    { at: ['write'], file: JOURNAL, code: 'ENOSPC', outcome: 'StorageUnavailable' },
    { at: ['write', 'truncate'], file: JOURNAL, code: 'ENOSPC', outcome: 'OutcomeUnknown' },
    { at: ['sync'], file: JOURNAL, code: 'EIO', outcome: 'OutcomeUnknown' },
    { at: ['sync', 'truncate'], file: JOURNAL, code: 'EIO', outcome: 'OutcomeUnknown' },
  ] as const)(
    'at $at of the journal, the write is refused as $outcome, and reads show what is stored',
    async ({ outcome, ...which }) => {
      const fault = diskFault(which)
      await withFault(fault, async () => {
        // The data file is about to be rewritten as well, and must not hold what was refused.
        const storage = await open({ journalLimit: 0, warn: () => {} })
        await put(storage, { id: 1 })
        fault.now = true
        expect(await outcomeOf(put(storage, { id: 2 }))).toBe(outcome)
        expect(await idsIn(storage)).toEqual([1])
        expect(storage.fault?.message).toContain(`${fault.code}: this disk fails on purpose`)
        expect(await outcomeOf(put(storage, { id: 3 }))).toBe('StorageUnavailable')
        expect(await storage.read((tx) => tx.get(notes, 1))).toEqual({ id: 1 })
        const ids = await left('after the fault', fault)
        if (outcome === 'StorageUnavailable') expect(ids).toEqual([1])
        else expect([[1], [1, 2]]).toContainEqual(ids)

        fault.now = false
        await manyAtOnce(storage, 10)
        expect(storage.fault).toBeUndefined()
        const ids2 = await idsIn(storage)
        expect(ids2).toHaveLength(33)
        expect(await left('after the recovery', fault)).toEqual(ids2)
        await storage.close()
        expect(await idsIn(await open())).toEqual(ids2)
      })
    },
  )

  test.for([
    { at: ['create'], file: JOURNAL },
    { at: ['write'], file: JOURNAL },
    { at: ['sync'], file: JOURNAL },
    { at: ['syncDirectory'], file: DIRECTORY },
    { at: ['write'], file: DATA },
    { at: ['write', 'truncate'], file: DATA },
    { at: ['sync'], file: DATA },
    { at: ['sync', 'truncate'], file: DATA },
  ] as const)('at $at of $file, a part of the journal begins later, and few files are left', async (which) => {
    const fault = diskFault(which)
    await withFault(fault, async () => {
      const storage = await open({ partBytes: 0 })
      await put(storage, { id: 1 })
      fault.now = true
      for (let id = 2; id < 30; id++) expect(await outcomeOf(put(storage, { id }))).toBe('StorageUnavailable')
      expect(fault.count).toBeGreaterThan(0)
      expect(await idsIn(storage)).toEqual([1])
      expect(await left('during', fault)).toEqual([1])
      expect((await readdir(storages.directory)).length).toBeLessThan(8)
      fault.now = false
      await manyAtOnce(storage, 100)
      await manyAtOnce(storage, 200)
      const ids = await idsIn(storage)
      expect(ids).toHaveLength(65)
      expect(await left('after', fault)).toEqual(ids)
    })
  })

  test.for([
    ['create', NEXT],
    ['write', NEXT],
    ['sync', NEXT],
    ['rename', DATA],
    ['syncDirectory', DIRECTORY],
    ['create', JOURNAL],
    ['write', DATA],
    ['sync', DATA],
  ] as const)('at a %s of %s while the data file is rewritten, no commit is lost', async ([at, file]) => {
    const fault = diskFault({ at: [at, 'truncate'], file })
    const warnings: string[] = []
    await withFault(fault, async () => {
      const storage = await open({ journalLimit: 500, warn: (message) => warnings.push(message) })
      const stored: unknown[] = []
      const tryPut = async (id: number) => {
        if ((await outcomeOf(put(storage, { id }))) === 'stored') stored.push(id)
      }
      for (let id = 0; id < 120; id++) {
        fault.now = id < 60
        await Promise.all([tryPut(2 * id), tryPut(2 * id + 1)])
      }
      expect(fault.count).toBeGreaterThan(0)
      fault.now = false
      expect(stored.length).toBeGreaterThan(119)
      const ids = [...stored].sort((a, b) => Number(a) - Number(b))
      expect(await idsIn(storage)).toEqual(ids)
      // The data file may be rewritten at this moment.
      const copy = join(storages.directory, 'copy.json')
      await copyStored(storages.file, copy)
      expect(await idsIn(await open({ file: copy }))).toEqual(ids)
      await storage.close()
      expect(await idsIn(await open())).toEqual(ids)
    })
  })

  test.for([
    ['write', NEXT, 'StorageUnavailable', [1, 3]],
    ['sync', NEXT, 'StorageUnavailable', [1, 3]],
    ['rename', DATA, 'StorageUnavailable', [1, 3]],
    // The new file is in place by then.
    ['syncDirectory', DIRECTORY, 'OutcomeUnknown', [2, 3]],
  ] as const)('at a %s of %s, an import is refused as %s', async ([at, file, outcome, ids]) => {
    const fault = diskFault({ at: [at], file })
    await withFault(fault, async () => {
      const storage = await open()
      await put(storage, { id: 1 })
      fault.now = true
      const imported = { counters: {}, rows: { notes: [{ id: 2 }], service_keys: [{ id: 'key', value: 'new' }] } }
      expect(await outcomeOf(storage.import(imported))).toBe(outcome)
      expect(await idsIn(storage)).toEqual(ids.slice(0, 1))
      fault.now = false
      await put(storage, { id: 3 })
      expect(await idsIn(storage)).toEqual(ids)
      const state = await storage.export()
      expect(state.rows.service_keys).toEqual(ids[0] === 2 ? imported.rows.service_keys : undefined)
      expect(await (await open({ file: await leave('killed') })).export()).toEqual(state)
      await storage.close()
      expect(await (await open()).export()).toEqual(state)
    })
  })

  test('a write that read one that failed fails too, and a number is never used twice', async () => {
    const fault = diskFault({ at: ['write'], file: JOURNAL })
    await withFault(fault, async () => {
      const storage = await open()
      const next = () =>
        storage.write(async (tx) => {
          const number = await tx.nextId('notes')
          tx.put(notes, { id: number })
          return number
        })
      expect(await next()).toBe(1)
      fault.now = true
      const failing = put(storage, { id: 'read' })
      const reading = storage.write(async (tx) => {
        const row = await tx.get(notes, 'read')
        if (row) tx.put(notes, { id: 'copied' })
        return row
      })
      const looking = storage.read((tx) => tx.get(notes, 'read'))
      expect(await Promise.all([failing, reading, looking].map(outcomeOf))).toEqual(Array(3).fill('StorageUnavailable'))
      expect(await outcomeOf(next())).toBe('StorageUnavailable')
      fault.now = false
      const numbers = await Promise.all([next(), next(), next()])
      expect(new Set([1, ...numbers]).size).toBe(4)
      expect(await idsIn(storage)).toEqual([1, ...numbers])
      expect(await left('killed', fault)).toEqual([1, ...numbers])
    })
  })

  test('closing rejects, releases the lock, and keeps everything that was stored', async () => {
    const fault = diskFault({ at: ['write', 'create'], file: JOURNAL })
    await withFault(fault, async () => {
      const storage = await open({ wholeLimit: 0 })
      await put(storage, { id: 1 })
      fault.now = true
      await expect(put(storage, { id: 2 })).rejects.toThrow(StorageUnavailable)
      await expect(storage.close()).rejects.toThrow(/this disk fails on purpose/)
      await expect(storage.close()).rejects.toThrow(StorageUnavailable)
      storages.forget(storage)
      fault.now = false
      expect(await idsIn(await open())).toEqual([1])
    })
  })

  test('at the rewriting on close, the journal stays, and a warning says so', async () => {
    const fault = diskFault({ at: ['write'], file: NEXT })
    await withFault(fault, async () => {
      const warnings: string[] = []
      const storage = await open({ warn: (message) => warnings.push(message) })
      await put(storage, { id: 1 })
      fault.now = true
      await storage.close()
      fault.now = false
      expect(warnings).toEqual([expect.stringMatching(/could not be rewritten \(ENOSPC.*Nothing is lost/)])
      expect(await idsIn(await open())).toEqual([1])
    })
  })
})

test.each([
  [DATA, 'EACCES', 'Let the user who runs farthing read it'],
  [/data\.json\.key$/, 'EACCES', 'Let the user who runs farthing read it'],
  [/data\.json\.key$/, 'EMFILE', 'Too many files are open'],
  [/data\.json\.key$/, 'EIO', 'Restore a backup'],
] as const)('a file %s that cannot be read because of %s: the error says what to do', async (file, code, advice) => {
  const storage = await open()
  await put(storage, { id: 1 })
  await storage.close()
  await withoutReading(file, code, async () => {
    await expect(open()).rejects.toThrow(new RegExp(`${code}: no.*Nothing was changed.*${advice}`))
  })
  const again = await open()
  expect(await idsIn(again)).toEqual([1])
  await again.close()
})
