import type { Row, State } from './storage.js'
import { isObject } from './unknown.js'

/** Checks that a document is a `State`. Throws a TypeError that says what is wrong. */
export function assertState(document: unknown): asserts document is State {
  assertLists(document)
  for (const [name, list] of Object.entries(document.rows)) assertRows(name, list)
}

/** Checks that a document has counters and lists of rows, but not the rows themselves. Throws a TypeError. */
export function assertLists(document: unknown): asserts document is State {
  if (!isObject(document)) throw new TypeError('a state must be an object')
  const { counters, rows } = document
  if (!isObject(counters)) throw new TypeError('"counters" must be an object')
  for (const [name, last] of Object.entries(counters))
    if (typeof last !== 'number' || !Number.isSafeInteger(last) || last < 0)
      throw new TypeError(`counters.${name} must be a whole number that is not negative`)
  if (!isObject(rows)) throw new TypeError('"rows" must be an object')
  for (const [name, list] of Object.entries(rows))
    if (!Array.isArray(list)) throw new TypeError(`rows.${name} must be a list`)
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

/** Freezes a row deeply. */
export function freezeRow<R extends Row>(row: R): R {
  if (hasParts(row)) freeze(row)
  return row
}

// A frozen object may hold objects that are not frozen, so every level is checked.
function freeze(value: Readonly<Record<string, unknown>>): void {
  for (const name in value) {
    const part = value[name]
    if (hasParts(part)) freeze(part)
  }
  Object.freeze(value)
}

/** Arrays count as well: their parts have names too. */
function hasParts(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
