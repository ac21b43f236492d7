import type { Row } from '../../../src/storage/storage.js'

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
