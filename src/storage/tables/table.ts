import sortedBtree from 'sorted-btree'
import { bulkLoad } from 'sorted-btree/extended/bulkLoad.js'
import { AFTER_ALL, type Bound, compareKeys, compareParts, indexNamed, isKey, keyOf, sameKey } from '../key.js'
import { type AnyCollection, type Index, type Key, type Query, type Row, UniqueViolation } from '../storage.js'
import { LayeredMap, Rows } from './rows.js'

// Some loaders return this CommonJS module's default export, others an object that holds it.
const BTree = 'default' in sortedBtree ? sortedBtree.default : sortedBtree
const NODE_SIZE = 32

/** The rows of one collection. Its trees are built when their index is first read, and unique keys at the first check. */
export class Table {
  #trees = new Map<string, Tree<Row>>()
  /** The rows that are not in the array of rows, by id. Undefined until someone reads by id. */
  #named: Tree<Row> | undefined
  #unique = new Map<string, UniqueKeys>()
  /** Whether `#unique` has every unique index of the collection. */
  #isUniqueKnown = false

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

  find(collection: AnyCollection, { index, prefix, after, limit, reverse = false }: Query): Row[] {
    const found: Row[] = []
    if (limit < 1) return found
    const fields = collection.indexes[index]
    if (fields?.unique && prefix.length === fields.fields.length && !after) {
      const id = (this.#unique.get(index) ?? this.#uniqueKeys(collection, index, fields)).holder(prefix)
      const row = id === undefined ? undefined : this.rows.get(id)
      return row ? [row] : found
    }
    if (index !== 'id')
      return (this.#trees.get(index) ?? this.#tree(collection, index)).find(prefix, after, reverse, limit)
    for (const row of this.#byId(prefix, after, reverse, limit)) {
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

function* merged(left: Generator<Row>, right: IterableIterator<Row>, reverse: boolean): Generator<Row> {
  let b = right.next()
  for (const row of left) {
    for (; !b.done && compareParts(b.value.id, row.id) < 0 !== reverse; b = right.next()) yield b.value
    yield row
  }
  for (; !b.done; b = right.next()) yield b.value
}

/** A place in the order of the keys, where no row needs to be. */
class Place {
  // Declared, because each find makes one, and a field of its own costs a call more.
  declare readonly key: Bound

  constructor(key: Bound) {
    this.key = key
  }
}

type Entry<R extends Row> = R | Place
type Fields = readonly (keyof Row)[]

/** The order of an index: its rows, by its fields and then by id. A tree of rows needs no memory for keys. */
class Tree<R extends Row> {
  readonly #fields: Fields
  #tree: InstanceType<typeof BTree<Entry<R>, undefined>>

  /** `rows` may be unordered, and may hold rows that are not in the index. */
  constructor(
    readonly name: string,
    readonly index: Index<Row> | undefined,
    rows: Iterable<R> = [],
  ) {
    this.#fields = [...(index?.fields ?? []), 'id'] as (keyof Row)[] // Indexes name only fields of their rows.
    const compare = entryOrder(this.#fields)
    const sorted = this.#sorted(rows, compare)
    // Adding many rows one by one would hold up other calls.
    this.#tree =
      sorted.length === 0
        ? new BTree<Entry<R>, undefined>(undefined, compare)
        : bulkLoad<Entry<R>, undefined>(sorted, new Array(sorted.length), NODE_SIZE, compare)
  }

  /** The same order. It shares nodes until they are written. Nothing may be written to this one any more. */
  copy(): Tree<R> {
    const copy = new Tree<R>(this.name, this.index)
    copy.#tree = this.#tree.clone()
    return copy
  }

  /** Puts a new version of a row in the place of the old one. Either may be missing. */
  replace(old: R | undefined, row: R | null): void {
    if (old && !(row && sameKey(this.index, old, row)) && this.#has(old)) this.#tree.delete(old)
    // The tree holds the row itself, so it needs the new version even under the same key.
    if (row && this.#has(row)) this.#tree.set(row, undefined)
  }

  /** At most `limit` rows whose key starts with the prefix, in order, strictly past `after`. */
  find(prefix: readonly Key[], after: readonly Key[] | undefined, reverse: boolean, limit: number): R[] {
    const found: R[] = []
    for (const [entry] of reverse ? this.#down(prefix, after) : this.#up(prefix, after)) {
      if (entry instanceof Place) continue
      for (let i = 0; i < prefix.length; i++) if (entry[this.#fields[i] as keyof R] !== prefix[i]) return found
      if (after?.length === this.#fields.length && startsWith(entry, this.#fields, after)) continue
      if (found.push(entry) === limit) break
    }
    return found
  }

  #up(prefix: readonly Key[], after: readonly Key[] | undefined) {
    return this.#tree.entries(new Place(after && compareKeys(after, prefix) >= 0 ? after : prefix), [])
  }

  #down(prefix: readonly Key[], after: readonly Key[] | undefined) {
    const end: Bound = [...prefix, AFTER_ALL]
    return this.#tree.entriesReversed(new Place(after && compareKeys(after, end) < 0 ? after : end), [])
  }

  #has(row: R): boolean {
    for (const field of this.#fields) {
      const part: unknown = row[field]
      if (typeof part !== 'string' && !Number.isFinite(part)) return false
    }
    return true
  }

  /** Rows of one owner usually come in the order of the index, so they are sorted group by group. */
  #sorted(rows: Iterable<R>, compare: (a: R, b: R) => number): R[] {
    const groups = new Map<Bound[number], R[]>()
    for (const row of rows) {
      if (!this.#has(row)) continue
      const part = row[this.#fields[0] as keyof Row] as Key // `#has` looked.
      const group = groups.get(part)
      if (group) group.push(row)
      else groups.set(part, [row])
    }
    const ordered = [...groups].sort(([a], [b]) => compareParts(a, b))
    return ordered.flatMap(([, group]) => group.sort(compare))
  }
}

/** Orders rows and places: by each field, then a shorter key before its extensions. */
function entryOrder(fields: Fields): (a: Entry<Row>, b: Entry<Row>) => number {
  return (a, b) => {
    const placeOfA = a instanceof Place ? a.key : undefined
    const placeOfB = b instanceof Place ? b.key : undefined
    const lengthOfA = placeOfA ? placeOfA.length : fields.length
    const lengthOfB = placeOfB ? placeOfB.length : fields.length
    const shared = Math.min(lengthOfA, lengthOfB)
    for (let i = 0; i < shared; i++) {
      // A row is in the tree only if each of its fields can be part of a key.
      const part: unknown = placeOfA ? placeOfA[i] : (a as Row)[fields[i] as keyof Row]
      const other: unknown = placeOfB ? placeOfB[i] : (b as Row)[fields[i] as keyof Row]
      if (part !== other) return compareParts(part as Bound[number], other as Bound[number])
    }
    return lengthOfA - lengthOfB
  }
}

function startsWith(row: Row, fields: Fields, prefix: readonly Key[]): boolean {
  for (let i = 0; i < prefix.length; i++) if (row[fields[i] as keyof Row] !== prefix[i]) return false
  return true
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
