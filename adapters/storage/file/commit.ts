import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { areCounters } from '../../../src/storage/state.js'
import { type Key, type Row, StorageUnavailable } from '../../../src/storage/storage.js'
import type { Commit } from '../../../src/storage/tables/serial.js'
import type { Tables } from '../../../src/storage/tables/tables.js'
import type { Changes } from '../../../src/storage/transaction.js'
import { hasCode, isObject, messageOf } from '../../../src/storage/unknown.js'
import { syncDirectoryNow, writeFileNow } from './disk.js'
import { isSystemError, reasonOf, StorageDamaged } from './errors.js'

export interface JournaledCommit {
  readonly commit: number
  readonly counters?: Readonly<Record<string, number>> | undefined
  readonly rows?: Readonly<Record<string, readonly Row[]>> | undefined
  readonly removed?: Readonly<Record<string, readonly Key[]>> | undefined
}

export function journaled(commit: number, { changes, counters }: Commit, long: LongFields): JournaledCommit {
  const rows: Record<string, Row[]> = {}
  let removed: Record<string, Key[]> | undefined
  for (const { collection, rows: changed } of changes) {
    const put: Row[] = []
    for (const [id, row] of changed)
      if (row) put.push(long.lineOf(row))
      else ((removed ??= {})[collection.name] ??= []).push(id)
    if (put.length > 0) rows[collection.name] = put
  }
  return { commit, counters, rows, removed }
}

/** The checksum of its line shows that `journaled` made the rest. */
export function isCommit(line: object): line is JournaledCommit {
  if (!('commit' in line) || typeof line.commit !== 'number') return false
  if ('counters' in line && line.counters !== undefined && !areCounters(line.counters)) return false
  return !('rows' in line) || isObject(line.rows)
}

export function replay(
  { counters = {}, rows = {}, removed = {} }: JournaledCommit,
  tables: Tables,
  { strings, long }: { readonly strings: SharedStrings; readonly long: LongFields },
): void {
  for (const [name, last] of Object.entries(counters)) tables.setCounter(name, last)
  for (const [name, ids] of Object.entries(removed)) for (const id of ids) tables.restore(name, id, null)
  for (const [name, put] of Object.entries(rows))
    for (const row of put) {
      strings.share(name, row)
      tables.restore(name, row.id, long.open(name, row))
    }
}

/** Puts the long fields of all rows into files, for rows that did not come by a commit. */
export function storeLongFields(tables: Tables, long: LongFields): void {
  for (const [name, rows] of Object.entries(tables.state().rows))
    for (const row of rows) {
      const stored = long.storeRow(name, row)
      if (stored !== row) tables.restore(name, row.id, stored)
    }
}

/** Lets equal strings of rows that follow each other, such as hashes and hostnames, share their memory. */
export class SharedStrings {
  readonly #last = new Map<string, Row>()

  share(collection: string, row: Row): void {
    const last = this.#last.get(collection)
    if (last) shareBetween(row, last)
    this.#last.set(collection, row)
  }
}

/** Shorter strings cost as much as the reference to them. */
const SHORT = 3

function shareBetween(value: object, last: object): void {
  const parts = value as Record<string, unknown> // A list has its places as names.
  const former = last as Record<string, unknown>
  for (const name in parts) {
    const part = parts[name]
    const before = former[name]
    if (typeof part === 'string') {
      if (part.length > SHORT && part === before) parts[name] = before
    } else if (isParent(part) && isParent(before)) shareBetween(part, before)
  }
}

const isParent = (value: unknown): value is object => typeof value === 'object' && value !== null

/** How many characters a field may have that stays in its row. */
const LONG = 16_384
/** The digests of a row's long fields, as its line in the data file or the journal has them. */
const DIGESTS = 'long_fields'

/**
 * The long text fields of rows, such as the answers of purchases. Each is a file in `<data file>.long`, named by the
 * SHA-256 digest of its content, so that neither memory nor the data file holds it. Whoever reads the field of such a
 * row reads the file.
 */
export class LongFields {
  /** Rows with long fields, as their lines have them. */
  readonly #lines = new WeakMap<Row, Row>()
  readonly #collections = new Set<string>()
  /** The digests in use when files were last removed. */
  #before: ReadonlySet<string> | undefined
  /** Whether the names of all files are on the disk. A process may have died before they were, or a sync have failed. */
  #isSettled = false

