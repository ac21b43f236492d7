import { assertKeys, compareKeys, hasPrefix, indexNamed, keyIn, keyOf } from './key.js'
import { freezeRow } from './state.js'
import type { AnyCollection, Collection, Key, Query, Reader, Row, Writer } from './storage.js'

/** The committed state and the counters, which a transaction reads through its own writes. */
export interface CommittedReader extends Reader {
  nextId(of: string): Promise<number>
  nextIds(of: readonly string[]): Promise<number[]>
}

/** The changes of one collection: the new row, or null for a removed one. */
export interface Changes {
  readonly collection: AnyCollection
  readonly rows: ReadonlyMap<Key, Row | null>
}

/**
 * Buffers the writes of one transaction, which its own reads see. An adapter lands `changes()` in one step, or drops
 * them all.
 */
export class Transaction implements Writer {
  readonly #base: CommittedReader
  readonly #changes = new Map<string, { collection: AnyCollection; rows: Map<Key, Row | null> }>()

  constructor(base: CommittedReader) {
    this.#base = base
  }

  nextId(of: string): Promise<number> {
    return this.#base.nextId(of)
  }

  nextIds(of: readonly string[]): Promise<number[]> {
    return this.#base.nextIds(of)
  }

  put<R extends Row>(into: Collection<R>, row: R): void {
    assertKeys(into, row)
    this.#changesOf(into).set(row.id, freezeRow(row))
  }

  remove<R extends Row>(from: Collection<R>, id: R['id']): void {
    this.#changesOf(from).set(id, null)
  }

  // Returns the promise of the base directly, because an async function would await it again.
  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    const own = this.#own(from)?.get(id)
    if (own === undefined) return this.#base.get(from, id)
    return Promise.resolve(own ?? undefined)
  }

  getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    const own = this.#own(from)
    return own ? this.#fill(own, from, ids) : this.#base.getMany(from, ids)
  }

  /** The transaction's own rows, and the committed ones of the other ids. */
  async #fill<R extends Row>(
    own: ReadonlyMap<Key, R | null>,
    from: Collection<R>,
    ids: readonly R['id'][],
  ): Promise<(R | undefined)[]> {
    const others = ids.filter((id) => !own.has(id))
    const committed = others.length > 0 ? await this.#base.getMany(from, others) : []
    let next = 0
    return ids.map((id) => (own.has(id) ? (own.get(id) ?? undefined) : committed[next++]))
  }

  find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    const own = this.#own(from)
    return own ? this.#merge(own, from, query) : this.#base.find(from, query)
  }

  /** The rows of a query. The transaction's own rows replace the committed ones. */
  async #merge<R extends Row, I extends string>(
    own: ReadonlyMap<Key, R | null>,
    from: Collection<R, I>,
    query: Query<I>,
  ): Promise<R[]> {
    const committed = await this.#base.find(from, { ...query, limit: query.limit + own.size })
    const index = indexNamed(from, query.index)
    const direction = query.reverse ? -1 : 1
    const keyed = committed.filter((row) => !own.has(row.id)).map((row) => ({ row, key: keyIn(index, row) }))
    for (const row of own.values()) {
      const key = row ? keyOf(index, row) : undefined
      if (!row || !key || !hasPrefix(key, query.prefix)) continue
      if (query.after && direction * compareKeys(key, query.after) <= 0) continue
      keyed.push({ row, key })
    }
    keyed.sort((a, b) => direction * compareKeys(a.key, b.key))
    return keyed.slice(0, query.limit).map(({ row }) => row)
  }

  changes(): Iterable<Changes> {
    return this.#changes.values()
  }

  get isEmpty(): boolean {
    return this.#changes.size === 0
  }

  /** Writes these changes to an outer transaction. A part that may fail alone joins the whole this way. */
  into(outer: Writer): void {
    for (const { collection, rows } of this.#changes.values())
      for (const [id, row] of rows) row === null ? outer.remove(collection, id) : outer.put(collection, row)
  }

  #own<R extends Row>({ name }: Collection<R>): ReadonlyMap<Key, R | null> | undefined {
    // Only rows of this collection are under its name.
    return this.#changes.get(name)?.rows as ReadonlyMap<Key, R | null> | undefined
  }

  #changesOf(collection: AnyCollection): Map<Key, Row | null> {
    const known = this.#changes.get(collection.name)
    if (known) return known.rows
    const rows = new Map<Key, Row | null>()
    this.#changes.set(collection.name, { collection, rows })
    return rows
  }
}
