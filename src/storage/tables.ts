import sortedBtree from 'sorted-btree'
import { AFTER_ALL, compareKeys, compareParts, hasPrefix, indexNamed, isKey, keyOf, sameKey } from './key.js'
import { Rows } from './rows.js'
import { assertState, freezeRow } from './state.js'
import {
  type AnyCollection,
  type Collection,
  type Index,
  type Key,
  type Query,
  type Row,
  type State,
  UniqueViolation,
} from './storage.js'
import type { Changes, CommittedReader } from './transaction.js'

// Some loaders return this CommonJS module's default export, others an object that holds it.
const BTree = 'default' in sortedBtree ? sortedBtree.default : sortedBtree
type Tree = InstanceType<typeof BTree<readonly Key[], undefined>>

/** Committed rows in memory: by id, and their keys in one ordered tree per index. */
export class Tables implements CommittedReader {
  #tables = new Map<string, Table<Row>>()
  #counters = new Map<string, number>()
  readonly #moved = new Map<string, number>()

  constructor(state?: State) {
    if (state) this.load(state)
  }

  // Not async functions, because a payment calls them some twenty times and every row is in memory.
  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    return Promise.resolve(this.#of(from).rows.get(id))
  }

  getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    const { rows } = this.#of(from)
    return Promise.resolve(ids.map((id) => rows.get(id)))
  }

  find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    return Promise.resolve(this.#of(from).find(from, query))
  }

  nextId(of: string): Promise<number> {
    return Promise.resolve(this.#next(of))
  }

  nextIds(of: readonly string[]): Promise<number[]> {
    return Promise.resolve(of.map((name) => this.#next(name)))
  }

  #next(of: string): number {
    const next = (this.#counters.get(of) ?? 0) + 1
    this.#counters.set(of, next)
    this.#moved.set(of, next)
    return next
  }

  counters(): Record<string, number> {
    return Object.fromEntries([...this.#counters].sort(([a], [b]) => compareParts(a, b)))
  }

  setCounter(of: string, last: number): void {
    this.#counters.set(of, last)
  }

  /** The last number of each counter that moved since the last call of `keptMoved`, even for bodies that threw. */
  moved(): Record<string, number> | undefined {
    return this.#moved.size === 0 ? undefined : Object.fromEntries(this.#moved)
  }

  keptMoved(): void {
    this.#moved.clear()
  }

  /** Throws `UniqueViolation` if landing these changes would put two rows under one unique key. */
  check(changes: readonly Changes[]): void {
    for (const { collection, rows } of changes) this.#table(collection.name).check(collection, rows)
  }

  /** Puts and removes rows. Call `check` first. */
  land(changes: readonly Changes[]): void {
    for (const { collection, rows } of changes) {
      const table = this.#table(collection.name)
      for (const [id, row] of rows) table.set(id, row)
    }
  }

  /** Puts or removes one row by its collection's name. Replaying a journal needs this. */
  restore(name: string, id: Key, row: Row | null): void {
    this.#table(name).set(id, row && freezeRow(row))
  }

  /** The current state, with the rows of each collection unordered. Cheap, and later writes don't change it. */
  capture(): State & { rows: Record<string, Row[]> } {
    const rows: Record<string, Row[]> = {}
    for (const [name, table] of [...this.#tables].sort(([a], [b]) => compareParts(a, b)))
      if (table.rows.size > 0) rows[name] = [...table.rows.values()]
    return { counters: this.counters(), rows }
  }

  state(): State {
    const state = this.capture()
    for (const rows of Object.values(state.rows)) rows.sort((a, b) => compareParts(a.id, b.id))
    return state
  }

  /** Replaces the state. Throws a TypeError, and changes nothing, if the document is not a state. */
  load(state: unknown): void {
    assertState(state)
    this.#tables = new Map()
    this.#counters = new Map(Object.entries(state.counters))
    this.#moved.clear()
    for (const [name, rows] of Object.entries(state.rows)) for (const row of rows) this.restore(name, row.id, row)
  }

  /** The table of a collection. */
  #of<R extends Row>({ name }: Collection<R>): Table<R> {
    return this.#table(name) as Table<R> // Only rows of this collection are under its name.
  }

  #table(name: string): Table<Row> {
    const known = this.#tables.get(name)
    if (known) return known
    const table = new Table<Row>()
    this.#tables.set(name, table)
    return table
  }
}

/**
 * One collection. A tree is built when its index is first read, so an index that nobody reads costs nothing, and a
 * state loads without building any. Unique keys are built at the first check.
 */
class Table<R extends Row> {
  readonly rows = new Rows<R>()
  readonly #trees: { readonly name: string; readonly index: Index<Row> | undefined; readonly tree: Tree }[] = []
  readonly #unique: UniqueKeys[] = []
  /** Whether `#unique` has every unique index of the collection. */
  #isUniqueKnown = false

  find(collection: AnyCollection, { index, prefix, after, limit, reverse }: Query): R[] {
    const found: R[] = []
    if (limit < 1) return found
    const fields = collection.indexes[index]
    if (fields?.unique && prefix.length === fields.fields.length && !after) {
      const holder = this.#uniqueKeys(collection, index, fields).holder(prefix)
      const row = holder === undefined ? undefined : this.rows.get(holder)
      return row ? [row] : found
    }
    const tree = this.#tree(collection, index)
    let key = reverse ? last(tree, prefix, after) : first(tree, prefix, after)
    while (key && hasPrefix(key, prefix)) {
      const id = key[key.length - 1]
      const row = id === undefined ? undefined : this.rows.get(id)
      if (row) found.push(row)
      if (found.length === limit) break
      key = reverse ? tree.nextLowerKey(key) : tree.nextHigherKey(key)
    }
    return found
  }

  set(id: Key, row: R | null): void {
    const old = this.rows.get(id)
    for (const { index, tree } of this.#trees) {
      if (old && row && sameKey(index, old, row)) continue
      const oldKey = old && keyOf(index, old)
      const newKey = row ? keyOf(index, row) : undefined
      if (oldKey) tree.delete(oldKey)
      if (newKey) tree.set(newKey, undefined)
    }
    for (const keys of this.#unique) keys.move(id, old, row)
    if (row) this.rows.set(id, row)
    else this.rows.delete(id)
  }

  /**
   * Throws if landing these rows would put two under one unique key. A row that is removed or changed frees its key.
   */
  check(collection: AnyCollection, rows: ReadonlyMap<Key, Row | null>): void {
    if (!this.#isUniqueKnown) {
      for (const [name, index] of Object.entries(collection.indexes))
        if (index.unique) this.#uniqueKeys(collection, name, index)
      this.#isUniqueKnown = true
    }
    for (const keys of this.#unique) keys.check(rows)
  }

  #uniqueKeys(collection: AnyCollection, name: string, index: Index<Row>): UniqueKeys {
    const known = this.#unique.find((keys) => keys.name === name)
    if (known) return known
    const keys = new UniqueKeys(collection.name, name, index)
    for (const row of this.rows.values()) keys.move(row.id, undefined, row)
    this.#unique.push(keys)
    return keys
  }

  #tree(collection: AnyCollection, name: string): Tree {
    const known = this.#trees.find((grown) => grown.name === name)
    if (known) return known.tree
    const index = indexNamed(collection, name)
    const keys: Key[][] = []
    for (const row of this.rows.values()) {
      const key = keyOf(index, row)
      if (key) keys.push(key)
    }
    // Adding sorted keys to a tree is several times faster.
    const tree: Tree = new BTree<readonly Key[], undefined>(undefined, compareKeys)
    for (const key of keys.sort(compareKeys)) tree.set(key, undefined)
    this.#trees.push({ name, index, tree })
    return tree
  }
}

/** Which row holds each key of a unique index. */
class UniqueKeys {
  readonly #holders = new Map<Key, Key>()

  constructor(
    readonly collection: string,
    readonly name: string,
    readonly index: Index<Row>,
  ) {}

  holder(key: readonly Key[]): Key | undefined {
    return this.#holders.get(markOf(key))
  }

  move(id: Key, old: Row | undefined, row: Row | null): void {
    if (old && row && sameKey(this.index, old, row)) return
    const oldMark = old && this.#mark(old)
    // If two rows swap keys, the key may already belong to its new holder.
    if (oldMark !== undefined && this.#holders.get(oldMark) === id) this.#holders.delete(oldMark)
    const mark = row ? this.#mark(row) : undefined
    if (mark !== undefined) this.#holders.set(mark, id)
  }

  check(rows: ReadonlyMap<Key, Row | null>): void {
    // Rows that land together may not share a key either.
    const taken = rows.size > 1 ? new Set<Key>() : undefined
    for (const row of rows.values()) {
      const mark = row ? this.#mark(row) : undefined
      if (!row || mark === undefined) continue
      const holder = this.#holders.get(mark)
      if (taken?.has(mark) || (holder !== undefined && !rows.has(holder)))
        throw new UniqueViolation(this.collection, this.name, keyOf(this.index, row)?.slice(0, -1) ?? [])
      taken?.add(mark)
    }
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

/** The first key that starts with the prefix, strictly past `after`. If there is none, a later key. */
function first(tree: Tree, prefix: readonly Key[], after: readonly Key[] | undefined): readonly Key[] | undefined {
  if (after && compareKeys(after, prefix) >= 0) return tree.nextHigherKey(after)
  return tree.getPairOrNextHigher(prefix)?.[0]
}

/** The last key that starts with the prefix, strictly before `after`. If there is none, an earlier key. */
function last(tree: Tree, prefix: readonly Key[], after: readonly Key[] | undefined): readonly Key[] | undefined {
  const end = [...prefix, AFTER_ALL] as readonly Key[] // It is never put, only compared.
  return tree.nextLowerKey(after && compareKeys(after, end) < 0 ? after : end)
}
