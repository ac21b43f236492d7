import { compareParts, indexNamed } from '../key.js'
import type { AnyCollection, Index, Key, Query, Row } from '../storage.js'
import { Rows } from './rows.js'
import { Tree } from './tree.js'
import { UniqueKeys } from './unique-keys.js'

/**
 * The rows of one collection. A tree is built when its index is first read, so an index that nobody reads costs
 * nothing, and a state loads without building any. Unique keys are built at the first check.
 */
export class Table {
  readonly rows: Rows<Row>
  #trees = new Map<string, Tree<Row>>()
  /** The rows that are not in the array of rows, by id. Undefined until someone reads by id. */
  #named: Tree<Row> | undefined
  #unique = new Map<string, UniqueKeys>()
  /** Whether `#unique` has every unique index of the collection. */
  #isUniqueKnown = false

  constructor(rows = new Rows<Row>()) {
    this.rows = rows
  }

  /** A table with the same rows. Nothing may be written to this one any more. */
  copy(): Table {
    const copy = new Table(this.rows.copy())
    for (const [name, tree] of this.#trees) copy.#trees.set(name, tree.copy())
    copy.#named = this.#named?.copy()
    for (const [name, keys] of this.#unique) copy.#unique.set(name, keys.copy())
    copy.#isUniqueKnown = this.#isUniqueKnown
    return copy
  }

  find(collection: AnyCollection, { index, prefix, after, limit, reverse = false }: Query): Row[] {
    const found: Row[] = []
    if (limit < 1) return found
    const fields = collection.indexes[index]
    if (fields?.unique && prefix.length === fields.fields.length && !after) {
      const id = (this.#unique.get(index) ?? this.#uniqueKeys(collection, index, fields)).holder(prefix)
      const row = id === undefined ? undefined : this.rows.get(id)
      return row ? [row] : found
    }
    const rows =
      index === 'id'
        ? this.#byId(prefix, after, reverse)
        : (this.#trees.get(index) ?? this.#tree(collection, index)).find(prefix, after, reverse)
    for (const row of rows) {
      found.push(row)
      if (found.length === limit) break
    }
    return found
  }

  /** Puts or removes one row. Returns the row that was there. */
  set(id: Key, row: Row | null): Row | undefined {
    const old = this.rows.get(id)
    for (const tree of this.#trees.values()) tree.replace(old, row)
    for (const keys of this.#unique.values()) keys.move(id, old, row)
    if (this.#named && this.rows.isNamed(id)) this.#named.replace(old, row)
    if (row) this.rows.set(id, row)
    else if (old) this.rows.delete(id)
    return old
  }

  /**
   * Throws if landing these rows would put two under one unique key. A row that is removed or changed frees its key.
   */
  check(collection: AnyCollection, rows: ReadonlyMap<Key, Row | null>): void {
    if (!this.#isUniqueKnown) this.knowUniqueKeys(collection)
    for (const keys of this.#unique.values()) keys.check(rows)
  }

  /** Reads the unique keys of all rows. Throws `UniqueViolation` if two share one. */
  knowUniqueKeys(collection: AnyCollection): void {
    if (this.#isUniqueKnown) return
    for (const [name, index] of Object.entries(collection.indexes))
      if (index.unique && !this.#unique.has(name)) this.#uniqueKeys(collection, name, index)
    this.#isUniqueKnown = true
  }

  #uniqueKeys(collection: AnyCollection, name: string, index: Index<Row>): UniqueKeys {
    const keys = new UniqueKeys(collection.name, name, index)
    for (const row of this.rows.all()) keys.add(row)
    this.#unique.set(name, keys)
    return keys
  }

  #tree(collection: AnyCollection, name: string): Tree<Row> {
    const tree = new Tree<Row>(name, indexNamed(collection, name), this.rows.all())
    this.#trees.set(name, tree)
    return tree
  }

  /** Rows in the order of their ids: those of the array, and the others between them. */
  *#byId(prefix: readonly Key[], after: readonly Key[] | undefined, reverse: boolean): Generator<Row> {
    const [only] = prefix
    const [past] = after ?? []
    if (only !== undefined) {
      const row = this.rows.get(only)
      const isPast = past === undefined || compareParts(only, past) * (reverse ? -1 : 1) > 0
      if (row && isPast) yield row
      return
    }
    this.#named ??= new Tree<Row>('id', undefined, this.rows.named())
    const named = this.#named.find([], after, reverse)
    if (typeof past === 'string' && !reverse) return yield* named
    // In reverse, every number is before a string.
    const numbered = this.rows.numbered(typeof past === 'number' ? past : undefined, reverse)
    yield* merged(numbered, named, reverse)
  }
}

function* merged(left: Generator<Row>, right: Generator<Row>, reverse: boolean): Generator<Row> {
  let a = left.next()
  let b = right.next()
  while (!a.done && !b.done) {
    const isFirst = compareParts(a.value.id, b.value.id) < 0 !== reverse
    yield isFirst ? a.value : b.value
    if (isFirst) a = left.next()
    else b = right.next()
  }
  if (!a.done) {
    yield a.value
    yield* left
  } else if (!b.done) {
    yield b.value
    yield* right
  }
}
