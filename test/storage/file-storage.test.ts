import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { StorageDamaged, StorageLocked } from '../../adapters/storage/file.js'
import { type State, StorageUnavailable } from '../../src/storage/storage.js'
import { watchDisk } from '../support/storage/disk.js'
import { idsIn, useFileStorages } from '../support/storage/file-storages.js'
import { notes } from '../support/storage/storage-model.js'
import { put } from './cases.js'

const storages = useFileStorages()
const { open, leave, contents } = storages

describe('the data file', () => {
  test('is one private, readable JSON document of the exported state after closing, and the journal is empty', async () => {
    const path = join(storages.directory, 'made', 'for', 'it')
    const storage = await open({ file: join(path, 'data.json') })
    const many = Array.from({ length: 9000 }, (_, n) => ({ id: (n * 7919) % 9001 }))
    await put(storage, ...many, { id: 'a', body: { b: [{}] } })
    const state = await storage.export()
    await storage.close()
    const text = await readFile(join(path, 'data.json'), 'utf8')
    const { counters, rows, ...head } = JSON.parse(text) as State & object
    expect(text).toBe(`${JSON.stringify({ ...head, counters, rows }, null, 2)}\n`)
    expect(head).toEqual({ format: 'farthing/1', store: expect.any(String), commit: 1 })
    expect({ counters, rows }).toEqual(state)
    expect(await contents(path)).toEqual({ 'data.json': expect.any(String), 'data.json.journal': '' })
    expect(await readdir(path)).toHaveLength(2)
    if (process.platform !== 'win32') expect((await stat(join(path, 'data.json'))).mode & 0o077).toBe(0)
  })

  test('may be a state that was exported elsewhere', async () => {
    const state = { counters: { a: 4 }, rows: { notes: [{ id: 1, owner: 'o' }] } }
    await writeFile(storages.file, JSON.stringify(state))
    const storage = await open()
    expect(await storage.export()).toEqual(state)
    expect(await storage.write((tx) => tx.nextId('a'))).toBe(5)
    await storage.close()
    expect((await (await open()).export()).counters).toEqual({ a: 5 })
  })

  test.for([
    '',
    'null',
    '0',
    '[]',
    '{"counters":{}}',
    '{"counters":{},"rows":{}',
    '{"counters":{},"rows":{"notes":[{"id":1},{"id":1}]}}',
    '{"format":"farthing/2","store":"s","commit":0,"counters":{},"rows":{}}',
    '{"format":"farthing/1","store":"s","commit":-1,"counters":{},"rows":{}}',
  ])('is unchanged and named in the error if it has no state: %s', async (text) => {
    await writeFile(storages.file, text)
    const error = await open().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(StorageDamaged)
    expect(error).toMatchObject({ file: storages.file, line: undefined })
    expect((error as Error).message).toMatch(/data\.json: .*Nothing was changed.*move it and its journal away/)
    expect(await readdir(storages.directory)).toEqual(['data.json'])
    expect(await readFile(storages.file, 'utf8')).toBe(text)
  })

  test.for(['data.json', 'data.json.journal'])(
    'and its journal are named when they cannot be read: %s',
    async (name) => {
      await mkdir(join(storages.directory, name))
      await expect(open()).rejects.toThrow(StorageDamaged)
      await expect(open()).rejects.toThrow(
        new RegExp(`${name}: the file cannot be read \\(EISDIR.*Nothing was changed`),
      )
      expect(await readdir(storages.directory)).toEqual([name])
    },
  )

  test('keeps NUL characters and lone surrogates', async () => {
    const storage = await open()
    const text = '\u0000 \ud800 \udfff'
    await put(storage, { id: text, body: text })
    const killed = await open({ file: await leave('killed') })
    expect(await killed.read((tx) => tx.get(notes, text))).toEqual({ id: text, body: text })
    await storage.close()
    expect(await (await open()).read((tx) => tx.get(notes, text))).toEqual({ id: text, body: text })
  })

  test('is rewritten when the journal grows, without loss or duplicates', async () => {
    const storage = await open({ journalLimit: 2000 })
    const sizes: number[] = []
    for (let round = 0; round < 40; round++) {
      const three = [0, 1, 2].map((n) => ({ id: round * 3 + n, body: 'x'.repeat(100) }))
      await Promise.all(three.map((row) => put(storage, row, { id: 'last', rank: round })))
      sizes.push((await stat(`${storages.file}.journal`)).size)
    }
    expect(sizes.some((size, i) => size < (sizes[i - 1] ?? 0))).toBe(true)
    const rewritten = JSON.parse(await readFile(storages.file, 'utf8')) as { commit: number }
    expect(rewritten.commit).toBeGreaterThan(0)
    const state = await storage.export()
    expect(state.rows.notes).toHaveLength(121)
    expect(await (await open({ file: await leave('killed') })).export()).toEqual(state)
  })

  test('is the same storage through two paths', async () => {
    await open()
    await mkdir(join(storages.directory, 'elsewhere'))
    const link = join(storages.directory, 'elsewhere', 'link.json')
    await symlink(storages.file, link)
    await expect(open({ file: link })).rejects.toThrow(StorageLocked)
  })
})

