import sortedBtree from 'sorted-btree'
import { AFTER_ALL, type Bound, compareKeys, compareParts, hasPrefix, keyOf, sameKey } from './key.js'
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
import type { Base, Changes } from './transaction.js'

// Some loaders of this CommonJS module give its default export, others what holds that.
const BTree = ('default' in sortedBtree ? sortedBtree.default : sortedBtree) as typeof sortedBtree.default
type Tree = InstanceType<typeof BTree<Bound, undefined>>

/** Committed rows in memory: by id, and their keys in one ordered tree per index. */
export class Tables implements Base {
  #tables = new Map<string, Table>()
  #counters = new Map<string, number>()
  readonly #moved = new Set<string>()

  constructor(state?: State) {
    if (state) this.load(state)
  }

  async get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    return this.#tables.get(from.name)?.rows.get(id) as R | undefined
  }

  async find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    return this.#table(from.name).find(from, query) as R[]
  }

  async nextId(of: string): Promise<number> {
    const next = (this.#counters.get(of) ?? 0) + 1
    this.#counters.set(of, next)
    this.#moved.add(of)
    return next
  }

  counters(): Record<string, number> {
    return Object.fromEntries([...this.#counters].sort(([a], [b]) => compareParts(a, b)))
  }

  setCounter(of: string, last: number): void {
    this.#counters.set(of, last)
  }

  /** The last number of each counter that gave one, if to a body that threw, since `keptMoved` was last called. */
  moved(): Record<string, number> | undefined {
    if (this.#moved.size === 0) return undefined
    const moved: Record<string, number> = {}
    for (const name of this.#moved) moved[name] = this.#counters.get(name) as number
    return moved
  }

  keptMoved(): void {
    this.#moved.clear()
  }

  /** Throws `UniqueViolation` when landing these changes would put two rows under one unique key. */
  check(changes: readonly Changes[]): void {
    for (const { collection, rows } of changes) this.#table(collection.name).check(collection, rows)
  }

  /** Puts and removes rows; `check` comes first. */
  land(changes: readonly Changes[]): void {
    for (const { collection, rows } of changes) {
      const table = this.#table(collection.name)
      table.index(collection)
      for (const [id, row] of rows) table.set(id, row)
    }
  }

  /** Puts one row, or removes it, where only the collection's name is known: a journal being replayed. */
  restore(name: string, id: Key, row: Row | null): void {
    this.#table(name).set(id, row && freezeRow(row))
  }

  /** The state at this moment, but the rows of a collection in no order: cheap, whatever is done with it later. */
  capture(): State & { rows: Record<string, Row[]> } {
    const rows: Record<string, Row[]> = {}
    for (const name of [...this.#tables.keys()].sort()) {
      const table = this.#tables.get(name) as Table
      if (table.rows.size > 0) rows[name] = [...table.rows.values()]
    }
    return { counters: this.counters(), rows }
  }

  state(): State {
    const state = this.capture()
    for (const rows of Object.values(state.rows)) rows.sort((a, b) => compareParts(a.id, b.id))
    return state
  }

  /** Holds this state instead. Throws a TypeError, and changes nothing, where it is not one. */
  load(state: State): void {
    assertState(state)
    this.#tables = new Map()
    this.#counters = new Map(Object.entries(state.counters))
    this.#moved.clear()
    for (const [name, rows] of Object.entries(state.rows)) for (const row of rows) this.restore(name, row.id, row)
  }

  #table(name: string): Table {
    const known = this.#tables.get(name)
    if (known) return known
    const table = new Table()
    this.#tables.set(name, table)
    return table
  }
}

/** One collection. Its trees are grown when first asked for: what is loaded from a file knows no indexes yet. */
class Table {
  readonly rows = new Map<Key, Row>()
  readonly #trees = new Map<string, { index: Index<Row> | undefined; tree: Tree }>()

  find(collection: AnyCollection, { index, prefix, after, limit, reverse }: Query): Row[] {
    const tree = this.#tree(collection, index)
    const found: Row[] = []
    if (limit < 1) return found
    let key = (reverse ? last(tree, prefix, after) : first(tree, prefix, after)) as readonly Key[] | undefined
    while (key && hasPrefix(key, prefix)) {
      found.push(this.rows.get(key[key.length - 1] as Key) as Row)
      if (found.length === limit) break
      key = (reverse ? tree.nextLowerKey(key) : tree.nextHigherKey(key)) as readonly Key[] | undefined
    }
    return found
  }

  /** Grows the trees that a collection asks for. */
  index(collection: AnyCollection): void {
    for (const name in collection.indexes) this.#tree(collection, name)
  }

  set(id: Key, row: Row | null): void {
    const old = this.rows.get(id)
    for (const { index, tree } of this.#trees.values()) {
      if (old && row && sameKey(index, old, row)) continue
      const oldKey = old && keyOf(index, old)
      const newKey = row ? keyOf(index, row) : undefined
      if (oldKey) tree.delete(oldKey)
      if (newKey) tree.set(newKey, undefined)
    }
    if (row) this.rows.set(id, row)
    else this.rows.delete(id)
  }

  /** Throws when landing these rows would put two under one unique key; a row about to go frees its key. */
  check(collection: AnyCollection, rows: ReadonlyMap<Key, Row | null>): void {
    for (const name in collection.indexes) {
      const index = collection.indexes[name] as Index<Row>
      if (!index.unique) continue
      const taken = new Set<string>()
      for (const row of rows.values()) {
        const key = row ? keyOf(index, row)?.slice(0, -1) : undefined
        if (!key) continue
        const mark = JSON.stringify(key)
        const [holder] = this.find(collection, { index: name, prefix: key, limit: 1 })
        if (taken.has(mark) || (holder && !rows.has(holder.id))) throw new UniqueViolation(collection.name, name, key)
        taken.add(mark)
      }
    }
  }

  #tree(collection: AnyCollection, name: string): Tree {
    const known = this.#trees.get(name)
    if (known) return known.tree
    const index = name === 'id' ? undefined : (collection.indexes[name] as Index<Row> | undefined)
    if (!index && name !== 'id') throw new TypeError(`${collection.name} has no index ${name}`)
    const keys: Key[][] = []
    for (const row of this.rows.values()) {
      const key = keyOf(index, row)
      if (key) keys.push(key)
    }
    // In order, each key lands at the end of the tree: several times faster than as they come.
    const tree: Tree = new BTree(undefined, compareKeys)
    for (const key of keys.sort(compareKeys)) tree.set(key, undefined)
    this.#trees.set(name, { index, tree })
    return tree
  }
}

/** The first key that starts with the prefix, or one behind all of those, strictly past `after`. */
function first(tree: Tree, prefix: readonly Key[], after: readonly Key[] | undefined): Bound | undefined {
  if (after && compareKeys(after, prefix) >= 0) return tree.nextHigherKey(after)
  return tree.getPairOrNextHigher(prefix)?.[0]
}

/** The last key that starts with the prefix, or one before all of those, strictly before `after`. */
function last(tree: Tree, prefix: readonly Key[], after: readonly Key[] | undefined): Bound | undefined {
  const end: Bound = [...prefix, AFTER_ALL]
  return tree.nextLowerKey(after && compareKeys(after, end) < 0 ? after : end)
}
