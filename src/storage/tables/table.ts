import { letOthersRun } from '../../base/ports.js'
import { compareParts, indexNamed, isKey, keyOf, sameKey } from '../key.js'
import { type AnyCollection, type Index, type Key, type Query, type Row, UniqueViolation } from '../storage.js'
import { LayeredMap, Rows } from './rows.js'
import { Tree } from './tree.js'

/** Up to how many rows a tree is built at once: this takes some ten milliseconds. */
const BUILT_AT_ONCE = 10_000
/** How many rows are added to a growing tree between two calls of others. */
const ROWS_AT_ONCE = 500

/** A tree that does not have all rows yet. What is written meanwhile is in it. */
interface GrowingTree {
  readonly tree: Tree<Row>
  readonly done: Promise<void>
}

/** The rows of one collection. Its trees are built when their index is first read, and unique keys at the first check. */
export class Table {
  #trees = new Map<string, Tree<Row>>()
  /** The rows that are not in the array of rows, by id. Undefined until someone reads by id. */
  #named: Tree<Row> | undefined
  #unique = new Map<string, UniqueKeys>()
  /** Whether `#unique` has every unique index of the collection. */
  #isUniqueKnown = false
  /** Trees that do not have all rows yet, and what ends when they do. */
  readonly #growing = new Map<string, GrowingTree>()

  constructor(readonly rows = new Rows<Row>()) {}

  /** A table with the same rows. Nothing may be written to this one any more. */
  copy(): Table {
    const copy = new Table(this.rows.copy())
    for (const [name, tree] of this.#trees) copy.#trees.set(name, tree.copy())
    copy.#named = this.#named?.copy()
    for (const [name, keys] of this.#unique) copy.#unique.set(name, keys.copy())
    copy.#isUniqueKnown = this.#isUniqueKnown
    return copy
  }

  /** Undefined: it needs a tree of so many rows that others would wait, and `mayGrow` says that it can be grown first. */
  find(
    collection: AnyCollection,
    { index, prefix, after, limit, reverse = false }: Query,
    mayGrow = false,
  ): Row[] | undefined {
    const found: Row[] = []
    if (limit < 1) return found
    const fields = collection.indexes[index]
    if (fields?.unique && prefix.length === fields.fields.length && !after) {
      const id = (this.#unique.get(index) ?? this.#uniqueKeys(collection, index, fields)).holder(prefix)
      const row = id === undefined ? undefined : this.rows.get(id)
      return row ? [row] : found
    }
    if (index !== 'id') {
      const tree = this.#trees.get(index)
      if (!tree && mayGrow && this.rows.size > BUILT_AT_ONCE) return undefined
      return (tree ?? this.#tree(collection, index)).find(prefix, after, reverse, limit)
    }
    for (const row of this.#byId(prefix, after, reverse, limit)) {
      found.push(row)
      if (found.length === limit) break
    }
    return found
  }

  /** Builds a tree in slices, between which other calls run. Resolves when it has all rows. */
  grow(collection: AnyCollection, name: string): Promise<void> {
    let growing = this.#growing.get(name)
    if (!growing) {
      const tree = new Tree<Row>(name, indexNamed(collection, name))
      this.#growing.set(name, (growing = { tree, done: this.#growAll(tree).finally(() => this.#growing.delete(name)) }))
    }
    return growing.done
  }

  async #growAll(tree: Tree<Row>): Promise<void> {
    for (let last: number | undefined; ; ) {
      const slice = takeSome(this.rows.numbered(last, false))
      for (const row of slice) tree.replace(undefined, row)
      if (slice.length < ROWS_AT_ONCE) break
      last = Number(slice.at(-1)?.id)
      await letOthersRun()
    }
    const named = [...this.rows.named()]
    for (const [at, { id }] of named.entries()) {
      if (at % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await letOthersRun()
      // It may have been changed or removed since.
      tree.replace(undefined, this.rows.get(id) ?? null)
    }
    this.#trees.set(tree.name, tree)
  }

  /** Puts or removes one row. Returns the row that was there. */
  set(id: Key, row: Row | null): Row | undefined {
    const old = this.rows.get(id)
    for (const tree of this.#trees.values()) tree.replace(old, row)
    // Stryker disable next-line ConditionalExpression,EqualityOperator: it only spares an iterator for each row
    if (this.#growing.size > 0) for (const { tree } of this.#growing.values()) tree.replace(old, row)
    for (const keys of this.#unique.values()) keys.move(id, old, row)
    if (this.#named && this.rows.isNamed(id)) this.#named.replace(old, row)
    if (row) this.rows.set(id, row)
    else if (old) this.rows.delete(id)
    return old
  }

  /** Throws if these rows would put two under one unique key. A row that is removed or changed frees its key. */
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
    for (const row of this.rows.parts(['id', ...index.fields])) keys.add(row)
    this.#unique.set(name, keys)
    return keys
  }

  #tree(collection: AnyCollection, name: string): Tree<Row> {
    const tree = new Tree<Row>(name, indexNamed(collection, name), this.rows.all())
    this.#trees.set(name, tree)
    return tree
  }

  /** Rows in the order of their ids: those of the array, and the others between them. */
  *#byId(prefix: readonly Key[], after: readonly Key[] | undefined, reverse: boolean, limit: number): Iterable<Row> {
    const [only] = prefix
    const [past] = after ?? []
    if (only !== undefined) {
      const row = this.rows.get(only)
      const isPast = past === undefined || compareParts(only, past) * (reverse ? -1 : 1) > 0
      if (row && isPast) yield row
      return
    }
    this.#named ??= new Tree<Row>('id', undefined, this.rows.named())
    const named = this.#named.find([], after, reverse, limit)
    if (typeof past === 'string' && !reverse) return yield* named
    // In reverse, every number is before a string.
    const numbered = this.rows.numbered(typeof past === 'number' ? past : undefined, reverse)
    yield* merged(numbered, named.values(), reverse)
  }
}

function takeSome(rows: Iterable<Row>): Row[] {
  const some: Row[] = []
  for (const row of rows) if (some.push(row) === ROWS_AT_ONCE) break
  return some
}

function* merged(left: Generator<Row>, right: IterableIterator<Row>, reverse: boolean): Generator<Row> {
  let b = right.next()
  for (const row of left) {
    for (; !b.done && compareParts(b.value.id, row.id) < 0 !== reverse; b = right.next()) yield b.value
    yield row
  }
  for (; !b.done; b = right.next()) yield b.value
}

/** Which row holds each key of a unique index. */
class UniqueKeys {
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
    return this.#holders.get(only !== undefined && key.length === 1 ? only : JSON.stringify(key))
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

  /** A key of one part is its own mark, because a string never equals a number. */
  #mark(row: Row): Key | undefined {
    const { fields } = this.index
    const field = fields[0]
    if (field !== undefined && fields.length === 1) {
      const part: unknown = row[field]
      return isKey(part) ? part : undefined
    }
    const key = keyOf(this.index, row)
    return key && JSON.stringify(key.slice(0, -1))
  }
}