/** A data file of the beginning, and a journal of one line for each of these rows, as a process leaves them that died. */
async function journalOf(...ids: number[]): Promise<{ file: string; journal: Buffer }> {
  const storage = await open()
  for (const id of ids) await put(storage, { id, body: id % 2 ? 'é' : '\u{1f600}' })
  const file = await leave(`left ${ids}`)
  await storage.close()
  return { file, journal: await readFile(`${file}.journal`) }
}

describe('the journal', () => {
  test('is cut before an incomplete last line', async () => {
    const { file, journal } = await journalOf(1, 2, 3)
    const start = await readFile(file)
    const lastLine = journal.lastIndexOf('\n', journal.length - 2) + 1
    for (let length = lastLine; length < journal.length; length++) {
      await writeFile(file, start)
      await writeFile(`${file}.journal`, journal.subarray(0, length))
      const storage = await open({ file })
      expect(await idsIn(storage)).toEqual([1, 2])
      expect(await readFile(`${file}.journal`)).toEqual(journal.subarray(0, lastLine))
      await storage.close()
    }
    await writeFile(file, start)
    await writeFile(`${file}.journal`, journal)
    expect(await idsIn(await open({ file }))).toEqual([1, 2, 3])
  })

  test('is cut before a damaged last line, and continues from there', async () => {
    const { file, journal } = await journalOf(1, 2)
    const start = await readFile(file)
    const lastLine = journal.lastIndexOf('\n', journal.length - 2) + 1
    for (const at of [lastLine, lastLine + 8, lastLine + 20, journal.length - 2]) {
      const changed = Buffer.from(journal)
      changed.writeUInt8((changed[at] as number) ^ 1, at)
      await writeFile(file, start)
      await writeFile(`${file}.journal`, changed)
      const storage = await open({ file })
      expect(await idsIn(storage)).toEqual([1])
      await put(storage, { id: 3 })
      const longer = (await readFile(`${file}.journal`)).subarray(lastLine)
      await storage.close()
      await writeFile(file, start)
      await writeFile(`${file}.journal`, Buffer.concat([journal.subarray(0, lastLine), longer]))
      const again = await open({ file })
      expect(await idsIn(again)).toEqual([1, 3])
      await again.close()
    }
  })

  test('is unchanged if it is damaged before its last line, and the error names the line', async () => {
    const { file, journal } = await journalOf(1, 2, 3)
    const [header, one, two, three] = journal.toString().split('\n') as [string, string, string, string]
    const damages: [string[], number][] = [
      [[header, one, two.replace('"id":2', '"id":9'), three], 3],
      [[`0${header}`, one, two, three], 1],
      [[header, '', two, three], 2],
      [[header, one, `${two} `, three], 3],
      [[header, one, three], 3],
      [[header, two, three], 2],
      [[header, two, one, three], 2],
      [[header, one, two, two, three], 4],
      [[one, two, three], 1],
    ]
    for (const [lines, line] of damages) {
      await writeFile(`${file}.journal`, lines.map((each) => `${each}\n`).join(''))
      const before = await contents(dirname(file))
      const error = await open({ file }).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(StorageDamaged)
      expect(error).toMatchObject({ file: `${file}.journal`, line })
      expect((error as Error).message).toMatch(new RegExp(`data\\.json\\.journal, line ${line}: .*Nothing was changed`))
      expect(await contents(dirname(file))).toEqual(before)
      expect(await readdir(dirname(file))).toHaveLength(2)
    }
    await writeFile(`${file}.journal`, journal)
    expect(await idsIn(await open({ file }))).toEqual([1, 2, 3])
  })

  test('of another or a missing data file is unchanged', async () => {
    const { file, journal } = await journalOf(1)
    await writeFile(file, '{"counters":{},"rows":{}}')
    await expect(open({ file })).rejects.toThrow(/line 1: this journal goes on from another data file/)
    await rm(file)
    await expect(open({ file })).rejects.toThrow(/line 1: this journal goes on from another data file/)
    expect(await readdir(dirname(file))).toEqual(['data.json.journal'])
    expect(await readFile(`${file}.journal`)).toEqual(journal)
  })

  test('next to an older data file is unchanged', async () => {
    const { file } = await journalOf(1, 2)
    const older = await readFile(file)
    await (await open({ file })).close()
    const storage = await open({ file })
    await put(storage, { id: 3 })
    const journal = await readFile(`${file}.journal`)
    await storage.close()
    await writeFile(file, older)
    await writeFile(`${file}.journal`, journal)
    await expect(open({ file })).rejects.toThrow(/line 2: commit 1 is missing before this one, 3/)
    expect(await contents(dirname(file))).toEqual({
      'data.json': older.toString('latin1'),
      'data.json.journal': journal.toString('latin1'),
    })
  })

  test('is not applied again if the data file already contains it', async () => {
    const storage = await open()
    await put(storage, { id: 1, rank: 1 }, { id: 2 })
    await put(storage, { id: 1, rank: 2 })
    await storage.write(async (tx) => tx.remove(notes, 2))
    await storage.write((tx) => tx.nextId('n'))
    const journal = await readFile(`${storages.file}.journal`)
    const state = await storage.export()
    await storage.close()
    for (const lines of [5, 3]) {
      const held = journal.toString().split('\n').slice(0, lines).join('\n')
      await writeFile(`${storages.file}.journal`, `${held}\n`)
      const again = await open()
      expect(await again.export()).toEqual(state)
      await put(again, { id: 3 })
      expect(await idsIn(await open({ file: await leave(`killed ${lines}`) }))).toEqual([1, 3])
      await again.write(async (tx) => tx.remove(notes, 3))
      await again.close()
    }
  })
})