  constructor(readonly dataFile: string) {}

  get #directory(): string {
    return `${this.dataFile}.long`
  }

  /** The changes with rows whose long fields are in files, and on the disk. It is synchronous, so that commits stay in order. */
  store(changes: readonly Changes[]): readonly Changes[] {
    if (!changes.some(({ rows }) => [...rows.values()].some((row) => row && hasLongField(row)))) return changes
    return changes.map(({ collection, rows }) => ({
      collection,
      rows: new Map([...rows].map(([id, row]) => [id, row && this.storeRow(collection.name, row)])),
    }))
  }

  storeRow(collection: string, row: Row): Row {
    if (this.#lines.has(row) || !hasLongField(row)) return row
    const line: [field: string, value: unknown][] = []
    const digests: [field: string, digest: string][] = []
    for (const [field, value] of Object.entries(row))
      if (isLong(value)) digests.push([field, this.#write(value)])
      else line.push([field, value])
    // A field may be called `__proto__`.
    const stored = { id: row.id, ...Object.fromEntries(line), [DIGESTS]: Object.fromEntries(digests) }
    return this.open(collection, stored)
  }

  /** The row of a line. Its long fields are read from their files when someone asks for them. */
  open(collection: string, line: Row): Row {
    const digests = digestsOf(line)
    if (!digests) return line
    const row: Row = { ...line }
    Reflect.deleteProperty(row, DIGESTS)
    for (const [field, digest] of Object.entries(digests))
      Object.defineProperty(row, field, { enumerable: true, get: () => this.#read(digest) })
    this.#lines.set(row, line)
    this.#collections.add(collection)
    return Object.freeze(row)
  }

  lineOf(row: Row): Row {
    return this.#lines.get(row) ?? row
  }

  /** Removes files that no row needs, nor needed at the last call. `rowsIn` gives the rows of the data file and of memory. */
  removeUnused(rowsIn: (collection: string) => readonly Row[]): void {
    const used = new Set<string>()
    for (const collection of this.#collections)
      for (const row of rowsIn(collection))
        for (const digest of Object.values(digestsOf(this.lineOf(row)) ?? {})) used.add(digest)
    const before = this.#before
    this.#before = used
    if (!before) return
    for (const name of existsSync(this.#directory) ? readdirSync(this.#directory) : [])
      if (!used.has(name) && !before.has(name)) rmSync(join(this.#directory, name), { force: true })
  }

  #write(text: string): string {
    const bytes = Buffer.from(text)
    const digest = digestOf(bytes)
    const file = join(this.#directory, digest)
    const isThere = existsSync(file)
    if (isThere && this.#isSettled) return digest
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
    if (!this.#isSettled) syncDirectoryNow(dirname(this.#directory))
    this.#isSettled = false
    if (!isThere) writeFileNow(file, bytes)
    syncDirectoryNow(this.#directory)
    this.#isSettled = true
    return digest
  }

  #read(digest: string): string {
    const file = join(this.#directory, digest)
    const bytes = readBytes(file)
    if (digestOf(bytes) === digest) return bytes.toString()
    throw new StorageDamaged(file, undefined, 'its content is not what its name says')
  }
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    const why = `the file cannot be read (${messageOf(cause)})`
    if (hasCode(cause, 'ENOENT') || !isSystemError(cause)) throw new StorageDamaged(file, undefined, why, { cause })
    throw new StorageUnavailable(`${file}: ${why}`, { cause, reason: reasonOf(cause) })
  }
}

const isLong = (value: unknown): value is string => typeof value === 'string' && value.length > LONG

function hasLongField(row: Row): boolean {
  const fields = row as Row & Readonly<Record<string, unknown>> // Rows are plain JSON.
  for (const field in fields) if (isLong(fields[field])) return true
  return false
}

/** Undefined if the line has none. A row may have a field of this name itself. */
function digestsOf(line: object): Readonly<Record<string, string>> | undefined {
  const digests: unknown = DIGESTS in line ? line[DIGESTS] : undefined
  return isObject(digests) && areDigests(digests) ? digests : undefined
}

const areDigests = (digests: Readonly<Record<string, unknown>>): digests is Readonly<Record<string, string>> =>
  Object.values(digests).every((digest) => typeof digest === 'string' && /^[0-9a-f]{64}$/.test(digest))

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
