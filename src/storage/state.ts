import type { Row, State } from './storage.js'
import { isObject } from './unknown.js'

/** Throws a TypeError that says where a document is not a `State`. */
export function assertState(document: unknown): asserts document is State {
  assertLists(document)
  for (const [name, list] of Object.entries(document.rows)) assertRows(name, list)
}

/** Throws a TypeError where a document has no counters or no lists of rows; what the lists hold is not looked at. */
export function assertLists(document: unknown): asserts document is State {
  if (!isObject(document)) throw new TypeError('a state is an object')
  const { counters, rows } = document
  if (!isObject(counters)) throw new TypeError('"counters" is not an object')
  for (const [name, last] of Object.entries(counters))
    if (typeof last !== 'number' || !Number.isSafeInteger(last) || last < 0)
      throw new TypeError(`counters.${name} is not a number given`)
  if (!isObject(rows)) throw new TypeError('"rows" is not an object')
  for (const [name, list] of Object.entries(rows))
    if (!Array.isArray(list)) throw new TypeError(`rows.${name} is not a list`)
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

/** Freezes a row through and through. */
export function freezeRow<R extends Row>(row: R): R {
  if (hasParts(row)) freeze(row)
  return row
}

// What is frozen outside may hold what is not, so every level is looked at.
function freeze(value: Readonly<Record<string, unknown>>): void {
  for (const name in value) {
    const part = value[name]
    if (hasParts(part)) freeze(part)
  }
  Object.freeze(value)
}

/** Lists too have their parts under names. */
function hasParts(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
