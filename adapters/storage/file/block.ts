import type { FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { freezeRow } from '../../../src/storage/key.js'
import type { Row } from '../../../src/storage/storage.js'
import { ROWS_PER_CHUNK, type UnreadRows } from '../../../src/storage/tables/rows.js'
import { SharedStrings } from './commit.js'
import { StorageDamaged } from './errors.js'
import { type ChecksumOfLines, linesIn, parseLine } from './line.js'
import { partsOf, rowOf } from './row-line.js'

/**
 * The blocks of a data file, which its line `end` lists. Each has a checksum over all its bytes, so that a block of rows
 * can stay unread until somebody asks for one of them. The blocks follow each other from the start of the file.
 */

/** How many bytes, and their checksum. A block of rows says how many, and the id that its chunk begins with. */
export type Block = readonly [bytes: number, checksum: number, rows?: number, first?: number]

/** From how many rows on a collection is worth blocks of its own. */
const WORTH_BLOCKS = 64

export const blockOf = (bytes: Buffer, rows?: { readonly count: number; readonly first: number }): Block =>
  rows ? [bytes.length, crc32(bytes), rows.count, rows.first] : [bytes.length, crc32(bytes)]

/** The lines of rows that nobody has read yet. */
export class UnreadLines implements UnreadRows {
  constructor(
    readonly file: string,
    readonly fields: readonly string[],
    readonly bytes: Buffer,
    readonly first: number,
    readonly count: number,
  ) {}

  read(): readonly Row[] {
    // One text for all rows: their checksum was compared when the file was opened.
    const lists: unknown = JSON.parse(
      `[${this.bytes.toString('utf8', 0, this.bytes.length - 1).replaceAll('\n', ',')}]`,
    )
    const strings = new SharedStrings()
    const rows: Row[] = []
    let last = this.first - 1
    for (const list of Array.isArray(lists) ? lists : []) {
      const row = Array.isArray(list) ? rowOf(list, this.fields) : undefined
      if (!row || typeof row.id !== 'number' || !(row.id > last) || row.id >= this.first + ROWS_PER_CHUNK)
        throw this.#wrong()
      last = row.id
      strings.share('', row)
      rows.push(freezeRow(row))
    }
    if (rows.length !== this.count) throw this.#wrong()
    return rows
  }

  parts(fields: readonly string[]): Iterable<object> {
    return partsOf(this.bytes, this.fields, new Set(fields))
  }

  #wrong(): StorageDamaged {
    return new StorageDamaged(this.file, undefined, 'its rows are not what its end says')
  }

  addTo(whole: ChecksumOfLines): void {
    for (const bytes of linesIn(this.bytes)) whole.add(Number.parseInt(bytes.toString('latin1', 2, 10), 16))
  }
}

/** Rows of one chunk, or rows that belong to none. */
export interface Group {
  readonly first: number | undefined
  readonly rows: readonly Row[]
}

/** Divides rows in the order of their ids. Few rows, and those that `isApart` names, belong to no chunk. */
export function* groupsOf(
  list: readonly Row[],
  { count, isApart }: { readonly count: number; isApart(row: Row): boolean },
): Generator<Group> {
  const chunkOf = ({ id }: Row) =>
    count >= WORTH_BLOCKS && Number.isSafeInteger(id) && Number(id) >= 0
      ? Math.floor(Number(id) / ROWS_PER_CHUNK) * ROWS_PER_CHUNK
      : undefined
  for (let at = 0; at < list.length; ) {
    const start = at
    const row = list[at++]
    const first = row && chunkOf(row)
    for (let next = list[at]; next && chunkOf(next) === first; next = list[at]) at++
    const rows = list.slice(start, at)
    yield { first: rows.some(isApart) ? undefined : first, rows }
  }
}

const END_START = '\n{"end":"data"'
const TAIL = 1 << 16
const BYTES_PER_READ = 1 << 20

export interface ReadBlock {
  readonly bytes: Buffer
  /** Of a block whose rows may stay unread. */
  readonly rows?: { readonly first: number; readonly count: number }
}

/** Where the line `end` begins, and the blocks that it lists. */
interface BlockList {
  readonly end: number
  readonly blocks: readonly Block[]
}

/** The blocks of a data file. Undefined if it lists none, or not as this release does. */
export async function blockList(handle: FileHandle): Promise<BlockList | undefined> {
  const { size } = await handle.stat()
  for (let length = Math.min(TAIL, size); ; length = Math.min(size, length * 4)) {
    const tail = await readFrom(handle, size - length, length)
    const before = tail.lastIndexOf(END_START)
    if (before < 0 && length < size) continue
    const line = parseLine(tail.subarray(before + 1, tail.indexOf(NEWLINE, before + 1)))
    const blocks = line && 'object' in line ? line.object.blocks : undefined
    const end = size - length + before + 1
    return before >= 0 && areBlocks(blocks) && sumOf(blocks) === end ? { end, blocks } : undefined
  }
}

const NEWLINE = 10
const sumOf = (blocks: readonly Block[]): number => blocks.reduce((sum, [bytes]) => sum + bytes, 0)

const areBlocks = (value: unknown): value is Block[] =>
  Array.isArray(value) &&
  value.every(
    (block) =>
      Array.isArray(block) &&
      (block.length === 2 || (block.length === 4 && block[3] % ROWS_PER_CHUNK === 0)) &&
      block.every((part) => Number.isSafeInteger(part) && part >= 0),
  )

/** Reads blocks one after the other. Throws if the checksum of one is wrong. */
export async function* readBlocks(handle: FileHandle, blocks: readonly Block[]): AsyncGenerator<ReadBlock> {
  let start = 0
  for (let at = 0; at < blocks.length; ) {
    const together: Block[] = []
    let length = 0
    for (let next = blocks[at]; next && (length === 0 || length + next[0] <= BYTES_PER_READ); next = blocks[++at]) {
      together.push(next)
      length += next[0]
    }
    const bytes = await readFrom(handle, start, length)
    start += length
    let from = 0
    for (const [size, checksum, count, first] of together) {
      const block = bytes.subarray(from, from + size)
      from += size
      if (crc32(block) !== checksum) throw new RangeError('a block is damaged')
      yield count === undefined || first === undefined ? { bytes: block } : { bytes: block, rows: { first, count } }
    }
  }
}

/** Throws if the file is shorter. */
export async function readFrom(handle: FileHandle, start: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(length)
  for (let at = 0; at < length; ) {
    const { bytesRead } = await handle.read(bytes, at, length - at, start + at)
    if (bytesRead === 0) throw new RangeError('the file is shorter than its end says')
    at += bytesRead
  }
  return bytes
}
