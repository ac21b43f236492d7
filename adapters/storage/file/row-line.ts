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

/** The row of such a list. The list starts with the checksum. Undefined if it is none. */
export function rowOf(list: readonly unknown[], fields: readonly string[]): Row | undefined {
  const given = list[1]
  if (list.length === 2 && isObject(given)) return isRow(given) ? given : undefined
  if (list.length !== fields.length + 1) return undefined
  const row: Record<string, unknown> = {}
  for (let at = 0; at < fields.length; at++) row[fields[at] ?? ''] = list[at + 1]
  return isRow(row) ? row : undefined
}
