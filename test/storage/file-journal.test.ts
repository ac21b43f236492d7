import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { partFile } from '../../adapters/storage/file/journal-part.js'
import { readStored } from '../../adapters/storage/file/stored.js'
import { StorageDamaged } from '../../adapters/storage/file.js'
import { idsIn, useFileStorages } from '../support/storage/file-storages.js'
import { put } from './cases.js'

const storages = useFileStorages()
const { open, leave, contents } = storages

interface Left {
  readonly file: string
  /** The files of the parts, in order. */
  readonly parts: readonly string[]
}

/** What a process leaves that dies after a commit for each id. By default, each commit has a part of its own. */
async function leftAfter(ids: readonly number[], partBytes = 0): Promise<Left> {
  const storage = await open({ partBytes })
  for (const id of ids) await put(storage, { id, body: id % 2 ? 'é' : '\u{1f600}' })
  const file = await leave(`left ${ids}`)
  await storage.close()
  return { file, parts: (await readStored(file)).journal.parts.map((part) => partFile(file, part)) }
}

/** Expects an opening to be refused, and every file to stay as it is. */
async function refused(file: string, message: RegExp): Promise<void> {
  const before = await contents(dirname(file))
  const error = await open({ file }).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(StorageDamaged)
  expect((error as Error).message).toMatch(message)
  expect((error as Error).message).toContain('Nothing was changed')
  expect(await contents(dirname(file))).toEqual(before)
}

const textOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')

describe('the journal', () => {
  test('begins a part when the one before is large enough', async () => {
    expect((await leftAfter([1, 2, 3])).parts).toHaveLength(3)
    expect((await leftAfter([4, 5, 6], 1 << 20)).parts).toHaveLength(1)
  })

  test.for([0, 1, 2])('without part %i of three is refused', async (at) => {
    const { file, parts } = await leftAfter([1, 2, 3])
    await rm(parts[at] ?? '')
    await refused(file, /this part of the journal is missing/)
  })

  test.for([0, 1, 2])('with an empty part %i of three is refused', async (at) => {
    const { file, parts } = await leftAfter([1, 2, 3])
    await writeFile(parts[at] ?? '', '')
    await refused(file, /line 1: this part of the journal is empty/)
  })

  test.for([0, 1])('whose part %i of three lacks its last line is refused', async (at) => {
    const { file, parts } = await leftAfter([1, 2, 3])
    const text = await readFile(parts[at] ?? '', 'utf8')
    await writeFile(parts[at] ?? '', text.slice(0, text.indexOf('\n') + 1))
    await refused(file, /the commits from \d to \d are missing at its end/)
  })

  test('with two parts in each other’s place is refused', async () => {
    const { file, parts } = await leftAfter([1, 2, 3])
    const [first = '', second = ''] = parts
    await rename(first, `${first}.aside`)
    await rename(second, first)
    await rename(`${first}.aside`, second)
    await refused(file, /line 1: this journal does not continue the data file beside it/)
  })

  test('beside an older data file is refused, and names both', async () => {
    const storage = await open({ partBytes: 0 })
    await put(storage, { id: 1 })
    const older = await readFile(await leave('older'))
    for (const id of [2, 3]) await put(storage, { id })
    const file = await leave('newer')
    await writeFile(file, older)
    await refused(file, /ends at commit 1, and .*journal\.000000002\.\w+ goes on.*An older data file was put here/)
  })

  test('without its data file is refused', async () => {
    const { file } = await leftAfter([1])
    await rm(file)
    await refused(file, /the file is missing, and others of its storage are beside it/)
  })

  test('with lines missing, repeated or in another order is refused, with the line', async () => {
    const { file, parts } = await leftAfter([1, 2, 3], 1 << 20)
    const [part = ''] = parts
    const [head = '', one = '', two = '', three = ''] = (await readFile(part, 'utf8')).split('\n')
    const damages: [string[], number][] = [
      [[head, one, two.replace('"id":2', '"id":9'), three], 3],
      [[`0${head}`, one, two, three], 1],
      [[head, '', two, three], 2],
      [[head, one, `${two} `, three], 3],
      [[head, one, three], 3],
      [[head, two, three], 2],
      [[head, two, one, three], 2],
      [[head, one, two, two, three], 4],
      [[one, two, three], 1],
    ]
    for (const [lines, line] of damages) {
      await writeFile(part, textOf(lines))
      await refused(file, new RegExp(`journal\\.\\d+\\.\\w+, line ${line}: `))
    }
    await writeFile(part, textOf([head, one, two, three]))
    expect(await idsIn(await open({ file }))).toEqual([1, 2, 3])
  })

  test('is cut before half a line at its end, and goes on from there', async () => {
    const { file, parts } = await leftAfter([1, 2], 1 << 20)
    const [part = ''] = parts
    const [data, journal] = [await readFile(file), await readFile(part)]
    const lastLine = journal.lastIndexOf('\n', journal.length - 2) + 1
    const empty = Buffer.alloc(journal.length - lastLine)
    const ends = Array.from({ length: journal.length - lastLine }, (_, length) =>
      journal.subarray(0, lastLine + length),
    )
    for (const [at, end] of [...ends, Buffer.concat([journal.subarray(0, lastLine), empty])].entries()) {
      for (const name of await readdir(dirname(file))) await rm(`${dirname(file)}/${name}`)
      await writeFile(file, data)
      await writeFile(part, end)
      const storage = await open({ file, wholeLimit: 0 })
      expect(await idsIn(storage)).toEqual([1])
      await put(storage, { id: 3 })
      await storage.close()
      const { commit, tables } = await readStored(file)
      expect([commit, tables.state().rows.notes?.map(({ id }) => id)], `cut ${at}`).toEqual([2, [1, 3]])
    }
  })
})

test.each(['data file', 'part'])(
  'half a line at the end of a %s is gone from the disk once its storage is open',
  async (which) => {
    for (const [n, length] of [1, 7, 20, -1].entries()) {
      const { file, parts } = await leftAfter([10 * n + 1, 10 * n + 2], 1 << 20)
      const path = which === 'part' ? (parts[0] ?? '') : file
      const whole = await readFile(path)
      const lastLine = whole.subarray(whole.lastIndexOf('\n', whole.length - 2) + 1)
      await writeFile(path, Buffer.concat([whole, lastLine.subarray(0, length)]))
      const storage = await open({ file, wholeLimit: 0 })
      expect((await readFile(path)).equals(whole), `${length}`).toBe(true)
      await put(storage, { id: 1000 + n })
      await storage.close()
      expect(await idsIn(await open({ file }))).toContain(1000 + n)
    }
  },
)
