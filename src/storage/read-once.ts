import type { Collection, Key, Query, Reader, Row } from './storage.js'

/**
 * Reads each row from the storage only once. A list reads the rows that its page needs with `getMany`, and the
 * functions that show one row `get` them from here. Does not see writes to rows that it has already read.
 */
export class ReadOnce implements Reader {
  readonly #read = new Map<string, Map<Key, Row | undefined>>()

  constructor(readonly tx: Reader) {}

  async get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    const [row] = await this.getMany(from, [id])
    return row
  }

  async getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    const read = this.#readOf(from)
    const unread = [...new Set(ids)].filter((id) => !read.has(id))
    const rows = unread.length > 0 ? await this.tx.getMany(from, unread) : []
    for (const [i, id] of unread.entries()) read.set(id, rows[i])
    return ids.map((id) => read.get(id))
  }

  async find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    const rows = await this.tx.find(from, query)
    const read = this.#readOf(from)
    for (const row of rows) read.set(row.id, row)
    return rows
  }

  #readOf<R extends Row>(from: Collection<R>): Map<Key, R | undefined> {
    const known = this.#read.get(from.name) ?? new Map<Key, Row | undefined>()
    this.#read.set(from.name, known)
    // Only rows of this collection are under its name.
    return known as Map<Key, R | undefined>
  }
}
