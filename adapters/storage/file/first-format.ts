import { readFile } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { assertState, StateReader } from '../../../src/storage/state.js'
import type { State } from '../../../src/storage/storage.js'
import { hasCode, isObject, messageOf } from '../../../src/storage/unknown.js'
import { isCommit, type JournaledCommit } from './commit.js'
import { StorageDamaged } from './errors.js'
import { readLines } from './line.js'

/**
 * The files of version 0.1: the data file is one JSON document, and the journal is one file, `<file>.journal`, whose
 * lines are a checksum and JSON. An exported state is such a document too, without `store` and `commit`.
 */

const FORMAT = 'farthing/1'

/** A data file of the first format. */
export interface FirstSnapshot extends State {
  /** Absent from an exported state. */
  readonly schema?: number
  /** Empty for an exported state. */
  readonly store: string
  readonly commit: number
}

/** Reads a data file of the first format, or an exported state. Throws `StorageDamaged`. */
export async function readFirstFormat(file: string): Promise<FirstSnapshot> {
  try {
    return snapshotOf(await readStateDocument(file))
  } catch (cause) {
    throw new StorageDamaged(file, undefined, `this is not a state (${messageOf(cause)})`, { cause })
  }
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

function snapshotOf(document: unknown): FirstSnapshot {
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
  if (schema !== undefined && !isWholeNumber(schema)) throw new TypeError('"schema" is not a whole number from 0 up')
  return { counters, rows, store, commit, ...(schema !== undefined && { schema }) }
}

const isWholeNumber = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

/**
 * Reads the commits of a journal of the first format that follow `commit`. A missing file holds none. An incomplete
 * last line is ignored: its write was never confirmed. Throws `StorageDamaged`.
 */
export async function readFirstJournal(
  file: string,
  { store, commit }: Pick<FirstSnapshot, 'store' | 'commit'>,
): Promise<JournaledCommit[]> {
  const [header, ...commits] = parsedLines(file, await bytesOf(file))
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

async function bytesOf(file: string): Promise<Buffer> {
  return readFile(file).catch((cause: unknown) => {
    if (hasCode(cause, 'ENOENT')) return Buffer.alloc(0)
    throw new StorageDamaged(file, undefined, `the file cannot be read (${messageOf(cause)})`, { cause })
  })
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
