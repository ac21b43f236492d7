import { isKey, keyOf, sameKey } from '../key.js'
import { type Index, type Key, type Row, UniqueViolation } from '../storage.js'
import { LayeredMap } from './layered-map.js'

/** Which row holds each key of a unique index. */
export class UniqueKeys {
  readonly #holders: LayeredMap<Key, Key>

  constructor(
    readonly collection: string,
    readonly name: string,
    readonly index: Index<Row>,
    holders = new LayeredMap<Key, Key>(),
  ) {
    this.#holders = holders
  }

  /** The same keys. Nothing may be written to these any more. */
  copy(): UniqueKeys {
    return new UniqueKeys(this.collection, this.name, this.index, this.#holders.copy())
  }

  holder(key: readonly Key[]): Key | undefined {
    const [only] = key
    return this.#holders.get(only !== undefined && key.length === 1 ? only : markOf(key))
  }

  move(id: Key, old: Row | undefined, row: Row | null): void {
    if (old && row && sameKey(this.index, old, row)) return
    const oldMark = old && this.#mark(old)
    // If two rows swap keys, the key may already belong to its new holder.
    if (oldMark !== undefined && this.#holders.get(oldMark) === id) this.#holders.delete(oldMark)
    const mark = row ? this.#mark(row) : undefined
    if (mark !== undefined) this.#holders.set(mark, id)
  }

  /** Throws `UniqueViolation` if two of these rows, or one of them and a stored one, would share a key. */
  check(rows: ReadonlyMap<Key, Row | null>): void {
    // Rows that land together may not share a key either.
    const taken = rows.size > 1 ? new Set<Key>() : undefined
    for (const row of rows.values()) {
      const mark = row ? this.#mark(row) : undefined
      if (!row || mark === undefined) continue
      const holder = this.#holders.get(mark)
      if (taken?.has(mark) || (holder !== undefined && !rows.has(holder))) throw this.#violation(row)
      taken?.add(mark)
    }
  }

  /** Adds a stored row. Throws `UniqueViolation` if a different one has its key. */
  add(row: Row): void {
    const mark = this.#mark(row)
    if (mark === undefined) return
    const holder = this.#holders.get(mark)
    if (holder !== undefined && holder !== row.id) throw this.#violation(row)
    this.#holders.set(mark, row.id)
  }

  #violation(row: Row): UniqueViolation {
    return new UniqueViolation(this.collection, this.name, keyOf(this.index, row)?.slice(0, -1) ?? [])
  }

  #mark(row: Row): Key | undefined {
    const { fields } = this.index
    const field = fields[0]
    if (field !== undefined && fields.length === 1) {
      const part: unknown = row[field]
      return isKey(part) ? part : undefined
    }
    const key = keyOf(this.index, row)
    return key && markOf(key.slice(0, -1))
  }
}

/** A key of one part is its own mark, because a string never equals a number. */
const markOf = (key: readonly Key[]): Key => (key.length === 1 ? key[0] : undefined) ?? JSON.stringify(key)
