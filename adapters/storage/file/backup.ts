import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { schemaHistory } from '../../../src/core.js'
import type { Row } from '../../../src/storage/storage.js'
import { Tables } from '../../../src/storage/tables/tables.js'
import { messageOf } from '../../../src/storage/unknown.js'
import { LongFields } from './commit.js'
import { DataFile, type Snapshot } from './data-file.js'
import { exists } from './disk.js'
import { type OnDamage, StorageDamaged } from './errors.js'
import { holdsCommit, type JournalPart, partFile, partsBeside } from './journal-part.js'
import { divideRows, KeyFile } from './key-file.js'
import { formatOf, readStored, replayParts, type Stored } from './stored.js'

const TRIES = 20
const BETWEEN_MS = 100

/** Copies a storage, with every write confirmed so far, while others may use it. Throws `StorageDamaged` and `SchemaNewer`, and leaves no file. */
export async function copyStored(path: string, to: string): Promise<{ commit: number; rows: number }> {
  for (let attempt = 1; ; attempt++)
    try {
      const { schema, store, commit, tables } = await readStored(path)
      if (commit === 0 && !(await exists(path))) throw new StorageDamaged(path, undefined, 'the file is missing')
      const { counters, rows } = tables.state()
      await writeStored(to, { schema, store, commit, counters, rows })
      return { commit, rows: countRows(rows) }
    } catch (error) {
      // The process that uses it may have replaced files in between.
      if (!(error instanceof StorageDamaged) || attempt === TRIES) throw error
      await delay(BETWEEN_MS)
    }
}

/** Writes a state into a new data file and its key file, and reads it again. Throws `StorageDamaged` if the disk lost some. */
export async function writeStored(to: string, { rows, ...head }: Omit<Snapshot, 'journals'>): Promise<void> {
  const { together, apart } = divideRows(rows)
  const file = new DataFile(to)
  try {
    await file.write({ ...head, rows: together, journals: [] })
    const written = await new DataFile(`${to}.next`).read()
    if (!written || countRows(written.rows) !== countRows(together))
      throw new StorageDamaged(to, undefined, 'the disk did not keep what was written')
    const { commit } = head
    if (Object.keys(apart).length > 0) (await KeyFile.open(`${to}.key`)).write({ commit, rows: apart }, commit)
    await file.replace([])
  } catch (error) {
    await file.discard()
    await rm(`${to}.key`, { force: true })
    throw error
  }
}

const countRows = (rows: Snapshot['rows']): number =>
  Object.values(rows).reduce((count, list) => count + list.length, 0)

export interface Salvaged extends Pick<Stored, 'schema' | 'store' | 'commit' | 'tables'> {
  /** Where it was read from: the data file, or the one before it. Both with the journal. */
  readonly from: string
  /** Everything that is wrong with the files. */
  readonly damages: readonly StorageDamaged[]
  /** What is wrong with `from` and its journal. Empty if nothing is lost. */
  readonly losses: readonly StorageDamaged[]
  /** How many rows that are damaged there were read from the other data file. */
  readonly filled: number
}

/**
 * Reads the files of a storage, and changes nothing. Goes on after damage. Reads the data file before this one too, and
 * uses it where it has more. Throws `StorageDamaged` if no data file can be read, and `SchemaNewer`.
 */
export async function salvage(path: string): Promise<Salvaged> {
  const format = (await exists(path)) ? await formatOf(path) : 'lines'
  if (format !== 'lines') {
    const { schema, store, commit, tables } = await readStored(path)
    return { schema, store, commit, tables, from: path, damages: [], losses: [], filled: 0 }
  }
  const long = new LongFields(path)
  const current = await readData(path, long)
  const previous = current && current.damages.length === 0 ? undefined : await readData(`${path}.previous`, long)
  const read: Candidate[] = []
  for (const data of [current, previous])
    if (data) read.push(await withJournal(path, data, await journalFor(path, data, [previous, current])))
  const [first, second] = read.sort((a, b) => b.commit - a.commit || a.losses.length - b.losses.length)
  if (!first) throw new StorageDamaged(path, undefined, 'the file is missing, and no file before it is here')
  const keys = await readKeys(path, first.commit)
  for (const [name, rows] of Object.entries(keys.rows)) for (const row of rows) first.tables.restore(name, row.id, row)
  const filled = first.losses.length > 0 && second?.commit === first.commit ? fill(first.tables, second.tables) : 0
  const losses = [...first.losses, ...keys.losses, ...emptyUnreadableFields(path, first.tables)]
  const missing = new StorageDamaged(path, undefined, 'the file is missing')
  const damages = distinct([...(current ? [] : [missing]), ...read.flatMap((each) => each.losses), ...losses])
  return { ...first, filled, damages, losses }
}

