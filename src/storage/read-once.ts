import type { Collection, Key, Query, Reader, Row } from './storage.js'

/**
 * Asks the storage for each row once. A list reads the rows behind its page with `getMany`; the functions that show one row then
 * `get` them from here. It is for reading alone: it does not see what is written after it has read a row.
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
    // The rows under a collection's name are that collection's.
    return known as Map<Key, R | undefined>
  }
}
