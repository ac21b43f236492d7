import { keyOf, sameKey } from '../../../../src/storage/key.js'
import { type AnyCollection, type Index, type Key, type Row, UniqueViolation } from '../../../../src/storage/storage.js'
import type { Changes, Transaction } from '../../../../src/storage/transaction.js'
import { codeOf } from '../connection/errors.js'
import type { Statement } from '../connection/session.js'
import type { DrawnIds } from '../tables/content.js'
import { type EncodedKey, encodeKey, type Table, type TableSet } from '../tables/tables.js'
import type { View } from './view.js'

type OwnCommit = { readonly commit: number; readonly changes: readonly Changes[] }

/** A group gathers its reads while at most one other lands. */
const MOST_KNOWN_COMMITS = 4

/** The last commits of this process, as long as no other process commits between them. */
export class KnownCommits {
  last: number | undefined
  /** The commit from which on all were this process's own. */
  #from = 0
  #own: OwnCommit[] = []

  /** What this process changed after commit `base`. Undefined if others may have committed between it and `last`. */
  since(base: number | undefined, last: number): (readonly Changes[])[] | undefined {
    if (base === undefined || base < this.#from || last !== this.last) return undefined
    return this.#own.filter(({ commit }) => commit > base).map(({ changes }) => changes)
  }

  add(own: OwnCommit): void {
    this.#own.push(own)
    this.last = own.commit
    if (this.#own.length > MOST_KNOWN_COMMITS) this.#from = this.#own.shift()?.commit ?? own.commit
  }

  /** Others committed until `last`. */
  learn(last: number): void {
    this.#own = []
    this.#from = last
    this.last = last
  }

  forget(): void {
    this.last = undefined
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
  readonly #put = new Map<string, { readonly table: Table; readonly name: string; readonly keys: Set<EncodedKey> }>()

  constructor(readonly tables: TableSet) {}

  /** Adds those of a body that the view does not show yet. Throws `RetryOneByOne` if one is put already, or its row's former key is unknown. */
  add(changes: Iterable<Changes>, { view, drawn }: { readonly view: View; readonly drawn: DrawnIds }): void {
    for (const { collection, rows } of changes) {
      const table = this.tables.of(collection)
      for (const [name, index] of table.unique) {
        const keys = this.#keysOf(table, name)
        const earlier = keys.size > 0 && new Set(keys)
        for (const [id, row] of rows) {
          const [left, taken] = changedKeys(index, view.known(collection, id), row).map((key) => key && encodeKey(key))
          const isKnown = view.isKnown(collection, id) || drawn.has(collection, id)
          if (earlier && (!isKnown || [left, taken].some((key) => key && earlier.has(key)))) throw new RetryOneByOne()
          if (taken !== undefined) keys.add(taken)
        }
      }
    }
  }

  /** What fails if a key has two rows. */
  *statements(): Generator<Statement> {
    for (const { table, name, keys } of this.#put.values()) if (keys.size > 0) yield table.checkUnique(name, [...keys])
  }

  #keysOf(table: Table, name: string): Set<EncodedKey> {
    const place = `${table.name} ${name}`
    const put = this.#put.get(place) ?? { table, name, keys: new Set() }
    this.#put.set(place, put)
    return put.keys
  }
}

/** The unique key that a row leaves and the one that it takes. None if it stays the same. */
function changedKeys(index: Index<Row>, before: Row | undefined, row: Row | null): (readonly Key[] | undefined)[] {
  if (before && row && sameKey(index, before, row)) return []
  return [before, row].map((of) => (of ? keyOf(index, of)?.slice(0, -1) : undefined))
}

/** Throws `UniqueViolation` if a body has put two rows under one unique key, or one under the key of a stored row. */
export async function checkUnique(tx: Transaction, view: View, tables: TableSet): Promise<void> {
  const checks: Promise<void>[] = []
  for (const { collection, rows } of tx.changes()) {
    const { unique, collection: declared } = tables.of(collection)
    for (const [name, index] of unique)
      for (const [id, row] of rows) {
        const [, key] = changedKeys(index, view.known(collection, id), row)
        if (key) checks.push(checkKey(tx, declared, name, key))
      }
  }
  await Promise.all(checks)
}

async function checkKey(tx: Transaction, collection: AnyCollection, name: string, key: readonly Key[]): Promise<void> {
  const holders = await tx.find(collection, { index: name, prefix: key, limit: 2 })
  if (holders.length > 1) throw new UniqueViolation(collection.name, name, key)
}