test('writers, readers and exporters wait until the disk has the commit', async () => {
  let release = () => {}
  let held: Promise<void> | undefined
  const disk = await watchDisk({ before: (event) => (event.do === 'sync' ? held : undefined) })
  try {
    const storage = await open()
    held = new Promise((resolve) => {
      release = resolve
    })
    const promises = [
      put(storage, { id: 1 }),
      storage.read((tx) => tx.get(notes, 1)),
      storage.write((tx) => tx.get(notes, 1)),
      storage.export(),
      storage.import({ counters: {}, rows: {} }),
      storage.close(),
    ]
    let settled = 0
    for (const promise of promises) promise.then(() => settled++)
    for (let turn = 0; turn < 100; turn++) await setImmediate()
    expect(settled).toBe(0)
    release()
    const state = { counters: {}, rows: { notes: [{ id: 1 }] } }
    expect(await Promise.all(promises)).toEqual([undefined, { id: 1 }, { id: 1 }, state, undefined, undefined])
  } finally {
    release()
    disk.stop()
  }
})

/** Makes some operations fail while the test says so; a write gets half of its bytes to the disk before. */
async function withFailing(
  fails: { at: readonly string[]; file: RegExp; code: string; now: boolean },
  body: () => Promise<void>,
): Promise<void> {
  const disk = await watchDisk({
    async before(event) {
      if (!fails.now || !fails.at.includes(event.do) || !fails.file.test(event.path)) return
      if (event.do === 'write' && event.handle) {
        fails.now = false
        await event.handle.write(event.bytes, 0, event.bytes.length >> 1, event.at)
        fails.now = true
      }
      throw Object.assign(new Error(`${fails.code}: this disk fails on purpose`), { code: fails.code })
    },
  })
  try {
    await body()
  } finally {
    disk.stop()
  }
}

