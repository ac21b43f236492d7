import { areCounters } from '../../../src/storage/state.js'
import type { Key, Row } from '../../../src/storage/storage.js'
import type { Commit } from '../../../src/storage/tables/serial.js'
import type { Tables } from '../../../src/storage/tables/tables.js'
import { isObject } from '../../../src/storage/unknown.js'
import type { LongFields } from './long-fields.js'
import type { SharedStrings } from './shared-strings.js'

/** One commit in a journal. */
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
