import { type FileHandle, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Adapter } from 'lowdb'
import { areCounters } from '../../../src/storage/state.js'
import { OutcomeUnknown, type Row, type State } from '../../../src/storage/storage.js'
import type { UnreadRows } from '../../../src/storage/tables/rows.js'
import type { PartlyRead } from '../../../src/storage/tables/tables.js'
import { hasCode, messageOf } from '../../../src/storage/unknown.js'
import { type Block, blockList, blockOf, type Group, groupsOf, readBlocks, readFrom, UnreadLines } from './block.js'
import { type LongFields, SharedStrings } from './commit.js'
import { identityOf, nameAlso, replaceFile, syncDirectory, type WatchedFile, withFile, writePieces } from './disk.js'
import { type OnDamage, refuseDamage, StorageDamaged } from './errors.js'
import { appendJournalPart, type JournalPart, type PartNames } from './journal-part.js'
import { ChecksumOfLines, isTorn, type Line, linesIn, listLine, objectLine, parseLine, readLines } from './line.js'
import { commonFields, guessedId, listOf, rowOf } from './row-line.js'

export interface Snapshot extends State, Partial<Pick<PartlyRead, 'unread'>> {
  /** The shape of the rows: `SCHEMA` of the release that wrote them. */
  readonly schema: number
  /** The id of this storage. Its journal has the same one. */
  readonly store: string
  /** The number of the last commit in it. */
  readonly commit: number
  /** The parts of the journal that continue it, the oldest first. Empty if the file holds everything. */
  readonly journals: readonly JournalPart[]
}

