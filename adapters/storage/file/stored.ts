import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { schemaHistory } from '../../../src/core.js'
import { assertState, StateReader } from '../../../src/storage/state.js'
import type { AnyCollection, State } from '../../../src/storage/storage.js'
import { type Migration, migrateTables, pendingMigrations, schemaOf } from '../../../src/storage/tables/migration.js'
import { Tables } from '../../../src/storage/tables/tables.js'
import { hasCode, isObject, messageOf } from '../../../src/storage/unknown.js'
import { isCommit, type JournaledCommit, LongFields, replay, SharedStrings } from './commit.js'
import { DataFile } from './data-file.js'
import { exists, withFile } from './disk.js'
import { type OnDamage, StorageDamaged } from './errors.js'
import { holdsCommit, type JournalPart, type PartNames, partFile, partsBeside, readPart } from './journal-part.js'
import { KeyFile } from './key-file.js'
import { parseLine, readLines } from './line.js'

export interface Stored {
  /** `first` is that of version 0.1, and of exported states. `none`: there is no file. */
  readonly format: 'lines' | 'first' | 'none'
  readonly schema: number
  /** Empty if the data file is an exported state, or missing. */
  readonly store: string
  readonly commit: number
  /** The rows of that commit, also those of the key file. Older ones are not migrated yet. */
  readonly tables: Tables
  readonly pending: readonly Migration[]
  readonly keyFile: KeyFile
  readonly long: LongFields
  /** In bytes: where the last commit of the newest part ends, and the size of all parts. */
  readonly journal: { readonly parts: readonly JournalPart[]; readonly end: number; readonly size: number }
  readonly partNames: PartNames
}

type Read = Pick<Stored, 'schema' | 'store' | 'commit' | 'tables'> & Partial<Pick<Stored, 'journal' | 'partNames'>>

/** Reads the files of a storage, and changes nothing. Throws `StorageDamaged` and `SchemaNewer`. */
export async function readStored(path: string): Promise<Stored> {
  const format = await formatOf(path)
  const long = new LongFields(path)
  const nothing = { schema: schemaHistory.current, store: '', commit: 0, tables: new Tables() }
  const read: Read =
    format === 'lines' ? await readLinesFormat(path, long) : format === 'first' ? await readFirst(path, long) : nothing
  const keyFile = await KeyFile.open(`${path}.key`)
  for (const [name, rows] of Object.entries(keyFile.settle(read.commit)))
    for (const row of rows) read.tables.restore(name, row.id, row)
  const pending = await pendingMigrations(schemaHistory, { schema: read.schema, what: path })
  const noJournal = { journal: { parts: [], end: 0, size: 0 }, partNames: { from: 0, to: 0 } }
  return { format, ...noJournal, ...read, keyFile, long, pending }
}

/** Brings the rows to the schema of this release. Throws `StorageDamaged`. */
export const migrateStored = (path: string, { tables, pending }: Pick<Stored, 'tables' | 'pending'>): Promise<void> =>
  migrateTables(tables, pending).catch((cause: unknown) => {
    throw new StorageDamaged(path, undefined, `its rows cannot be migrated (${messageOf(cause)})`, { cause })
  })

/** Throws `StorageDamaged`. */
export function checkUniqueKeys(path: string, tables: Tables, collections: readonly AnyCollection[]): void {
  try {
    tables.checkUniqueKeys(collections)
  } catch (cause) {
    throw new StorageDamaged(path, undefined, `two rows have one key (${messageOf(cause)})`, { cause })
  }
}

/** Whether a path is a data file, perhaps a damaged one, and not an exported state. */
export async function isStorage(path: string): Promise<boolean> {
  const format = await formatOf(path).catch((error: unknown) => (isNoFile(error) ? 'none' : 'lines'))
  return format === 'lines' || (await exists(`${path}.journal`)) || (await exists(`${path}.key`))
}

/** It is a directory, or there is none that could hold it. */
function isNoFile(error: unknown): boolean {
  const cause = error instanceof StorageDamaged ? error.cause : error
  return ['ENOENT', 'ENOTDIR', 'EISDIR'].some((code) => hasCode(cause, code))
}

/** What a storage keeps beside its data file, and the copy of before a migration. */
const BESIDE = /^(.+)\.(?:key|lock|previous|journal|journal\.\d{9,}\.[0-9a-f]+|v\d+|next|long)$/

