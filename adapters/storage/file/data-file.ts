import { type FileHandle, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Adapter } from 'lowdb'
import { isRow } from '../../../src/storage/key.js'
import { areCounters, inPieces } from '../../../src/storage/state.js'
import { OutcomeUnknown, type Row, type State } from '../../../src/storage/storage.js'
import { hasCode, isObject, messageOf } from '../../../src/storage/unknown.js'
import { type LongFields, SharedStrings } from './commit.js'
import { identityOf, nameAlso, replaceFile, syncDirectory, type WatchedFile, writePieces } from './disk.js'
import { type OnDamage, refuseDamage, StorageDamaged } from './errors.js'
import { appendJournalPart, type JournalPart, type PartNames } from './journal-part.js'
import { ChecksumOfLines, isTorn, type Line, listLine, objectLine, parseLine, readLines } from './line.js'

export interface Snapshot extends State {
  /** The shape of the rows: `SCHEMA` of the release that wrote them. */
  readonly schema: number
  /** The id of this storage. Its journal has the same one. */
  readonly store: string
  /** The number of the last commit in it. */
  readonly commit: number
  /** The parts of the journal that continue it, the oldest first. Empty if the file holds everything. */
  readonly journals: readonly JournalPart[]
}

type Head = Omit<Snapshot, 'rows' | 'journals'>

const NAME = 'data'
export const BLANK: Snapshot = { schema: 0, store: '', commit: 0, counters: {}, rows: {}, journals: [] }

/**
 * The data file. Its first line is the head. Each collection follows: a line that names it and its fields, then a line
 * for each row, which lists the values of these fields. A row with other fields is an object in its line. The line
 * `end` counts all rows. Lines after it name the parts of the journal.
 */
export class DataFile implements Adapter<Snapshot> {
  /** Where the names of parts are that `read` found. A crash may leave half a line after them. */
  partNames: PartNames = { from: 0, to: 0 }
  /** Open while the storage is, so that no other file gets the same identity. */
  #held: { readonly handle: FileHandle; readonly identity: string } | undefined

  /** Without `long`, rows are written whole, and read as their lines have them. */
  constructor(
    readonly file: string,
    readonly long?: LongFields,
  ) {}

