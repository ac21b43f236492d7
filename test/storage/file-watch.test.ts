import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { copyFile, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { hostname } from 'node:os'
import { describe, expect, test } from 'vitest'
import { watchFiles } from '../../adapters/storage/file/disk.js'
import { readStored } from '../../adapters/storage/file/stored.js'
import { type Row, StorageUnavailable } from '../../src/storage/storage.js'
import { idsIn, useFileStorages } from '../support/storage/file-storages.js'
import { put } from './cases.js'

const storages = useFileStorages()
const { open } = storages

const onUnix = test.skipIf(process.platform === 'win32')

describe('files that a different program changes', () => {
  onUnix.for(['data file', 'journal'] as const)(
    'a deleted %s is noticed, and the state is saved beside it',
    async (which) => {
      const warnings: string[] = []
      const storage = await open({ warn: (message) => warnings.push(message) })
      const key: Row & { value: string } = { id: 'key', value: 'k' }
      await storage.import({ counters: {}, rows: { notes: [{ id: 1 }], service_keys: [key] } })
      await put(storage, { id: 2 })
      const state = await storage.export()
      const journal = (await readStored(storages.file)).journal.parts[0]
      const name = `${storages.file}.journal.${String(journal?.journal).padStart(9, '0')}.${journal?.id}`
      await rm(which === 'journal' ? name : storages.file)
      await expect.poll(() => warnings).toHaveLength(1)
      expect(warnings[0]).toMatch(
        /was deleted by a different program\. Everything that was confirmed is in .*\.saved-2/,
      )
      await expect(put(storage, { id: 3 })).rejects.toThrow(StorageUnavailable)
      expect(storage.fault?.reason).toMatch(/deleted or replaced/)
      expect(await idsIn(storage)).toEqual([1, 2])
      await expect(storage.close()).rejects.toThrow(StorageUnavailable)
      storages.forget(storage)
      const saved = await open({ file: `${storages.file}.saved-2` })
      expect(await saved.export()).toEqual(state)
    },
  )

  onUnix('a replaced data file is noticed, and stays as it is', async () => {
    const warnings: string[] = []
    const storage = await open({ warn: (message) => warnings.push(message) })
    await put(storage, { id: 1 })
    const other = `${storages.file}.other`
    await copyFile(storages.file, other)
    await rename(other, storages.file)
    const replaced = await readFile(storages.file)
    await expect.poll(() => warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(/was replaced by a different program/)
    await expect(storage.close()).rejects.toThrow(StorageUnavailable)
    storages.forget(storage)
    expect(await readFile(storages.file)).toEqual(replaced)
  })
})

test('of two that write, the one that lost the lock stops, and the other loses nothing', async () => {
  const loser = await open({ warn: () => {} })
  for (let id = 0; id < 5; id++) await put(loser, { id })
  await rm(`${storages.file}.lock`)
  const winner = await open()
  const writes = Array.from({ length: 10 }, (_, n) => [
    put(winner, { id: 100 + n }),
    put(loser, { id: 200 + n }),
  ]).flat()
  const outcomes = (await Promise.allSettled(writes)).map(({ status }) => status)
  expect(outcomes.filter((_, at) => at % 2 === 0)).toEqual(Array(10).fill('fulfilled'))
  expect(outcomes.filter((_, at) => at % 2 === 1)).toEqual(Array(10).fill('rejected'))
  expect(loser.fault?.reason).toBe('a different process has the storage open')
  await expect(loser.import({ counters: {}, rows: {} })).rejects.toThrow(StorageUnavailable)
  await expect(loser.close()).rejects.toThrow(/in use by process/)
  storages.forget(loser)
  const expected = await winner.export()
  expect(expected.rows.notes).toHaveLength(15)
  await winner.close()
  expect(await (await open()).export()).toEqual(expected)
})

test('one that lost the lock and writes nothing does not replace the files when it closes', async () => {
  const loser = await open({ warn: () => {} })
  await put(loser, { id: 1 })
  await rm(`${storages.file}.lock`)
  const winner = await open()
  await put(winner, { id: 2 })
  await loser.close().catch((error: unknown) => expect(error).toBeInstanceOf(StorageUnavailable))
  storages.forget(loser)
  await put(winner, { id: 3 })
  await winner.close()
  expect(await idsIn(await open())).toEqual([1, 2, 3])
})

onUnix('an opening waits for a process that is about to end', async () => {
  const lock = `${storages.file}.lock`
  await writeFile(lock, JSON.stringify({ pid: process.ppid, host: hostname(), started: null, id: 'ending' }))
  const opening = open()
  await new Promise((resolve) => setTimeout(resolve, 100))
  await rm(lock)
  await put(await opening, { id: 1 })
})

test.runIf(process.platform === 'linux')(
  'a process that has ended and that nobody has asked about holds no lock',
  async () => {
    // The shell becomes a program that never asks about the child that it has. The child ends after that.
    const parent = spawn('sh', ['-c', 'sleep 1 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] })
    try {
      const [said] = (await once(parent.stdout, 'data')) as [Buffer]
      const pid = Number(said.toString())
      const stateOf = async () => (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.[0]
      await expect.poll(stateOf).toBe('Z')
      await writeFile(`${storages.file}.lock`, JSON.stringify({ pid, host: hostname(), started: null, id: 'ended' }))
      await put(await open(), { id: 1 })
    } finally {
      parent.kill('SIGKILL')
    }
  },
  20_000,
)

test('a file of which the system tells nothing is looked at again', async () => {
  const { statSync } = fs
  let failed = 0
  const failing = () => {
    failed++
    throw Object.assign(new Error('EIO: i/o error, stat'), { code: 'EIO' })
  }
  Object.assign(fs, { statSync: failing })
  syncBuiltinESMExports()
  const reports: string[] = []
  const watch = watchFiles(
    () => [{ file: storages.file, identity: '1:1' }],
    (what) => reports.push(what),
  )
  try {
    await expect.poll(() => failed).toBe(1)
    expect(reports).toEqual([])
  } finally {
    Object.assign(fs, { statSync })
    syncBuiltinESMExports()
  }
  await expect.poll(() => reports).toEqual([`${storages.file} was deleted by a different program`])
  watch.end()
})
