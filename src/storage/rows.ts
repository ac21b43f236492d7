import type { Key, Row } from './storage.js'

/** How far past the last id the array may grow, leaving the places between empty. */
const WIDEST_GAP = 1024

/**
 * Rows by id. Rows with consecutive numbers are in an array, because adding to a large map takes several times as
 * long.
 */
export class Rows<R extends Row> {
  readonly #numbered: (R | undefined)[] = []
  readonly #named = new Map<Key, R>()
  #count = 0

  get size(): number {
    return this.#count + this.#named.size
  }

  get(id: Key): R | undefined {
    return (typeof id === 'number' ? this.#numbered[id] : undefined) ?? this.#named.get(id)
  }

  set(id: Key, row: R): void {
    if (!this.#isNumbered(id)) {
      this.#named.set(id, row)
      return
    }
    const numbered = this.#numbered
    while (numbered.length < id) numbered.push(undefined)
    if (id === numbered.length) numbered.push(row)
    else if (numbered[id] === undefined) numbered[id] = row
    else {
      numbered[id] = row
      return
    }
    this.#count++
  }

  delete(id: Key): void {
    if (typeof id === 'number' && this.#numbered[id] !== undefined) {
      this.#numbered[id] = undefined
      this.#count--
    } else this.#named.delete(id)
  }

  *values(): Generator<R> {
    for (const row of this.#numbered) if (row !== undefined) yield row
    yield* this.#named.values()
  }

  #isNumbered(id: Key): id is number {
    if (typeof id !== 'number' || !Number.isInteger(id) || id < 0) return false
    return id <= this.#numbered.length + WIDEST_GAP && (this.#named.size === 0 || !this.#named.has(id))
  }
}
