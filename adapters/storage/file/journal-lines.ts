import { readFile } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import type { Commit } from '../../../src/storage/serial.js'
import type { Key, Row } from '../../../src/storage/storage.js'
import { hasCode, messageOf } from '../../../src/storage/unknown.js'
import { StorageDamaged } from './errors.js'

/**
 * One commit in a journal. Each line of a journal is a checksum and JSON. The first line names its data file by `store`.
 * Every other line is a commit. Their numbers continue those of the data file.
 */
export interface JournaledCommit {
  readonly commit: number
  /** The new value of each counter that changed. */
  readonly counters?: Readonly<Record<string, number>>
  readonly rows?: Readonly<Record<string, readonly Row[]>>
  /** The ids of rows removed. */
  readonly removed?: Readonly<Record<string, readonly Key[]>>
}

export function headerLine(store: string): string {
  return line({ journal: 'farthing/1', store })
}

export function commitLine(commit: number, { changes, counters }: Commit): string {
  const rows: Record<string, Row[]> = {}
  let removed: Record<string, Key[]> | undefined
  for (const { collection, rows: changed } of changes) {
    const put: Row[] = []
    for (const [id, row] of changed)
      if (row) put.push(row)
      else ((removed ??= {})[collection.name] ??= []).push(id)
    if (put.length > 0) rows[collection.name] = put
  }
  return line({ commit, counters, rows, removed })
}

function line(content: object): string {
  const json = JSON.stringify(content)
  return `${checksum(json)} ${json}\n`
}

function checksum(json: string | Uint8Array): string {
  return crc32(json).toString(16).padStart(8, '0')
}

export interface ReadJournal {
  /** The id of the data file that it continues. Undefined if the journal is empty. */
  readonly store: string | undefined
  /** Every commit and its line number. Throws `StorageDamaged` when it reaches a line that is not a commit. */
  readonly commits: Iterable<readonly [JournaledCommit, number]>
  /** Where the last whole line ends, in bytes. A crash may leave part of a line after it. */
  readonly end: number
}

/** Reads a journal. A missing file is an empty journal. Throws `StorageDamaged`, and changes nothing. */
export async function readJournal(file: string): Promise<ReadJournal> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    if (hasCode(cause, 'ENOENT')) return Buffer.alloc(0)
    throw new StorageDamaged(file, undefined, `the file cannot be read (${messageOf(cause)}). ${REMEDY}`, { cause })
  })
  const end = endOfWhole(bytes)
  const lines = linesOf(file, bytes.subarray(0, end))
  const header = lines.next()
  if (header.done) return { store: undefined, commits: [], end: 0 }
  const store = storeIn(header.value[0])
  if (store === undefined)
    throw new StorageDamaged(file, 1, `this is not a journal that this version can read. ${REMEDY}`)
  // The checksum shows that `commitLine` wrote each line.
  return { store, commits: lines as Iterable<readonly [JournaledCommit, number]>, end }
}

/** The `store` that a header names. Undefined if this is not the header of a journal. */
function storeIn(header: object): string | undefined {
  if (!('journal' in header && 'store' in header) || header.journal !== 'farthing/1') return undefined
  return typeof header.store === 'string' ? header.store : undefined
}

/** Where the last whole line ends. Only the last line can be incomplete. */
function endOfWhole(bytes: Buffer): number {
  const end = bytes.lastIndexOf(NEWLINE) + 1
  if (end < bytes.length || end === 0) return end
  const start = bytes.subarray(0, end - 1).lastIndexOf(NEWLINE) + 1
  return parse(bytes.subarray(start, end - 1)) ? end : start
}

function* linesOf(file: string, bytes: Buffer): Generator<readonly [object, number], void> {
  let start = 0
  for (let number = 1; start < bytes.length; number++) {
    const end = bytes.indexOf(NEWLINE, start)
    const content = parse(bytes.subarray(start, end))
    if (!content) throw new StorageDamaged(file, number, `the line is damaged. ${REMEDY}`)
    yield [content, number]
    start = end + 1
  }
}

function parse(bytes: Buffer): object | undefined {
  const json = bytes.subarray(9)
  if (bytes.toString('latin1', 0, 9) !== `${checksum(json)} `) return undefined
  const content: unknown = JSON.parse(json.toString())
  return typeof content === 'object' && content !== null ? content : undefined
}

const NEWLINE = 10

export const REMEDY =
  'Nothing was changed. Restore the data file and its journal from a backup, or remove the journal, which loses the writes in it'