/** Empties the long fields whose files cannot be read. Returns what is wrong with the files. */
function emptyUnreadableFields(path: string, tables: Tables): StorageDamaged[] {
  const damages: StorageDamaged[] = []
  for (const [name, rows] of Object.entries(tables.state().rows))
    for (const row of rows) {
      const unreadable = [...unreadableFields(row)]
      if (unreadable.length === 0) continue
      const fields = Object.getOwnPropertyDescriptors(row)
      for (const [field, cause] of unreadable) {
        const where = `${field} of row ${JSON.stringify(row.id)} of ${name}`
        damages.push(new StorageDamaged(`${path}.long`, undefined, `${where} cannot be read (${messageOf(cause)})`))
        Object.assign(fields, { [field]: { value: '', enumerable: true } })
      }
      tables.restore(name, row.id, Object.defineProperties({ id: row.id }, fields))
    }
  return damages
}

/** The fields of a row that are in files of their own and cannot be read, and why. */
export function* unreadableFields(row: Row): Generator<readonly [field: string, cause: unknown]> {
  for (const [field, { get }] of Object.entries(Object.getOwnPropertyDescriptors(row)))
    try {
      get?.call(row)
    } catch (cause) {
      yield [field, cause]
    }
}

interface ReadData {
  readonly file: string
  readonly snapshot: Snapshot
  readonly damages: StorageDamaged[]
}

async function readData(file: string, long: LongFields): Promise<ReadData | undefined> {
  const damages: StorageDamaged[] = []
  const snapshot = await new DataFile(file, long).read((damage) => damages.push(damage))
  return snapshot ? { file, snapshot, damages } : undefined
}

type Candidate = Omit<Salvaged, 'damages' | 'filled'>

/** The parts that continue a data file, in order, one for each number: the last one that a data file names. */
async function journalFor(
  path: string,
  { snapshot }: ReadData,
  named: readonly (ReadData | undefined)[],
): Promise<JournalPart[]> {
  const parts = new Map<number, JournalPart>()
  for (const part of await partsBeside(path))
    if (await holdsCommit(partFile(path, part)).catch(() => true)) parts.set(part.journal, part)
  for (const data of named) for (const part of data?.snapshot.journals ?? []) parts.set(part.journal, part)
  return [...parts.values()].filter(({ journal }) => journal > snapshot.commit).sort((a, b) => a.journal - b.journal)
}

async function withJournal(path: string, data: ReadData, parts: readonly JournalPart[]): Promise<Candidate> {
  const { snapshot, file } = data
  const { store } = snapshot
  const losses = [...data.damages]
  const onDamage: OnDamage = (damage) => losses.push(damage)
  const tables = tablesOf(data, onDamage)
  const hasHead = store !== ''
  const { commit } = await replayParts(path, parts, {
    ...{ store, tables, long: new LongFields(path), onDamage },
    commit: hasHead ? snapshot.commit : (parts[0]?.journal ?? 1) - 1,
    onGap(from, part) {
      const missing = `the commits from ${from} to ${part.journal - 1} are missing before it`
      onDamage(new StorageDamaged(partFile(path, part), undefined, missing))
    },
  })
  return { schema: hasHead ? snapshot.schema : schemaHistory.current, store, commit, tables, from: file, losses }
}

/** The rows of a data file. Of several with one id, the first is kept. */
function tablesOf({ file, snapshot: { counters, rows } }: ReadData, onDamage: OnDamage): Tables {
  const tables = new Tables({ counters, rows: {} })
  for (const [name, list] of Object.entries(rows))
    for (const row of list)
      if (tables.has(name, row.id))
        onDamage(new StorageDamaged(file, undefined, `two rows of ${name} have the id ${JSON.stringify(row.id)}`))
      else tables.restore(name, row.id, row)
  return tables
}

async function readKeys(path: string, commit: number) {
  try {
    return { rows: (await KeyFile.open(`${path}.key`)).settle(commit), losses: [] }
  } catch (error) {
    if (error instanceof StorageDamaged) return { rows: {}, losses: [error] }
    throw error
  }
}

/** Puts rows that only the other tables hold. Both are of the same commit. Returns how many. */
function fill(tables: Tables, other: Tables): number {
  const { counters, rows } = other.state()
  const known = tables.counters()
  for (const [name, last] of Object.entries(counters)) tables.setCounter(name, Math.max(last, known[name] ?? 0))
  let filled = 0
  for (const [name, list] of Object.entries(rows))
    for (const row of list) {
      if (tables.has(name, row.id)) continue
      tables.restore(name, row.id, row)
      filled++
    }
  return filled
}

function distinct(damages: readonly StorageDamaged[]): StorageDamaged[] {
  return [...new Map(damages.map((damage) => [`${damage.file} ${damage.line} ${damage.reason}`, damage])).values()]
}
