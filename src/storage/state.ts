import { jsonCopy } from '../base/json.js'
import type { Row, State } from './storage.js'
import { isObject } from './unknown.js'

/** The counters of two states, each with its later number. */
export function latestOf(counters: State['counters'], others: State['counters']): State['counters'] {
  const latest = { ...counters }
  for (const [name, last] of Object.entries(others)) latest[name] = Math.max(last, latest[name] ?? 0)
  return latest
}

/** Checks that a document is a `State`. Throws a TypeError that says what is wrong. */
export function assertState(document: unknown): asserts document is State {
  assertLists(document)
  for (const [name, list] of Object.entries(document.rows)) assertRows(name, list)
}

/** Checks that a document has a schema, counters and lists of rows, but not the rows themselves. Throws a TypeError. */
export function assertLists(document: unknown): asserts document is State {
  if (!isObject(document)) throw new TypeError('a state must be an object')
  const { schema = 1, counters, rows } = document
  if (typeof schema !== 'number' || !Number.isSafeInteger(schema) || schema < 1)
    throw new TypeError('"schema" must be a whole number from 1 up')
  assertCounters(counters)
  if (!isObject(rows)) throw new TypeError('"rows" must be an object')
  for (const [name, list] of Object.entries(rows))
    if (!Array.isArray(list)) throw new TypeError(`rows.${name} must be a list`)
}

/** How deep the values of a row may nest: deeper than a request, whose fields are parts of rows. */
export const ROW_DEPTH = 64

/** The highest number that a counter may begin with. A service that adds a million rows a second needs centuries from there. */
const HIGHEST_COUNTER = 1e12

/** Checks the counters of a state. They leave room for new rows, whose ids stay exact. Throws a TypeError. */
export function assertCounters(counters: unknown): asserts counters is State['counters'] {
  if (!isObject(counters)) throw new TypeError('"counters" must be an object')
  for (const [name, last] of Object.entries(counters))
    if (typeof last !== 'number' || !Number.isSafeInteger(last) || last < 0 || last > HIGHEST_COUNTER)
      throw new TypeError(`counters.${name} must be a whole number from 0 to ${HIGHEST_COUNTER}`)
}

/** Whether they are counters as `assertCounters` wants them. */
export function areCounters(counters: unknown): counters is State['counters'] {
  try {
    assertCounters(counters)
    return true
  } catch {
    return false
  }
}

function assertRows(name: string, list: readonly unknown[]): void {
  const ids = new Set<unknown>()
  for (const [at, row] of list.entries()) {
    const id = isObject(row) ? row.id : undefined
    if (typeof id !== 'string' && !Number.isFinite(id)) throw new TypeError(`rows.${name}[${at}] has no id`)
    if (ids.has(id)) throw new TypeError(`rows.${name}[${at}] repeats the id ${JSON.stringify(id)}`)
    ids.add(id)
  }
}

/** A copy of a state that shares nothing with it, as JSON would bring it. Row by row: a whole state may be too long for one text. */
export function copyState(state: State): State {
  const rows: Record<string, Row[]> = {}
  for (const [name, list] of Object.entries(state.rows)) rows[name] = list.map(jsonCopy)
  return { ...state, counters: { ...state.counters }, rows }
}
