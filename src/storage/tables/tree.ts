import sortedBtree from 'sorted-btree'
import { bulkLoad } from 'sorted-btree/extended/bulkLoad.js'
import { AFTER_ALL, type Bound, compareKeys, compareParts, sameKey } from '../key.js'
import type { Index, Key, Row } from '../storage.js'

// Some loaders return this CommonJS module's default export, others an object that holds it.
const BTree = 'default' in sortedBtree ? sortedBtree.default : sortedBtree
const NODE_SIZE = 32

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
export class Tree<R extends Row> {
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
    // Stryker disable next-line ArrayDeclaration: each entry replaces what is in the array
    return this.#tree.entries(new Place(after && compareKeys(after, prefix) >= 0 ? after : prefix), [])
  }

  #down(prefix: readonly Key[], after: readonly Key[] | undefined) {
    const end: Bound = [...prefix, AFTER_ALL]
    // Stryker disable next-line ArrayDeclaration: each entry replaces what is in the array
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