  get watched(): WatchedFile {
    return { file: this.file, identity: this.#held?.identity }
  }

  async hold(): Promise<void> {
    await this.release()
    // Windows cannot replace an open file.
    if (process.platform === 'win32') return
    const handle = await open(this.file, 'r')
    try {
      this.#held = { handle, identity: await identityOf(handle) }
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  async release(): Promise<void> {
    const held = this.#held
    this.#held = undefined
    await held?.handle.close()
  }

  /** Reads the file. Null if there is none. Throws `StorageDamaged`, unless `onDamage` takes it. */
  async read(onDamage: OnDamage = refuseDamage): Promise<Snapshot | null> {
    const reading = new DataFileLines(this.long)
    const report = (line: number | undefined, fault: string | undefined) => {
      if (fault !== undefined) onDamage(new StorageDamaged(this.file, line, fault))
    }
    try {
      for await (const lines of readLines(this.file))
        for (const line of lines) {
          const read = line.isWhole ? parseLine(line.bytes) : undefined
          const isNamed = reading.isWhole
          // The name of a part of the journal is written before the part holds a commit.
          if (!read && isNamed && isTorn(line)) break
          report(line.number, read ? reading.add(read) : reading.skip(line.bytes))
          this.partNames = { from: isNamed ? this.partNames.from : line.end, to: line.end }
        }
    } catch (cause) {
      if (hasCode(cause, 'ENOENT')) return null
      if (cause instanceof StorageDamaged) throw cause
      throw new StorageDamaged(this.file, undefined, `the file cannot be read (${messageOf(cause)})`, { cause })
    }
    if (!reading.isWhole) report(undefined, 'its end is missing')
    return { ...(reading.head ?? BLANK), rows: reading.rows, journals: reading.journals }
  }

  /** Writes a snapshot beside the file, a few rows at a time, so that other work can run. `replace` puts it in place. */
  async write(snapshot: Snapshot): Promise<void> {
    try {
      await writePieces(`${this.file}.next`, 'w', inPieces(snapshotLines(snapshot, this.long)))
    } catch (error) {
      await this.discard()
      throw error
    }
  }

  /**
   * Puts the written snapshot in the place of the file, which stays as `<file>.previous`. Names the parts of the journal
   * that continue it. It is on the disk when this resolves. Rejects with `OutcomeUnknown` if it is in place, and a crash of
   * the machine may undo that.
   */
  async replace(journals: readonly JournalPart[]): Promise<void> {
    const next = `${this.file}.next`
    const isHeld = this.#held !== undefined
    await this.release()
    try {
      for (const part of journals) await appendJournalPart(next, part)
      await nameAlso(this.file, `${this.file}.previous`)
      await replaceFile(next, this.file)
    } catch (error) {
      await this.discard()
      throw error
    } finally {
      // Without it, nobody notices if a different program deletes the file.
      if (isHeld) await this.hold().catch(() => {})
    }
    await syncDirectory(dirname(this.file)).catch((cause: unknown) => {
      throw new OutcomeUnknown(`${this.file} was replaced, and a crash may undo that (${messageOf(cause)})`, { cause })
    })
  }

  async discard(): Promise<void> {
    await rm(`${this.file}.next`, { force: true }).catch(() => {})
  }
}

function* snapshotLines({ rows, journals: _, ...head }: Snapshot, long: LongFields | undefined): Generator<string> {
  const whole = new ChecksumOfLines()
  const added = (line: string): string => {
    whole.add(Number.parseInt(line[0] === '[' ? line.slice(2, 10) : line.slice(-11, -3), 16))
    return line
  }
  yield added(objectLine({ farthing: NAME, ...head }))
  let count = 0
  for (const [collection, list] of Object.entries(rows)) {
    const fields = commonFields(list)
    yield added(objectLine({ collection, rows: list.length, fields }))
    for (const row of list) yield added(listLine(listOf(long ? long.lineOf(row) : row, fields)))
    count += list.length
  }
  yield objectLine({ end: NAME, rows: count, whole: whole.value })
}

const SAMPLES = 64

/** The fields that most rows have, in their order, judged by some of them. */
function commonFields(rows: readonly Row[]): readonly string[] {
  const counts = new Map<string, number>()
  const step = Math.max(1, Math.floor(rows.length / SAMPLES))
  for (let at = 0; at < rows.length; at += step) {
    const fields = JSON.stringify(Object.keys(rows[at] ?? {}))
    counts.set(fields, (counts.get(fields) ?? 0) + 1)
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a)
  return most ? JSON.parse(most[0]) : []
}

/** The JSON of a list of a row's values, or of a list that holds the row itself if its fields are other ones. */
function listOf(row: Row, fields: readonly string[]): string {
  const values: unknown[] = []
  let at = 0
  for (const [field, value] of Object.entries(row)) {
    if (field !== fields[at] || value === undefined || field === '__proto__') return JSON.stringify([row])
    at++
    values.push(value)
  }
  return at === fields.length ? JSON.stringify(values) : JSON.stringify([row])
}

/** Reads the lines of a data file in their order. `add` returns what is wrong with a line. */
class DataFileLines {
  readonly rows: Record<string, Row[]> = {}
  readonly journals: JournalPart[] = []
  head: Head | undefined
  /** Whether the last row was read. */
  isWhole = false
  readonly #whole = new ChecksumOfLines()
  readonly #strings = new SharedStrings()
  #section: Section | undefined
  #count = 0
  #hasDamage = false

  constructor(readonly long: LongFields | undefined) {}

  add(line: Line): string | undefined {
    const isEnd = 'object' in line && 'end' in line.object
    if (!isEnd && !this.isWhole) this.#whole.add(line.checksum)
    if ('list' in line)
      return this.#section ? this.#addRow(line.list, this.#section) : 'the line that names its collection is missing'
    const { object } = line
    if (!this.head && !this.#hasDamage) return this.#addHead(object)
    if (this.isWhole) return this.#addJournal(object)
    const missing = this.#missing()
    const fault = isEnd ? this.#addEnd(object) : this.#addSection(object)
    return missing === undefined ? fault : `${missing} before it`
  }

  /** Takes note of a damaged line. Returns what is wrong with it, and which row it held, as far as can be known. */
  skip(bytes?: Buffer): string {
    this.#hasDamage = true
    const section = this.#section
    if (!section || this.#missing() === undefined) {
      this.#section = undefined
      return 'the line is damaged'
    }
    section.lost++
    const id = bytes && guessedId(bytes, section)
    return `the line is damaged, which holds a row of ${section.collection}${id === undefined ? '' : `, perhaps ${id}`}`
  }

  #missing(): string | undefined {
    if (!this.#section) return undefined
    const { collection, rows, list, lost } = this.#section
    const missing = rows - list.length - lost
    return missing ? `${missing} rows of ${collection} are missing` : undefined
  }

  #addHead({ farthing, schema, store, commit, counters }: LineObject): string | undefined {
    const isHead = farthing === NAME && isCount(schema) && isCount(commit)
    if (!isHead || typeof store !== 'string' || !areCounters(counters)) return 'it is not the first line of a data file'
    this.head = { schema, store, commit, counters }
    return undefined
  }

  #addSection({ collection, rows, fields }: LineObject): string | undefined {
    if (typeof collection !== 'string' || !isCount(rows) || !areTexts(fields)) return 'it names no collection'
    if (Object.hasOwn(this.rows, collection)) return `the collection ${collection} is in the file twice`
    const list: Row[] = []
    this.rows[collection] = list
    this.#section = { collection, rows, fields, list, lost: 0 }
    return undefined
  }

  #addRow(values: readonly unknown[], section: Section): string | undefined {
    const { collection, list, lost, rows } = section
    const row = rowOf(values, section)
    if (!row) {
      this.skip()
      return `it is not a row of ${collection}`
    }
    if (list.length + lost === rows) return `${collection} has more rows than it should`
    this.#strings.share(collection, row)
    list.push(this.long ? this.long.open(collection, row) : row)
    this.#count++
    return undefined
  }

  #addEnd({ rows, whole }: LineObject): string | undefined {
    this.isWhole = true
    // What damage there is was said before.
    const isAsWritten = this.#hasDamage || (rows === this.#count && whole === this.#whole.value)
    return isAsWritten ? undefined : 'lines are missing before it, or in a different order'
  }

  #addJournal({ journal, id }: LineObject): string | undefined {
    if (!isCount(journal) || typeof id !== 'string') return 'it names no part of the journal'
    this.journals.push({ journal, id })
    return undefined
  }
}

type LineObject = Readonly<Record<string, unknown>>

interface Section {
  readonly collection: string
  readonly rows: number
  readonly fields: readonly string[]
  readonly list: Row[]
  /** How many of its rows are in damaged lines. */
  lost: number
}

/** The id in a damaged line, as JSON. */
function guessedId(bytes: Buffer, { fields }: Section): string | undefined {
  try {
    const list: unknown = JSON.parse(bytes.toString())
    return Array.isArray(list) ? JSON.stringify(list[fields.indexOf('id') + 1]) : undefined
  } catch {
    return undefined
  }
}

/** The list starts with the checksum. */
function rowOf(list: readonly unknown[], { fields }: Section): Row | undefined {
  const [, given] = list
  if (list.length === 2 && isObject(given)) return isRow(given) ? given : undefined
  if (list.length !== fields.length + 1) return undefined
  const row: Record<string, unknown> = {}
  for (const [at, field] of fields.entries()) row[field] = list[at + 1]
  return isRow(row) ? row : undefined
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
const areTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')
