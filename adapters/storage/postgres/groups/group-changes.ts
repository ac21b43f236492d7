import { keyOf, sameKey } from '../../../../src/storage/key.js'
import { type AnyCollection, type Key, type Row, UniqueViolation } from '../../../../src/storage/storage.js'
import type { Changes, Transaction } from '../../../../src/storage/transaction.js'
import { codeOf } from '../connection/errors.js'
import type { Statement } from '../connection/session.js'
import type { DrawnIds } from '../tables/content.js'
import { type EncodedKey, encodeKey, type TableSet } from '../tables/tables.js'
import type { View } from './view.js'

/** The changes of a group of writes: the last version of each row. */
export class GroupChanges {
  readonly #changes = new Map<string, { readonly collection: AnyCollection; readonly rows: Map<Key, Row | null> }>()

  get isEmpty(): boolean {
    return this.#changes.size === 0
  }

  get all(): readonly Changes[] {
    return [...this.#changes.values()]
  }

  get names(): Iterable<string> {
    return this.#changes.keys()
  }

  add(changes: readonly Changes[]): void {
    for (const { collection, rows } of changes) {
      const known = this.#changes.get(collection.name)
      if (known) for (const [id, row] of rows) known.rows.set(id, row)
      else this.#changes.set(collection.name, { collection, rows: new Map(rows) })
    }
  }

  /** What stores these changes: at most two statements for each collection. */
  *statements(tables: TableSet): Generator<Statement> {
    for (const { collection, rows } of this.#changes.values()) {
      const table = tables.of(collection)
      const puts = [...rows.values()].filter((row) => row !== null)
      const removed = [...rows].flatMap(([id, row]) => (row === null ? [id] : []))
      if (puts.length > 0) yield table.put(puts)
      if (removed.length > 0) yield table.remove(removed)
    }
  }
}

interface OwnCommit {
  readonly commit: number
  readonly changes: readonly Changes[]
}

/** A group gathers its reads while at most one other lands. */
const MOST_KNOWN_COMMITS = 4

/** The last commits of this process, as long as no other process commits between them. */
export class KnownCommits {
  #last: number | undefined
  /** The commit from which on all were this process's own. */
  #from = 0
  #own: OwnCommit[] = []

  /** The last commit, as far as this process knows. */
  get last(): number | undefined {
    return this.#last
  }

  /**
   * What this process changed after the commit `base`, if `last` is the last commit and nobody else committed since
   * `base`. Undefined if someone may have.
   */
  since(base: number | undefined, last: number): (readonly Changes[])[] | undefined {
    if (base === undefined || base < this.#from || last !== this.#last) return undefined
    return this.#own.filter(({ commit }) => commit > base).map(({ changes }) => changes)
  }

  add(own: OwnCommit): void {
    this.#own.push(own)
    this.#last = own.commit
    if (this.#own.length > MOST_KNOWN_COMMITS) this.#from = this.#own.shift()?.commit ?? own.commit
  }

  /** Others committed until `last`. */
  learn(last: number): void {
    this.#own = []
    this.#from = last
    this.#last = last
  }

  /** Nothing is known any more, because a transaction failed. */
  forget(): void {
    this.#last = undefined
  }
}

/** Bodies of a group may share a unique key, so each must be checked before the next one runs. */
export class RetryOneByOne extends Error {
  override name = 'RetryOneByOne'
}

/** Whether the database found two rows under one unique key. */
export const isViolation = (error: unknown): boolean => codeOf(error) === '22012'

/** The unique keys that the bodies of a group put. The database checks them all at once, after the rows. */
export class UniqueKeys {
  readonly #tables: TableSet
  readonly #put = new Map<
    string,
    { readonly collection: AnyCollection; readonly index: string; keys: Set<EncodedKey> }
  >()

  constructor(tables: TableSet) {
    this.#tables = tables
  }

  /**
   * Adds those of a body that the view does not show yet. Throws `RetryOneByOne` if an earlier body has put one of them, or if
   * it is unknown which keys a row leaves.
   */
  add(changes: Iterable<Changes>, { view, drawn }: { readonly view: View; readonly drawn: DrawnIds }): void {
    for (const { collection, rows } of changes) {
      const { unique, collection: declared } = this.#tables.of(collection)
      for (const index of unique) {
        const put = this.#putOf(declared, index)
        const earlier = put.keys.size > 0 && new Set(put.keys)
        for (const [id, row] of rows) {
          const keys = changedKeys(declared, index, { before: view.known(collection, id), row })
          const isKnown = view.isKnown(collection, id) || drawn.has(collection, id)
          if (earlier && (!isKnown || keys.some((key) => key && earlier.has(key)))) throw new RetryOneByOne()
          if (keys[1] !== undefined) put.keys.add(keys[1])
        }
      }
    }
  }

  /** What fails if a key has two rows. */
  *statements(): Generator<Statement> {
    for (const { collection, index, keys } of this.#put.values())
      if (keys.size > 0) yield this.#tables.of(collection).checkUnique(index, [...keys])
  }

  #putOf(collection: AnyCollection, index: string) {
    const name = `${collection.name} ${index}`
    const known = this.#put.get(name)
    if (known) return known
    const put = { collection, index, keys: new Set<EncodedKey>() }
    this.#put.set(name, put)
    return put
  }
}

/** The unique key that a row leaves and the one that it takes. Both undefined if it stays the same. */
function changedKeys(
  { indexes }: AnyCollection,
  name: string,
  { before, row }: { readonly before: Row | undefined; readonly row: Row | null },
): readonly [EncodedKey | undefined, EncodedKey | undefined] {
  const index = indexes[name]
  if (!index || (before && row && sameKey(index, before, row))) return [undefined, undefined]
  const encoded = (of: Row | null | undefined) => {
    const key = of && keyOf(index, of)?.slice(0, -1)
    return key ? encodeKey(key) : undefined
  }
  return [encoded(before), encoded(row)]
}

/** Throws `UniqueViolation` if a body has put two rows under one unique key, or one under the key of a stored row. */
export async function checkUnique(tx: Transaction, view: View, tables: TableSet): Promise<void> {
  const checks: Promise<void>[] = []
  for (const { collection, rows } of tx.changes()) {
    const { unique, collection: declared } = tables.of(collection)
    for (const name of unique) {
      const index = declared.indexes[name]
      for (const [id, row] of index ? rows : []) {
        const before = view.known(collection, id)
        const key = row && !(before && index && sameKey(index, before, row)) && keyOf(index, row)?.slice(0, -1)
        if (key) checks.push(checkKey(tx, declared, { name, key }))
      }
    }
  }
  await Promise.all(checks)
}

async function checkKey(
  tx: Transaction,
  collection: AnyCollection,
  { name, key }: { readonly name: string; readonly key: readonly Key[] },
): Promise<void> {
  const holders = await tx.find(collection, { index: name, prefix: key, limit: 2 })
  if (holders.length > 1) throw new UniqueViolation(collection.name, name, key)
}
