import { isRow } from '../../../src/storage/key.js'
import type { Row } from '../../../src/storage/storage.js'
import { isObject } from '../../../src/storage/unknown.js'

/** The lines of rows in a data file: each lists the values of the fields that most rows of its collection have. */

const SAMPLES = 64

/** The fields that most rows have, in their order, judged by some of them. `known`: those of rows that nobody has read. */
export function commonFields(rows: readonly Row[], known: readonly (readonly string[])[] = []): readonly string[] {
  const counts = new Map<string, number>()
  const add = (fields: readonly string[]) => {
    const text = JSON.stringify(fields)
    counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  for (const fields of known) add(fields)
  const step = Math.max(1, Math.floor(rows.length / SAMPLES))
  for (let at = 0; at < rows.length; at += step) add(Object.keys(rows[at] ?? {}))
  const [most] = [...counts].sort(([, a], [, b]) => b - a)
  return most ? JSON.parse(most[0]) : []
}

/** The JSON of a list of a row's values, or of a list that holds the row itself if its fields are other ones. */
export function listOf(row: Row, fields: readonly string[]): string {
  const values: unknown[] = []
  let at = 0
  for (const [field, value] of Object.entries(row)) {
    if (field !== fields[at] || value === undefined || field === '__proto__') return JSON.stringify([row])
    at++
    values.push(value)
  }
  return at === fields.length ? JSON.stringify(values) : JSON.stringify([row])
}

/** How many rows were made of their lines in this process, for tests. */
export const parsedRows = { count: 0 }

/** The row of such a list. The list starts with the checksum. Undefined if it is none. */
export function rowOf(list: readonly unknown[], fields: readonly string[]): Row | undefined {
  parsedRows.count++
  const given = list[1]
  if (list.length === 2 && isObject(given)) return isRow(given) ? given : undefined
  if (list.length !== fields.length + 1) return undefined
  const row: Record<string, unknown> = {}
  for (let at = 0; at < fields.length; at++) row[fields[at] ?? ''] = list[at + 1]
  return isRow(row) ? row : undefined
}

/** The id in a damaged line, as JSON. */
export function guessedId(bytes: Buffer, fields: readonly string[]): string | undefined {
  try {
    const list: unknown = JSON.parse(bytes.toString())
    return Array.isArray(list) ? JSON.stringify(list[fields.indexOf('id') + 1]) : undefined
  } catch {
    return undefined
  }
}

const NEWLINE = 10
const QUOTE = 34
const COMMA = 44
const OPEN_LIST = 91
const BACKSLASH = 92
const CLOSE_LIST = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125
/** `["xxxxxxxx",` */
const LIST_START = 12

/** The rows of such lines with some of their fields, which takes a fraction of reading them whole. */
export function* partsOf(bytes: Buffer, fields: readonly string[], wanted: ReadonlySet<string>): Generator<object> {
  const last = fields.findLastIndex((field) => wanted.has(field))
  for (let start = LIST_START; start < bytes.length; start = bytes.indexOf(NEWLINE, start) + 1 + LIST_START) {
    const part: Record<string, unknown> = {}
    let from = start
    let end = endOfValue(bytes, from)
    if (bytes[from] === OPEN_OBJECT && bytes[end] === CLOSE_LIST) yield JSON.parse(bytes.toString('utf8', from, end))
    else {
      for (let at = 0; at <= last; at++) {
        const field = fields[at] ?? ''
        if (wanted.has(field)) part[field] = JSON.parse(bytes.toString('utf8', from, end))
        from = end + 1
        if (at < last) end = endOfValue(bytes, from)
      }
      yield part
    }
  }
}

function endOfValue(bytes: Buffer, start: number): number {
  let depth = 0
  for (let at = start; at < bytes.length; at++) {
    const code = bytes[at]
    if (code === QUOTE) for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) at += bytes[at] === BACKSLASH ? 1 : 0
    else if (code === OPEN_LIST || code === OPEN_OBJECT) depth++
    else if (depth === 0 && (code === COMMA || code === CLOSE_LIST)) return at
    else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--
  }
  return bytes.length
}