describe('a failing disk', () => {
  // Where even the truncation fails, a whole line stays of the two that were refused; it was promised to nobody.
  test.for([
    { at: ['write'], code: 'ENOSPC', left: [1] },
    { at: ['write', 'truncate'], code: 'ENOSPC', left: [1, 2] },
    { at: ['sync'], code: 'EIO', left: [1] },
  ])(
    'at $at of the journal makes the storage refuse this write and all later calls until it is opened again',
    async ({ at, code, left }) => {
      const fails = { at, file: /\.journal$/, code, now: false }
      await withFailing(fails, async () => {
        // The data file is about to be rewritten as well, and should not hold what was refused.
        const storage = await open({ journalLimit: 0 })
        await put(storage, { id: 1 })
        fails.now = true
        const refused = [put(storage, { id: 2 }), put(storage, { id: 3 }), storage.read((tx) => tx.get(notes, 2))]
        for (const outcome of await Promise.allSettled(refused)) {
          const { reason } = outcome as PromiseRejectedResult
          expect(reason).toBeInstanceOf(StorageUnavailable)
          expect((reason as Error).message).toContain(`${code}: this disk fails on purpose`)
          expect((reason as Error).message).toContain('open the storage again')
        }
        fails.now = false
        await expect(put(storage, { id: 4 })).rejects.toThrow(StorageUnavailable)
        await expect(storage.export()).rejects.toThrow(StorageUnavailable)
        await storage.close()
        expect(await idsIn(await open())).toEqual(left)
      })
    },
  )

  test.for([
    ['write', /\.json\.next$/],
    ['sync', /\.json\.next$/],
    ['rename', /\.json$/],
    ['write', /\.journal\.next$/],
    ['sync', /\.journal\.next$/],
    ['rename', /\.journal$/],
  ] as const)(
    'at a %s of %s while the data file is rewritten loses no commit, and causes a warning',
    async ([at, file]) => {
      const fails = { at: [at], file, code: 'ENOSPC', now: false }
      const warnings: string[] = []
      await withFailing(fails, async () => {
        const storage = await open({ journalLimit: 500, warn: (message) => warnings.push(message) })
        fails.now = true
        for (let id = 0; id < 30; id++) await Promise.all([put(storage, { id }), put(storage, { id: `${id}` })])
        expect(await idsIn(storage)).toHaveLength(60)
        expect(await idsIn(await open({ file: await leave('killed'), warn: () => {} }))).toHaveLength(60)
        await expect.poll(() => warnings[0]).toMatch(/could not be rewritten \(ENOSPC.*Nothing is lost/)
        fails.now = false
        for (let id = 30; id < 60; id++) await put(storage, { id })
        const state = await storage.export()
        const told = warnings.length
        await storage.close()
        expect(warnings).toHaveLength(told)
        expect((await readdir(storages.directory)).sort()).toEqual(['data.json', 'data.json.journal', 'killed'])
        expect(await (await open()).export()).toEqual(state)
      })
    },
  )

  test('at an import makes the storage refuse it and all later calls until it is opened again', async () => {
    const fails = { at: ['write'], file: /\.json\.next$/, code: 'ENOSPC', now: false }
    await withFailing(fails, async () => {
      const storage = await open()
      await put(storage, { id: 1 })
      fails.now = true
      const importing = storage.import({ counters: {}, rows: { notes: [{ id: 2 }] } })
      await expect(importing).rejects.toThrow(/data\.json could not be written \(ENOSPC.*open the storage again/)
      fails.now = false
      await expect(storage.export()).rejects.toThrow(StorageUnavailable)
      await storage.close()
      expect(await idsIn(await open())).toEqual([1])
    })
  })

  test('at the rewriting on close keeps the journal, and releases the lock', async () => {
    const fails = { at: ['write'], file: /\.json\.next$/, code: 'ENOSPC', now: false }
    await withFailing(fails, async () => {
      const warnings: string[] = []
      const storage = await open({ warn: (message) => warnings.push(message) })
      await put(storage, { id: 1 })
      fails.now = true
      await storage.close()
      fails.now = false
      expect(warnings).toHaveLength(1)
      expect(await idsIn(await open())).toEqual([1])
    })
  })
})