/** The data file of which a path is one of the files, or would be. Undefined if of none. `data`: one that may not exist yet. */
export async function storageAt(path: string, data?: string): Promise<string | undefined> {
  const isOne = async (file: string) => file === data || (await isStorage(file))
  if (await isOne(path)) return path
  const outer = BESIDE.exec(path)?.[1] ?? BESIDE.exec(dirname(path))?.[1]
  return outer === undefined ? undefined : storageAt(outer, data)
}

const START = '{"farthing":"data"'
const ENOUGH = 1 << 16

/** Even if one of the first two lines is damaged. */
function hasLines(start: Buffer): boolean {
  if (start.toString('latin1', 0, START.length) === START) return true
  const first = start.indexOf('\n')
  const second = start.indexOf('\n', first + 1)
  return first > 0 && second > 0 && parseLine(start.subarray(first + 1, second)) !== undefined
}

/** Throws `StorageDamaged`. */
export async function formatOf(path: string): Promise<Stored['format']> {
  if (!(await exists(path))) {
    const isLost = (await exists(`${path}.previous`)) || (await partsBeside(path)).length > 0
    if (isLost)
      throw new StorageDamaged(path, undefined, 'the file is missing, and others of its storage are beside it')
    if (await exists(`${path}.journal`)) await readFirstJournal(`${path}.journal`, { store: '', commit: 0 })
    return 'none'
  }
  try {
    const { buffer, bytesRead } = await withFile(path, 'r', (handle) => handle.read(Buffer.alloc(ENOUGH), 0, ENOUGH, 0))
    return hasLines(buffer.subarray(0, bytesRead)) ? 'lines' : 'first'
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

const unreadable = (file: string, cause: unknown): StorageDamaged =>
  new StorageDamaged(file, undefined, `the file cannot be read (${messageOf(cause)})`, { cause })

async function readLinesFormat(path: string, long: LongFields): Promise<Read> {
  const file = new DataFile(path, long)
  const snapshot = await file.readPartly()
  if (!snapshot) throw new StorageDamaged(path, undefined, 'the file is missing')
  const { schema, store, journals } = snapshot
  const tables = checkedTables(path, snapshot)
  const parts = journals.filter(({ journal }, at) => journals[at + 1]?.journal !== journal)
  const { commit, end, size } = await replayParts(path, parts, {
    ...{ store, tables, long, commit: snapshot.commit },
    onGap(from, { journal }) {
      throw new StorageDamaged(path, undefined, `its journal starts at commit ${journal} instead of ${from}`)
    },
  })
  await checkUnnamedParts(path, journals, commit)
  return { schema, store, commit, tables, journal: { parts, end, size }, partNames: file.partNames }
}

function checkedTables(path: string, state: State): Tables {
  try {
    return Tables.ofChecked(state)
  } catch (cause) {
    throw new StorageDamaged(path, undefined, messageOf(cause), { cause })
  }
}

interface Replaying extends Pick<Stored, 'store' | 'commit' | 'tables' | 'long'> {
  readonly onDamage?: OnDamage
  /** The commits from `from` on are missing before a part. */
  onGap(from: number, part: JournalPart): void
}

/** Puts the commits of a journal into the tables of a data file. Returns the last one. Throws `StorageDamaged`. */
export async function replayParts(path: string, parts: readonly JournalPart[], replaying: Replaying) {
  const { store, tables, long, onDamage, onGap } = replaying
  const strings = new SharedStrings()
  let { commit } = replaying
  let end = 0
  let size = 0
  for (const [at, part] of parts.entries()) {
    if (part.journal > commit + 1) onGap(commit + 1, part)
    const next = parts[at + 1]
    end = await readPart(partFile(path, part), {
      ...{ part, store, until: next && next.journal - 1, onDamage },
      commit(read) {
        if (read.commit <= commit) return
        commit = read.commit
        replay(read, tables, { strings, long })
      },
    })
    size += end
  }
  return { commit, end, size }
}

/** Commits in a part that the data file does not name are newer than it: it is an older file. */
async function checkUnnamedParts(path: string, named: readonly JournalPart[], commit: number): Promise<void> {
  for (const part of await partsBeside(path)) {
    if (part.journal <= commit || named.some(({ id }) => id === part.id)) continue
    const file = partFile(path, part)
    if (await holdsCommit(file))
      throw new StorageDamaged(
        path,
        undefined,
        `the file ends at commit ${commit}, and ${file} goes on to later ones that do not continue it. An older data ` +
          'file was put here. To open it as it is, move its journal to another folder and keep it: it holds newer writes',
      )
  }
}

/**
 * The files of version 0.1: the data file is one JSON document, and the journal is one file, `<file>.journal`, whose
 * lines are a checksum and JSON. An exported state is such a document too, without `store` and `commit`.
 */

const FORMAT = 'farthing/1'

async function readFirst(path: string, long: LongFields): Promise<Read> {
  const snapshot = await readStateDocument(path)
    .then(firstSnapshot)
    .catch((cause: unknown) => {
      throw new StorageDamaged(path, undefined, `this is not a state (${messageOf(cause)})`, { cause })
    })
  const tables = new Tables(snapshot)
  const commits = await readFirstJournal(`${path}.journal`, snapshot)
  const strings = new SharedStrings()
  for (const commit of commits) replay(commit, tables, { strings, long })
  const commit = commits.at(-1)?.commit ?? snapshot.commit
  return { schema: schemaOf(snapshot), store: snapshot.store, commit, tables }
}

/** Reads an exported state. `onRead` gets the bytes so far. Throws a SyntaxError or a TypeError if it is none. Its rows are not checked. */
export async function readStateDocument(file: string, onRead: (bytes: number) => void = () => {}): Promise<State> {
  const reader = new StateReader()
  let read = 0
  for await (const lines of readLines(file)) {
    for (const { bytes } of lines) {
      reader.add(bytes.toString())
      read += bytes.length + 1
    }
    onRead(read)
  }
  return reader.state()
}

function firstSnapshot(document: unknown) {
  assertState(document)
  const {
    counters,
    rows,
    schema,
    format = FORMAT,
    store = '',
    commit = 0,
  } = { ...document } as State & Partial<Record<'schema' | 'format' | 'store' | 'commit', unknown>>
  if (format !== FORMAT) throw new TypeError(`its format is ${JSON.stringify(format)}, which this version cannot read`)
  if (typeof store !== 'string') throw new TypeError('"store" is not a string')
  if (!isWholeNumber(commit)) throw new TypeError('"commit" is not a whole number from 0 up')
  return { counters, rows, store, commit, ...(schema !== undefined && { schema }) }
}

const isWholeNumber = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** The commits after `commit`. A missing file holds none, and a torn last line was never confirmed. Throws `StorageDamaged`. */
async function readFirstJournal(
  file: string,
  { store, commit }: Pick<Stored, 'store' | 'commit'>,
): Promise<JournaledCommit[]> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    if (hasCode(cause, 'ENOENT')) return Buffer.alloc(0)
    throw unreadable(file, cause)
  })
  const [header, ...commits] = parsedLines(file, bytes)
  if (!header) return []
  if (header.journal !== FORMAT || header.store !== store)
    throw new StorageDamaged(file, 1, 'this journal does not continue the data file beside it')
  const following: JournaledCommit[] = []
  let last: number | undefined
  for (const [at, each] of commits.entries()) {
    const line = at + 2
    if (!isCommit(each)) throw new StorageDamaged(file, line, 'it is not a commit')
    if (last === undefined ? each.commit > commit + 1 : each.commit !== last + 1)
      throw new StorageDamaged(file, line, `commit ${(last ?? commit) + 1} is missing before this one, ${each.commit}`)
    last = each.commit
    if (each.commit > commit) following.push(each)
  }
  return following
}

function parsedLines(file: string, bytes: Buffer): Record<string, unknown>[] {
  const lines: Record<string, unknown>[] = []
  let start = 0
  for (let end = bytes.indexOf('\n'); end >= 0; end = bytes.indexOf('\n', start)) {
    const content = parse(bytes.subarray(start, end))
    // Only the last line can be incomplete.
    if (!content && end === bytes.length - 1) break
    if (!content) throw new StorageDamaged(file, lines.length + 1, 'the line is damaged')
    lines.push(content)
    start = end + 1
  }
  return lines
}

function parse(bytes: Buffer): Record<string, unknown> | undefined {
  const json = bytes.subarray(9)
  if (bytes.toString('latin1', 0, 9) !== `${crc32(json).toString(16).padStart(8, '0')} `) return undefined
  const content: unknown = JSON.parse(json.toString())
  return isObject(content) ? content : undefined
}
