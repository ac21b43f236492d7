import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { fileStorage } from '../../adapters/storage/file.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { SCHEMA } from '../../src/migrations/schema.js'
import type { State, Storage } from '../../src/storage/storage.js'
import { howMuch, isWhole } from '../support/how-much.js'
import { type DiskEvent, DiskModel, layOut, watchDisk } from '../support/storage/disk.js'
import { notes } from '../support/storage/storage-model.js'

const COMMITS = 20

/** The commits of one life of a process, among them one that only counts and one that replaces everything. */
function commitsOf(storage: Storage, life: number): (() => Promise<unknown>)[] {
  const first = life * COMMITS
  const body = 'words '.repeat(life + 2)
  const commits = Array.from({ length: COMMITS }, (_, n) => (): Promise<unknown> => {
    return storage.write(async (tx) => {
      const number = await tx.nextId('notes')
      tx.put(notes, { id: `${n % 4}`, owner: life, rank: number, body })
      tx.put(notes, { id: first + n, owner: life, body })
      tx.remove(notes, first + n - 3)
    })
  })
  commits[3] = () => storage.write((tx) => tx.nextId('other'))
  const rows = { notes: [{ id: first }, { id: `import ${life}` }] }
  commits[17] = () => storage.import({ counters: { notes: 100 * life }, rows })
  return commits
}

/** Some one after the other, some at once, and some while others are on their way and the data file is rewritten. */
async function run(storage: Storage, life: number, promised: (commit: number) => void): Promise<void> {
  const commits = commitsOf(storage, life)
  const one = async (n: number) => {
    await commits[n]?.()
    promised(n + 1)
  }
  for (const n of [0, 1]) await one(n)
  await Promise.all([2, 3, 4].map(one))
  const going: Promise<void>[] = []
  for (let n = 5; n < 18; n++) {
    going.push(one(n))
    for (let turn = 0; turn <= n % 5; turn++) await setImmediate()
  }
  await Promise.all(going)
  for (const n of [18, 19]) await one(n)
}

/** A state and those after each commit of a life, as the storage that has no files has them. */
async function statesOf(life: number, from: State): Promise<string[]> {
  const storage = memoryStorage()
  await storage.import(from)
  const states = [JSON.stringify(from)]
  for (const commit of commitsOf(storage, life)) {
    await commit()
    states.push(JSON.stringify(await storage.export()))
  }
  return states
}

/** What happened on the disk, and the states that were possible by then. */
interface Happened {
  readonly event: DiskEvent
  readonly states: readonly string[]
}

/** Lives of a process, each ended by its death when it is about to sync for so many times, or by a close. */
async function recordLives(directory: string, deaths: readonly number[]): Promise<Happened[][]> {
  const file = join(directory, 'data.json')
  const lives: Happened[][] = []
  let states: readonly string[] = [JSON.stringify({ schema: SCHEMA, counters: {}, rows: {} })]
  let dead = false
  let left = 0
  let die = () => {}
  const disk = await watchDisk({
    before: (event) => {
      dead ||= event.do.startsWith('sync') && left-- <= 0
      if (!dead) return
      die()
      return new Promise<void>(() => {})
    },
  })
  const keep = () => lives.at(-1)?.push(...disk.events.splice(0).map((event) => ({ event, states })))

  async function live(life: number): Promise<void> {
    const storage = await fileStorage({ file, journalLimit: 300, partBytes: life === 0 ? 100_000 : 150 })
    keep()
    const before = states.length
    states = [...states, ...(await statesOf(life, await storage.export()))]
    const promised = (commit: number) => disk.events.push({ do: 'promised', commit: before + commit })
    promised(0)
    await run(storage, life, promised)
    await storage.close()
  }

  for (const [life, syncs] of deaths.entries()) {
    const death = new Promise<void>((resolve) => {
      die = resolve
    })
    left = syncs
    dead = false
    lives.push([])
    await Promise.race([live(life), death])
    // What a dead process was about to do comes to the closed gate before the next life opens it.
    if (dead) for (let turn = 0; turn < 200; turn++) await setImmediate()
    keep()
    await disk.closeAll()
    if (dead) for (const name of await readdir(directory)) await bury(join(directory, name))
  }
  disk.stop()
  return lives
}

async function bury(file: string): Promise<void> {
  if (file.includes('.lock')) await writeFile(file, deadHolder(await readFile(file)))
}

/**
 * Opens what a crash left and says which of the states it holds; then, if it `goesOn`, writes as one would, and crashes
 * once more.
 */
