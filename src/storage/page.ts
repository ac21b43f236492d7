import { problem } from '../base/problem.js'
import { hasPrefix, indexNamed, keyIn, keyOf } from './key.js'
import type { Collection, Key, Query, Reader, Row } from './storage.js'

/** Returns a row that other rows refer to. Throws an Error with the collection and the id if it is missing. */
export async function getExisting<R extends Row>(tx: Reader, from: Collection<R>, id: R['id']): Promise<R> {
  const row = await tx.get(from, id)
  if (!row) throw new Error(`${from.name} has no row ${id}`)
  return row
}

/** Returns a row that a caller names. Throws `not_found`, also for a row without these values, such as another owner's. */
export async function getOrNotFound<R extends Row>(
  tx: Reader,
  from: Collection<R>,
  id: R['id'],
  values: Partial<R> = {},
): Promise<R> {
  const row = await tx.get(from, id)
  const names = Object.keys(values) as (keyof R)[]
  if (!row || names.some((name) => row[name] !== values[name])) throw problem('not_found')
  return row
}

export interface ListPage<R extends Row> {
  readonly rows: R[]
  /** The cursor of the next page, or null on the last. */
  readonly next: R['id'] | null
}

/** Which page of a list to read. */
export interface PageBounds {
  readonly limit?: number | undefined
  /** The id of the last row of the page before. */
  readonly after?: number | undefined
  /** Whether to go on from where the row `after` was, if it is there no more. */
  readonly goesOn?: boolean | undefined
}

/** A page of an index in reverse key order, after the row `after`. With `goesOn`, `prefix` is whole. Throws `cursor_invalid`. */
export async function newestFirst<R extends Row, I extends string>(
  tx: Reader,
  from: Collection<R, I>,
  {
    index,
    prefix,
    limit = 20,
    after,
    goesOn = false,
  }: { index: I | 'id'; prefix: Key[]; after?: R['id'] | undefined } & Pick<PageBounds, 'limit' | 'goesOn'>,
): Promise<ListPage<R>> {
  const last = after === undefined || goesOn ? undefined : await tx.get(from, after)
  const lastKey = after !== undefined && goesOn ? [...prefix, after] : last && keyOf(indexNamed(from, index), last)
  if (after !== undefined && (!lastKey || prefix.some((part, i) => lastKey[i] !== part)))
    throw problem('cursor_invalid')
  const found = await tx.find(from, {
    index,
    prefix,
    limit: limit + 1,
    reverse: true,
    ...(lastKey && { after: lastKey }),
  })
  const rows = found.slice(0, limit)
  return { rows, next: found.length > limit ? (rows.at(-1)?.id ?? null) : null }
}

/** A prefix that has a value for every field of its index, so its rows are ordered by id. */
export interface Place<I extends string> {
  readonly index: I
  readonly prefix: readonly Key[]
}

/** Reads a page of the rows under several prefixes, newest first and each row once. Throws `cursor_invalid`. */
export async function newestOfAll<R extends Row & { readonly id: number }, I extends string>(
  tx: Reader,
  from: Collection<R, I>,
  places: readonly Place<I>[],
  { limit = 20, after }: { limit?: number | undefined; after?: number | undefined },
): Promise<{ rows: R[]; next: number | null }> {
  const last = after === undefined ? undefined : await tx.get(from, after)
  const isThere = ({ index, prefix }: Place<I>) => {
    const key = last && keyOf(indexNamed(from, index), last)
    return key !== undefined && hasPrefix(key, prefix)
  }
  if (after !== undefined && !places.some(isThere)) throw problem('cursor_invalid')
  const found = new Map<number, R>()
  for (const { index, prefix } of places) {
    // The cursor's row may be under any of the prefixes, so each is read past its id.
    const past = after !== undefined && { after: [...prefix, after] }
    for (const row of await tx.find(from, { index, prefix, limit: limit + 1, reverse: true, ...past }))
      found.set(row.id, row)
  }
  const newest = [...found.values()].sort((a, b) => b.id - a.id)
  const rows = newest.slice(0, limit)
  return { rows, next: newest.length > limit ? (rows.at(-1)?.id ?? null) : null }
}

/** Reads every row under a prefix in key order, 500 at a time. */
export async function* allRows<R extends Row, I extends string>(
  tx: Reader,
  from: Collection<R, I>,
  { index, prefix }: { index: I | 'id'; prefix: Key[] },
): AsyncGenerator<R> {
  let after: Key[] | undefined
  for (;;) {
    const rows = await tx.find(from, { index, prefix, limit: 500, ...(after && { after }) })
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < 500) return
    after = keyIn(indexNamed(from, index), last)
  }
}

/** Reads each row only once: a list reads its rows with `getMany`, and what shows a row finds it here. Sees no later writes. */
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

/** What `change` makes of each item, one after the other, as a transaction reads. */
export async function mapInOrder<T, U>(items: Iterable<T>, change: (item: T) => Promise<U>): Promise<U[]> {
  const changed: U[] = []
  for (const item of items) changed.push(await change(item))
  return changed
}
