import { freezeRow, indexNamed, keyIn, mergeRows } from '../../../../src/storage/key.js'
import type { AnyCollection, Collection, Index, Key, Query, Reader, Row } from '../../../../src/storage/storage.js'
import type { Changes } from '../../../../src/storage/transaction.js'
import type { Statement } from '../connection/session.js'
import { encodeKey, type TableSet } from '../tables/tables.js'

/** What was read of the places that a query covers: its first rows, or all of them. */
type Range = { readonly collection: AnyCollection; readonly query: Query; readonly rows: readonly Row[] }

interface KnownRows {
  readonly collection: AnyCollection
  readonly rows: Map<Key, Row | undefined>
  /** The ids that were asked for. Other rows are of ranges. */
  readonly asked: Set<Key>
}

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

  rowsOf({ name }: AnyCollection): ReadonlyMap<Key, Row | null> | undefined {
    return this.#changes.get(name)?.rows
  }

  add(changes: Iterable<Changes>): void {
    for (const { collection, rows } of changes) {
      const known = this.#changes.get(collection.name)
      if (known) for (const [id, row] of rows) known.rows.set(id, row)
      else this.#changes.set(collection.name, { collection, rows: new Map(rows) })
    }
  }

  clear(): void {
    this.#changes.clear()
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

/** The stored rows as a group of writes sees them: what it has read, with changes since over it. So repeated reads cost nothing. */
export class View implements Reader {
  readonly #rows = new Map<string, KnownRows>()
  readonly #ranges = new Map<string, Range>()
  readonly #reading = new Map<string, Promise<Range>>()
  readonly #changed = new GroupChanges()

  /** Where it reads. It may change to somewhere else where the same is stored. */
  constructor(public reads: GatheredReads) {}

  async get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    const [row] = await this.getMany(from, [id])
    return row
  }

  async getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    const changed = this.#changed.rowsOf(from)
    const { rows, asked } = this.#rowsOf(from)
    for (const id of ids) asked.add(id)
    const unread = ids.filter((id) => !changed?.has(id) && !rows.has(id))
    if (unread.length > 0) {
      const found = await this.reads.getMany(from, unread)
      for (const id of unread) rows.set(id, found.get(id))
    }
    // Only rows of this collection are under its name.
    return ids.map((id) => (changed?.has(id) ? (changed.get(id) ?? undefined) : rows.get(id)) as R | undefined)
  }

  async find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    const index = indexNamed(from, query.index)
    if (query.limit < 1) return []
    const place = queryKey(from, query)
    let { limit } = query
    for (;;) {
      const known = this.#ranges.get(place)
      const range = known && reaches(known, limit) ? known : await this.#readOnce(place, from, { ...query, limit })
      const merged = mergeChanges(range, this.#changed.rowsOf(from), { index, query })
      if (merged) return merged as R[] // Only rows of this collection are under its name.
      // Rows that were read are changed or gone, so there are more of them to read.
      limit = 2 * range.query.limit
    }
  }

  /** The row as it is now, if that was read. */
  known(from: AnyCollection, id: Key): Row | undefined {
    return this.#changed.rowsOf(from)?.get(id) ?? this.#rows.get(from.name)?.rows.get(id)
  }

  /** Whether it knows what is stored under an id. */
  isKnown(collection: AnyCollection, id: Key): boolean {
    const has = (rows: ReadonlyMap<Key, unknown> | undefined) => rows?.has(id) ?? false
    return has(this.#changed.rowsOf(collection)) || has(this.#rows.get(collection.name)?.rows)
  }

  apply(changes: Iterable<Changes>): void {
    this.#changed.add(changes)
  }

  /** Forgets all changes, and reads again whatever was read. */
  async refresh(): Promise<void> {
    this.#changed.clear()
    await Promise.all([
      ...[...this.#rows.values()].map(async ({ collection, rows, asked }) => {
        rows.clear()
        if (asked.size === 0) return
        const found = await this.reads.getMany(collection, asked)
        for (const id of asked) rows.set(id, found.get(id))
      }),
      ...[...this.#ranges].map(([place, { collection, query }]) => this.#read(place, collection, query)),
    ])
  }

  /** Many bodies of a group ask for the same range. */
  #readOnce(place: string, collection: AnyCollection, query: Query): Promise<Range> {
    const same = `${query.limit} ${place}`
    const known = this.#reading.get(same)
    const reading = known ?? this.#read(place, collection, query).finally(() => this.#reading.delete(same))
    if (!known) this.#reading.set(same, reading)
    return reading
  }

  async #read(place: string, collection: AnyCollection, query: Query): Promise<Range> {
    const range = { collection, query, rows: await this.reads.find(collection, query) }
    this.#ranges.set(place, range)
    const { rows } = this.#rowsOf(collection)
    for (const row of range.rows) if (!rows.has(row.id)) rows.set(row.id, row)
    return range
  }

  #rowsOf(collection: AnyCollection): KnownRows {
    const known = this.#rows.get(collection.name)
    if (known) return known
    const rows: KnownRows = { collection, rows: new Map(), asked: new Set() }
    this.#rows.set(collection.name, rows)
    return rows
  }
}

