import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import os, { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { StorageLocked } from '../../adapters/storage/file.js'
import { howMuch } from '../support/how-much.js'
import { bundleForNode } from '../support/storage/bundle.js'
import { watchDisk } from '../support/storage/disk.js'
import { idsIn, useFileStorages } from '../support/storage/file-storages.js'
import type { Note } from '../support/storage/storage-model.js'
import { put } from './cases.js'

const storages = useFileStorages()
const { open, leave } = storages
const children: ChildProcess[] = []

let built = ''

beforeAll(async () => {
  built = await mkdtemp(join(tmpdir(), 'farthing-'))
  const source = fileURLToPath(new URL('../support/storage/storage-child.ts', import.meta.url))
  const outfile = join(built, 'writer.mjs')
  await bundleForNode(source, outfile)
})
afterAll(() => rm(built, { recursive: true }))

afterEach(() => Promise.all(children.splice(0).map(kill)))

/** A process that writes without end unless idle, and what it says: that it is open, then each commit promised. */
function startWriter(...idle: ['idle'?]): { child: ChildProcess; said: AsyncIterableIterator<string> } {
  const child = spawn(process.execPath, [join(built, 'writer.mjs'), storages.file, ...idle.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  return { child, said: createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]() }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

/** Lets a process write until it has promised so many commits, kills it amid its work, and gives all that it promised. */
async function killAfter(commits: number): Promise<number[]> {
  const { child, said } = startWriter()
  const promised: number[] = []
  for await (const line of said) {
    if (line !== 'open') promised.push(Number(line))
    if (promised.length === commits) child.kill('SIGKILL')
  }
  await kill(child)
  return promised
}

/** By when it is killed: the later, the more there is to read again. */
const ROUNDS = howMuch([0, 4, 19], [...Array(20).keys()])

test(`a process killed while it writes loses no commit that it promised, ${ROUNDS.length} times over`, async () => {
  const promised: number[] = []
  for (const round of ROUNDS) {
    promised.push(...(await killAfter(1 + round * 40)))
    // A copy is looked at: the next process finds what this one left.
    const storage = await open({ file: await leave(`killed ${round}`) })
    const { rows, counters } = await storage.export()
    await storage.close()
    const found = new Map((rows.notes as Note[]).map((row) => [row.id, row]))
    expect(promised.filter((number) => !found.has(number))).toEqual([])
    // Each commit put one note and moved one from left to right.
    expect(found.get('right')?.rank).toBe(found.size - 2)
    expect(found.get('left')?.rank).toBe(2 - found.size)
    expect(counters.notes).toBeGreaterThanOrEqual(Math.max(...promised))
  }
  expect(new Set(promised).size).toBe(promised.length)
})

test('a second process learns who has the storage, and takes it over once that process is dead', async () => {
  const { child, said } = startWriter('idle')
  await said.next()
  const error = await open().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(StorageLocked)
  expect(error).toMatchObject({ lock: `${storages.file}.lock`, holder: { pid: child.pid, host: hostname() } })
  expect((error as Error).message).toContain(`in use by process ${child.pid} on ${hostname()}`)
  await kill(child)
  const storage = await open()
  await put(storage, { id: 'taken over' })
  expect(await idsIn(storage)).toContain('taken over')
})

test('a second opening in the same process is refused until the first is closed', async () => {
  const storage = await open()
  await expect(open()).rejects.toThrow(`in use by process ${process.pid}`)
  await put(storage, { id: 1 })
  await storage.close()
  expect(await idsIn(await open())).toEqual([1])
})

const lockOf = (holder: object) => writeFile(`${storages.file}.lock`, JSON.stringify(holder))
const DEAD = 2 ** 22 + 1

test('one of many simultaneous openings gets the lock of a dead process', async () => {
  await lockOf({ pid: DEAD, host: hostname(), started: null, id: 'dead' })
  const tries = await Promise.allSettled(Array.from({ length: 20 }, () => open()))
  const refused = tries.filter((one): one is PromiseRejectedResult => one.status === 'rejected')
  expect(refused).toHaveLength(19)
  for (const { reason } of refused) expect(reason).toBeInstanceOf(StorageLocked)
  expect((await readdir(storages.directory)).sort()).toEqual(['data.json', 'data.json.lock'])
})

test('an opening that is late to a takeover leaves the lock of the faster one', async () => {
  await lockOf({ pid: DEAD, host: hostname(), started: null, id: 'dead' })
  const faster = { pid: DEAD, host: 'elsewhere.example.test', started: null, id: 'faster' }
  const disk = await watchDisk({
    before: (event) => (event.do === 'link' && event.to.endsWith('.takeover') ? lockOf(faster) : undefined),
  })
  try {
    await expect(open()).rejects.toThrow(StorageLocked)
  } finally {
    disk.stop()
  }
  expect(JSON.parse(await readFile(`${storages.file}.lock`, 'utf8'))).toEqual(faster)
  expect(await readdir(storages.directory)).toEqual(['data.json.lock'])
})

test('the lock of a process that died while it took over another is taken over', async () => {
  await lockOf({ pid: DEAD, host: hostname(), started: null, id: 'dead' })
  for (const takeover of ['.takeover', '.takeover.takeover'])
    await writeFile(
      `${storages.file}.lock${takeover}`,
      JSON.stringify({ pid: DEAD, host: hostname(), started: null, id: takeover }),
    )
  await put(await open(), { id: 1 })
  expect((await readdir(storages.directory)).sort()).toEqual([
    'data.json',
    expect.stringMatching(/^data\.json\.journal\.000000001\.[0-9a-f]{8}$/),
    'data.json.lock',
  ])
})

test('where the system does not tell its name, a lock names none, and its holder counts as alive', async () => {
  const refused = vi.spyOn(os, 'hostname').mockImplementation(() => {
    throw new Error('Requires sys access to "hostname"')
  })
  try {
    const storage = await open()
    expect(JSON.parse(await readFile(`${storages.file}.lock`, 'utf8'))).toMatchObject({ pid: process.pid, host: null })
    await put(storage, { id: 1 })
    await storage.close()
    await lockOf({ pid: DEAD, host: null, started: null, id: 'dead' })
    await expect(open()).rejects.toThrow(`in use by process ${DEAD} on an unknown host`)
  } finally {
    refused.mockRestore()
  }
  await expect(open()).rejects.toThrow(`in use by process ${DEAD} on an unknown host`)
})

test('a lock whose pid was reused by another process is taken over if the system can tell them apart', async () => {
  await lockOf({ pid: process.pid, host: hostname(), started: 'long ago', id: 'dead' })
  const opening = open().then(
    () => 'opened',
    (error: Error) => error.name,
  )
  expect(await opening).toBe(process.platform === 'linux' ? 'opened' : 'StorageLocked')
})

test.for([
  [
    'another machine',
    JSON.stringify({ pid: DEAD, host: 'elsewhere.example.test', started: null, id: 'far' }),
    'process',
  ],
  ['nobody readable', 'not JSON', 'a process that did not say who it is'],
  ['nobody at all', '', 'a process that did not say who it is'],
] as const)('a lock of %s is not taken over', async ([, lock, holder]) => {
  await writeFile(`${storages.file}.lock`, lock)
  await expect(open()).rejects.toThrow(new RegExp(`in use by ${holder}.*remove .*data\\.json\\.lock$`))
  expect(await readFile(`${storages.file}.lock`, 'utf8')).toBe(lock)
  expect(await readdir(storages.directory)).toEqual(['data.json.lock'])
})

test('a storage that closes leaves a lock that is not its own', async () => {
  const storage = await open()
  const other = { pid: DEAD, host: 'elsewhere.example.test', started: null, id: 'far' }
  await lockOf(other)
  await storage.close()
  expect(JSON.parse(await readFile(`${storages.file}.lock`, 'utf8'))).toEqual(other)
})
