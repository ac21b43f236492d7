import { keyOf, sameKey } from '../../../../src/storage/key.js'
import { type AnyCollection, type Key, type Row, UniqueViolation } from '../../../../src/storage/storage.js'
import type { Changes, Transaction } from '../../../../src/storage/transaction.js'
import { codeOf } from '../connection/errors.js'
import type { Statement } from '../connection/session.js'
import type { DrawnIds } from '../tables/counters.js'
import { type EncodedKey, encodeKey } from '../tables/encoded-key.js'
import type { TableSet } from '../tables/tables.js'
import type { View } from './view.js'

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