/** Whether a range has as many rows as a query wants, or all there are. */
const reaches = ({ rows, query }: Range, limit: number): boolean => query.limit >= limit || rows.length < query.limit

const queryKey = ({ name }: AnyCollection, { index, prefix, after, reverse = false }: Query): string =>
  `${name} ${index} ${reverse} ${encodeKey(prefix)} ${after ? encodeKey(after) : '-'}`

/** The rows of a query with changes over them. Undefined if too few were read to know: beyond the last there may be more. */
function mergeChanges(
  { rows, query: { limit: read } }: Range,
  changed: ReadonlyMap<Key, Row | null> | undefined,
  { index, query }: { readonly index: Index<Row> | undefined; readonly query: Query },
): Row[] | undefined {
  const { limit } = query
  if (!changed || changed.size === 0) return rows.slice(0, limit)
  const last = rows.at(-1)
  const horizon = last && rows.length >= read ? keyIn(index, last) : undefined
  const merged = mergeRows(rows, changed, { index, query, horizon })
  return horizon && merged.length < limit ? undefined : merged.slice(0, limit)
}

export type Sender = { query<R>(statement: Statement): Promise<readonly R[]> }

interface FoundRow {
  /** The number of the query, from 1 up. */
  readonly n: string
  readonly row: Row
}

/** Sends what many bodies read in one turn of the event loop as one statement for each collection, and one for each index. */
export class GatheredReads {
  #wanted = new Map<string, { readonly ids: Set<Key>; readonly found: Promise<ReadonlyMap<Key, Row>> }>()
  #asked = new Map<string, { readonly queries: Query[]; readonly found: Promise<Row[][]> }>()
  #turn: Promise<void> | undefined

  constructor(
    readonly tables: TableSet,
    readonly sender: Sender,
  ) {}

  /** The stored rows of these ids. Ids without a row are missing. */
  getMany(from: AnyCollection, ids: Iterable<Key>): Promise<ReadonlyMap<Key, Row>> {
    const wanted = this.#wanted.get(from.name) ?? this.#want(from)
    for (const id of ids) wanted.ids.add(id)
    return wanted.found
  }

  async find(from: AnyCollection, query: Query): Promise<readonly Row[]> {
    const kind = `${from.name} ${query.index} ${query.reverse === true}`
    const asked = this.#asked.get(kind) ?? this.#ask(from, query, kind)
    const at = asked.queries.push(query) - 1
    return (await asked.found)[at] ?? []
  }

  #want(from: AnyCollection) {
    const table = this.tables.of(from)
    const ids = new Set<Key>()
    const found = this.#gathered().then(async () => {
      const rows = await this.sender.query<{ readonly row: Row }>(table.getMany(ids))
      return new Map(rows.map(({ row }) => [row.id, freezeRow(row)]))
    })
    this.#wanted.set(from.name, { ids, found })
    return { ids, found }
  }

  #ask(from: AnyCollection, kind: Query, name: string) {
    const table = this.tables.of(from)
    const queries: Query[] = []
    const found = this.#gathered().then(async () => {
      const lists: Row[][] = queries.map(() => [])
      const rows = await this.sender.query<FoundRow>(table.find(queries, kind))
      for (const { n, row } of rows) lists[Number(n) - 1]?.push(freezeRow(row))
      return lists
    })
    this.#asked.set(name, { queries, found })
    return { queries, found }
  }

  /** Resolves when everybody who can go on has asked. */
  #gathered(): Promise<void> {
    this.#turn ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      this.#turn = undefined
      this.#wanted = new Map()
      this.#asked = new Map()
    })
    return this.#turn
  }
}
