import type { AnyCollection, Key, Row } from './storage.js'

/** Rows as they were stored when a transaction first saw them, so that it need not read them again when it ends. */
export class StoredRows {
  readonly #rows = new Map<string, Map<Key, Row | undefined>>()

  note({ name }: AnyCollection, id: Key, row: Row | undefined): void {
    const rows = this.#rowsOf(name)
    if (!rows.has(id)) rows.set(id, row)
  }

  /** The ids of a collection come from the counter of its name, so there is no row under this one. Returns it. */
  noteNew(counter: string, id: number): number {
    this.#rowsOf(counter).set(id, undefined)
    return id
  }

  has({ name }: AnyCollection, id: Key): boolean {
    return this.#rows.get(name)?.has(id) ?? false
  }

  get({ name }: AnyCollection, id: Key): Row | undefined {
    return this.#rows.get(name)?.get(id)
  }

  #rowsOf(name: string): Map<Key, Row | undefined> {
    let rows = this.#rows.get(name)
    if (!rows) this.#rows.set(name, (rows = new Map()))
    return rows
  }
}