type Head = Omit<Snapshot, 'rows' | 'unread' | 'journals'>
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
    return reading.snapshot()
  }

  /** Like `read`, but leaves rows unread until somebody asks for one of them, if the file lists its blocks. */
  async readPartly(): Promise<Snapshot | null> {
    const reading = new DataFileLines(this.long)
    // Whatever is wrong, reading line by line says where.
    const isRead = await withFile(this.file, 'r', (handle) => this.#readBlocks(handle, reading)).catch(() => false)
    return isRead ? reading.snapshot() : this.read()
  }

  /** Returns false if anything is not as it should be. */
  async #readBlocks(handle: FileHandle, reading: DataFileLines): Promise<boolean> {
    const list = await blockList(handle)
    if (!list) return false
    for await (const { bytes, rows } of readBlocks(handle, list.blocks)) {
      const fault = rows
        ? reading.addUnread((fields) => new UnreadLines(this.file, fields, bytes, rows.first, rows.count))
        : reading.addAll(bytes)
      if (fault !== undefined) return false
    }
    const { size } = await handle.stat()
    let { end } = list
    for (const bytes of linesIn(await readFrom(handle, end, size - end))) {
      const line = parseLine(bytes)
      if (!line || reading.add(line) !== undefined) return false
      end += bytes.length + 1
      this.partNames = { from: this.partNames.from === 0 ? end : this.partNames.from, to: end }
    }
    return reading.isWhole
  }

  /** Writes a snapshot beside the file, a few rows at a time, so that other work can run. `replace` puts it in place. */
  async write(snapshot: Snapshot): Promise<void> {
    try {
      await writePieces(`${this.file}.next`, 'w', new SnapshotPieces(snapshot, this.long).pieces())
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

/** The bytes of a data file, piece by piece. Rows that nobody has read are copied as they are. */
class SnapshotPieces {
  readonly #whole = new ChecksumOfLines()
  readonly #blocks: Block[] = []
  /** Lines that wait to be written. */
  #lines = ''
  #hasRowBlocks = false

  constructor(
    readonly snapshot: Snapshot,
    readonly long: LongFields | undefined,
  ) {}

  *pieces(): Generator<Buffer> {
    const { rows, unread = {}, journals: _, ...head } = this.snapshot
    this.#add(objectLine({ farthing: NAME, ...head }))
    let count = 0
    for (const [collection, list] of Object.entries(rows)) {
      const later = unread[collection] ?? []
      const size = later.reduce((sum, each) => sum + each.count, list.length)
      const fields = commonFields(
        list,
        later.flatMap((each) => (each instanceof UnreadLines ? [each.fields] : [])),
      )
      this.#add(objectLine({ collection, rows: size, fields }))
      yield* this.#rows(list, later, fields, size)
      count += size
    }
    yield* this.#flush()
    const blocks = this.#hasRowBlocks ? { blocks: this.#blocks } : {}
    yield Buffer.from(objectLine({ end: NAME, rows: count, whole: this.#whole.value, ...blocks }))
  }

  *#rows(
    list: readonly Row[],
    unread: readonly UnreadRows[],
    fields: readonly string[],
    count: number,
  ): Generator<Buffer> {
    const { long } = this
    const isApart = (row: Row) => long !== undefined && long.lineOf(row) !== row
    let at = 0
    for (const group of groupsOf(list, { count, isApart })) {
      for (let next = unread[at]; next && isBefore(next, group); next = unread[++at]) yield* this.#unread(next, fields)
      if (group.first !== undefined) yield* this.#flush()
      for (const row of group.rows) {
        this.#add(listLine(listOf(long ? long.lineOf(row) : row, fields)))
        if (group.first === undefined && this.#lines.length > ENOUGH) yield* this.#flush()
      }
      if (group.first !== undefined) yield* this.#flush({ first: group.first, count: group.rows.length })
    }
    for (const next of unread.slice(at)) yield* this.#unread(next, fields)
  }

  *#unread(unread: UnreadRows, fields: readonly string[]): Generator<Buffer> {
    yield* this.#flush()
    if (unread instanceof UnreadLines && unread.fields.join() === fields.join()) {
      unread.addTo(this.#whole)
      yield this.#block(unread.bytes, unread)
      return
    }
    for (const row of unread.read()) this.#add(listLine(listOf(row, fields)))
    yield* this.#flush(unread)
  }

  #add(line: string): void {
    this.#whole.add(Number.parseInt(line[0] === '[' ? line.slice(2, 10) : line.slice(-11, -3), 16))
    this.#lines += line
  }

  *#flush(rows?: { readonly first: number; readonly count: number }): Generator<Buffer> {
    if (this.#lines === '') return
    const bytes = Buffer.from(this.#lines)
    this.#lines = ''
    yield this.#block(bytes, rows)
  }

  #block(bytes: Buffer, rows?: { readonly first: number; readonly count: number }): Buffer {
    if (rows) this.#hasRowBlocks = true
    this.#blocks.push(blockOf(bytes, rows))
    return bytes
  }
}

const ENOUGH = 1 << 16

/** Numbers come before texts, so a group of texts is after every chunk. */
function isBefore({ first }: UnreadRows, { rows: [row] }: Group): boolean {
  return typeof row?.id !== 'number' || first < row.id
}

/** Reads the lines of a data file in their order. `add` returns what is wrong with a line. */
class DataFileLines {
  readonly #rows: Record<string, Row[]> = {}
  readonly #unread: Record<string, UnreadRows[]> = {}
  readonly #journals: JournalPart[] = []
  #head: Head | undefined
  /** Whether the last row was read. */
  isWhole = false
  readonly #whole = new ChecksumOfLines()
  readonly #strings = new SharedStrings()
  #section: Section | undefined
  #count = 0
  #hasDamage = false
  #hasUnread = false

  constructor(readonly long: LongFields | undefined) {}

  snapshot(): Snapshot {
    return { ...(this.#head ?? BLANK), rows: this.#rows, unread: this.#unread, journals: this.#journals }
  }

  /** Adds rows that stay unread. `made` makes them for the fields of their collection. */
  addUnread(made: (fields: readonly string[]) => UnreadRows): string | undefined {
    const section = this.#section
    if (!section) return 'the line that names its collection is missing'
    const unread = made(section.fields)
    ;(this.#unread[section.collection] ??= []).push(unread)
    section.unread += unread.count
    this.#count += unread.count
    this.#hasUnread = true
    return undefined
  }

  /** Adds the lines of a piece of the file, and stops at a wrong one. */
  addAll(bytes: Buffer): string | undefined {
    for (const each of linesIn(bytes)) {
      const line = parseLine(each)
      const fault = line ? this.add(line) : 'the line is damaged'
      if (fault !== undefined) return fault
    }
    return undefined
  }

  add(line: Line): string | undefined {
    const isEnd = 'object' in line && 'end' in line.object
    if (!isEnd && !this.isWhole) this.#whole.add(line.checksum)
    if ('list' in line)
      return this.#section ? this.#addRow(line.list, this.#section) : 'the line that names its collection is missing'
    const { object } = line
    if (!this.#head && !this.#hasDamage) return this.#addHead(object)
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
    const id = bytes && guessedId(bytes, section.fields)
    return `the line is damaged, which holds a row of ${section.collection}${id === undefined ? '' : `, perhaps ${id}`}`
  }

  #missing(): string | undefined {
    if (!this.#section) return undefined
    const { collection, rows, list, lost, unread } = this.#section
    const missing = rows - list.length - lost - unread
    return missing ? `${missing} rows of ${collection} are missing` : undefined
  }

  #addHead({ farthing, schema, store, commit, counters }: LineObject): string | undefined {
    const isHead = farthing === NAME && isCount(schema) && isCount(commit)
    if (!isHead || typeof store !== 'string' || !areCounters(counters)) return 'it is not the first line of a data file'
    this.#head = { schema, store, commit, counters }
    return undefined
  }

  #addSection({ collection, rows, fields }: LineObject): string | undefined {
    if (typeof collection !== 'string' || !isCount(rows) || !areTexts(fields)) return 'it names no collection'
    if (Object.hasOwn(this.#rows, collection)) return `the collection ${collection} is in the file twice`
    const list: Row[] = []
    this.#rows[collection] = list
    this.#section = { collection, rows, fields, list, lost: 0, unread: 0 }
    return undefined
  }

  #addRow(values: readonly unknown[], section: Section): string | undefined {
    const { collection, list, lost, unread, rows } = section
    const row = rowOf(values, section.fields)
    if (!row) {
      this.skip()
      return `it is not a row of ${collection}`
    }
    if (list.length + lost + unread === rows) return `${collection} has more rows than it should`
    this.#strings.share(collection, row)
    list.push(this.long ? this.long.open(collection, row) : row)
    this.#count++
    return undefined
  }

  #addEnd({ rows, whole }: LineObject): string | undefined {
    this.isWhole = true
    // What damage there is was said before.
    // The lines of unread rows were compared as blocks.
    const isSum = this.#hasUnread || whole === this.#whole.value
    const isAsWritten = this.#hasDamage || (rows === this.#count && isSum)
    return isAsWritten ? undefined : 'lines are missing before it, or in a different order'
  }

  #addJournal({ journal, id }: LineObject): string | undefined {
    if (!isCount(journal) || typeof id !== 'string') return 'it names no part of the journal'
    this.#journals.push({ journal, id })
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
  /** How many of its rows stay unread. */
  unread: number
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0
const areTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')