async function recover(directory: string, states: readonly string[], goesOn: boolean): Promise<number> {
  const first = await fileStorage({ file: join(directory, 'data.json') })
  const found = states.lastIndexOf(JSON.stringify(await first.export()))
  if (!goesOn) {
    await first.close()
    return found
  }
  await first.write(async (tx) => tx.put(notes, { id: 'after the crash' }))
  const copy = join(directory, 'copy')
  for (const name of await readdir(directory))
    if (name.startsWith('data.json') && !name.includes('.lock')) await cp(join(directory, name), join(copy, name))
  const second = await fileStorage({ file: join(copy, 'data.json') })
  expect(JSON.stringify(await second.export())).toBe(JSON.stringify(await first.export()))
  await Promise.all([first.close(), second.close()])
  return found
}

/** A lock as every crash leaves it: no process has this pid. */
function deadHolder(lock: Buffer): Buffer {
  return Buffer.from(lock.toString().replace(/"pid":\d+/, `"pid":${2 ** 22 + 1}`))
}

/** A write may be cut short as well. */
function inHalves(event: DiskEvent): DiskEvent[] {
  if (event.do !== 'write') return [event]
  return [{ ...event, bytes: event.bytes.subarray(0, event.bytes.length / 2) }, event]
}

const everything = () => true
const nothing = () => false
const journals = (file: string) => file.includes('.journal')
const others = (file: string) => !journals(file)

/** What of the names and of the contents is there: each of these with each, or both alike and both apart. */
const parts = [everything, nothing, journals, others]
const kept = howMuch(
  [
    [everything, everything],
    [nothing, nothing],
    [everything, nothing],
    [nothing, everything],
    [journals, others],
    [others, journals],
  ] as const,
  parts.flatMap((names) => parts.map((contents) => [names, contents] as const)),
)

/** What of the files is there after an operation: each way, or every third in turn. */
const keptAt = (operation: number) => kept.filter((_, way) => isWhole || (way + operation) % 3 === 0)

/** Stops the machine after each operation of the last of those lives, and says how many different disks that left. */
async function crashEverywhere(directory: string, deaths: readonly number[]): Promise<number> {
  const written = join(directory, 'written')
  await mkdir(written)
  const lives = await recordLives(written, deaths)
  const last = lives.pop() ?? []
  const disk = new DiskModel()
  const images = new Set<string>()
  let promised = 0
  let at = 0
  const happen = (event: DiskEvent) => {
    disk.apply(event)
    if (event.do === 'promised') promised = event.commit
  }
  for (const { event } of lives.flat()) happen(event)
  for (const { event, states } of last.flatMap(({ event, states }) =>
    inHalves(event).map((part) => ({ event: part, states })),
  )) {
    happen(event)
    // What the process did is there when only the process died; any part of it may be missing when the machine did.
    for (const [names, contents] of keptAt(at++)) {
      const files = disk.files(written, { names, contents })
      for (const [file, bytes] of files) if (file.includes('.lock')) files.set(file, deadHolder(bytes))
      const image = `${promised} ${[...files].map(([file, bytes]) => `${file} ${bytes.toString('latin1')}`).sort()}`
      if (images.has(image)) continue
      images.add(image)
      const copy = join(directory, `${images.size}`)
      layOut(files, written, copy)
      const found = await recover(copy, states, isWhole || images.size % 3 === 0)
      const where = `at a ${event.do} after commit ${promised}, with names of ${names.name}, contents of ${contents.name}`
      expect(found, `${where}: the state is not one that ever was`).not.toBe(-1)
      expect(found, `${where}: a promised commit is missing`).toBeGreaterThanOrEqual(promised)
      await rm(copy, { recursive: true })
    }
  }
  return images.size
}

async function inDirectory(body: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'farthing-'))
  try {
    await body(directory)
  } finally {
    await rm(directory, { recursive: true })
  }
}

const CLOSED = Number.POSITIVE_INFINITY

test('after a crash at any point, every promised commit is there, and none is there in part', () =>
  inDirectory(async (directory) => {
    expect(await crashEverywhere(directory, [CLOSED])).toBeGreaterThan(60)
    await rm(directory, { recursive: true })
    await mkdir(directory)
    expect(await crashEverywhere(directory, [CLOSED, CLOSED])).toBeGreaterThan(60)
  }))

test.for(howMuch([13], [1, 2, 3, 5, 8, 13, 16, 19, 27, 34, 41, 47]))(
  'a process that starts after a crash before sync %i may itself crash at any point and lose no promised commit',
  (syncs) =>
    inDirectory(async (directory) => {
      expect(await crashEverywhere(directory, [syncs, 9])).toBeGreaterThan(5)
    }),
)
