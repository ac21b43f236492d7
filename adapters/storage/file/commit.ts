import { areCounters } from '../../../src/storage/state.js'
import type { Key, Row } from '../../../src/storage/storage.js'
import type { Commit } from '../../../src/storage/tables/serial.js'
import type { Tables } from '../../../src/storage/tables/tables.js'
import { isObject } from '../../../src/storage/unknown.js'
import type { LongFields } from './long-fields.js'

export interface JournaledCommit {
  readonly commit: number
  /** The new value of each counter that changed. */
  readonly counters?: Readonly<Record<string, number>> | undefined
  readonly rows?: Readonly<Record<string, readonly Row[]>> | undefined
  /** The ids of rows removed. */
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

/** What reading rows needs besides their lines. */
export interface RowSources {
  readonly strings: SharedStrings
  readonly long: LongFields
}

export function replay(
  { counters, rows, removed }: JournaledCommit,
  tables: Tables,
  { strings, long }: RowSources,
): void {
  for (const [name, last] of Object.entries(counters ?? {})) tables.setCounter(name, last)
  for (const [name, ids] of Object.entries(removed ?? {})) for (const id of ids) tables.restore(name, id, null)
  for (const [name, put] of Object.entries(rows ?? {}))
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

/**
 * Lets equal strings of rows that follow each other share their memory, as those of a running service do. Rows of one
 * collection often have long strings in common, such as hashes and hostnames.
 */
export class SharedStrings {
  readonly #last = new Map<string, Row>()

  /** Call it with each row as it was parsed, before it is frozen. */
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
