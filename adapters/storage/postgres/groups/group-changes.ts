import type { AnyCollection, Key, Row } from '../../../../src/storage/storage.js'
import type { Changes } from '../../../../src/storage/transaction.js'
import type { Statement } from '../connection/session.js'
import type { TableSet } from '../tables/tables.js'

/** The changes of a group of writes: the last version of each row. */
export class GroupChanges {
  readonly #changes = new Map<string, { readonly collection: AnyCollection; readonly rows: Map<Key, Row | null> }>()

  get isEmpty(): boolean {
    return this.#changes.size === 0
  }

  get all(): readonly Changes[] {
    return [...this.#changes.values()]
  }

  /** The names of the collections. */
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
