import type { Keyring } from '../base/secrets.js'
import { assertKeys, freezeRow, indexNamed, mergeRows } from './key.js'
import type { AnyCollection, Collection, Key, Query, Reader, ReplacedRow, Row, Writer } from './storage.js'

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

/** A row that a commit put or removed. */
export interface RowChange {
  readonly collection: AnyCollection
  readonly id: Key
  /** As it is stored. Undefined: it was removed. */
  readonly is: Row | undefined
}

/** What a commit did. Whoever wants to know reads it when the commit has landed. */
export interface CommitRecord {
  /** How often its body read. */
  readonly reads: number
  /** How often its body put or removed a row. */
  readonly writes: number
  /** How often its body ran again. */
  readonly retries: number
  /** Whether it wrote more than tallies. */
  readonly hasChanged: boolean
  /** Each row that it put or removed, in the order in which it did so first. */
  readonly rowChanges: readonly RowChange[]
  /** The same by collection. */
  changes(): Iterable<Changes>
}

/** The one object between a rule and the rows: the buffered writes of a transaction, which its reads see, and their record. */
export class Transaction implements Writer, CommitRecord {
  reads = 0
  writes = 0
  retries = 0
  readonly #base: CommittedReader
  readonly #changes = new Map<string, { collection: AnyCollection; rows: Map<Key, Row | null> }>()
  /** The collection and the id of each row, in turn, in the order of the first writes. */
  readonly #order: (AnyCollection | Key)[] = []
  #keys: Keyring | undefined
  #sealer: Sealer | undefined
  #hasSealed = false
  #stored: StoredRows | undefined

  constructor(base: CommittedReader) {
    this.#base = base
  }

  /** The transaction that a storage hands to a body. A storage of others may hand over a writer of its own. */
  static over(given: Writer): Transaction {
    return given instanceof Transaction ? given : new Transaction(given)
  }

  /** Shows sealed fields from now on, and encrypts them in `seal`. */
  openWith(keys: Keyring): void {
    this.#keys = keys
  }

  /** Remembers each committed row that it sees from now on, for `replaced`. */
  rememberStored(): void {
    this.#stored = new StoredRows()
  }

  nextId(of: string): Promise<number> {
    const stored = this.#stored
    const next = this.#base.nextId(of)
    return stored ? next.then((id) => stored.noteNew(of, id)) : next
  }

  nextIds(of: readonly string[]): Promise<number[]> {
    const stored = this.#stored
    const next = this.#base.nextIds(of)
    return stored ? next.then((ids) => ids.map((id, at) => stored.noteNew(of[at] ?? '', id))) : next
  }

  put<R extends Row>(into: Collection<R>, row: R): void {
    assertKeys(into, row)
    if (into.sealed) this.#hasSealed = true
    this.#change(into, row.id, freezeRow(row))
  }

  remove<R extends Row>(from: Collection<R>, id: R['id']): void {
    this.#change(from, id, null)
  }

  // Returns the promise of the base directly, because an async function would await it again.
  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    this.reads++
    const own = this.#changes.get(from.name)?.rows.get(id)
    if (own !== undefined) return Promise.resolve((own as R | null) ?? undefined) // Rows are under their collection's name.
    const read = this.#base.get(from, id)
    if (!this.#stored && !from.sealed) return read
    return read.then((row) => {
      this.#stored?.note(from, id, row)
      return row && this.#whole(from, row)
    })
  }

  getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    this.reads++
    const own = this.#changes.size > 0 && this.#own(from)
    if (own) return this.#fill(own, from, ids)
    return this.#stored || from.sealed ? this.#committed(from, ids) : this.#base.getMany(from, ids)
  }

  /** The transaction's own rows, and the committed ones of the other ids. */
  async #fill<R extends Row>(own: ReadonlyMap<Key, R | null>, from: Collection<R>, ids: readonly R['id'][]) {
    const others = ids.filter((id) => !own.has(id))
    const committed = others.length > 0 ? await this.#committed(from, others) : []
    let next = 0
    return ids.map((id) => (own.has(id) ? (own.get(id) ?? undefined) : committed[next++]))
  }

  #committed<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    return this.#base.getMany(from, ids).then((rows) => {
      for (const [at, id] of ids.entries()) this.#stored?.note(from, id, rows[at])
      return Promise.all(rows.map((row) => row && this.#whole(from, row)))
    })
  }

  find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    this.reads++
    const own = this.#changes.size > 0 && this.#own(from)
    if (own) return this.#merge(own, from, query)
    return this.#stored || from.sealed ? this.#found(from, query) : this.#base.find(from, query)
  }

  #found<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    return this.#base.find(from, query).then((rows) => {
      for (const row of rows) this.#stored?.note(from, row.id, row)
      return Promise.all(rows.map((row) => this.#whole(from, row)))
    })
  }

  /** The rows of a query. The transaction's own rows replace the committed ones. */
  async #merge<R extends Row, I extends string>(
    own: ReadonlyMap<Key, R | null>,
    from: Collection<R, I>,
    query: Query<I>,
  ): Promise<R[]> {
    const committed = await this.#found(from, { ...query, limit: query.limit + own.size })
    return mergeRows(committed, own, { index: indexNamed(from, query.index), query }).slice(0, query.limit)
  }

  changes(): Iterable<Changes> {
    return this.#changes.values()
  }

  get rowChanges(): readonly RowChange[] {
    const changes: RowChange[] = []
    for (let at = 0; at < this.#order.length; at += 2) {
      const collection = this.#order[at] as AnyCollection // In turn with ids.
      const id = this.#order[at + 1] as Key
      changes.push({ collection, id, is: this.#changes.get(collection.name)?.rows.get(id) ?? undefined })
    }
    return changes
  }

  get isEmpty(): boolean {
    return this.#changes.size === 0
  }

  get hasChanged(): boolean {
    for (const { collection } of this.#changes.values()) if (!collection.isTally) return true
    return false
  }

  /** Writes these changes to an outer transaction. A part that may fail alone joins the whole this way. */
  into(outer: Writer): void {
    for (const { collection, id, is } of this.rowChanges)
      is === undefined ? outer.remove(collection, id) : outer.put(collection, is)
  }

  /** Encrypts the sealed fields of the rows that it put. Undefined if there are none. Call it when the body has ended. */
  seal(): Promise<void> | undefined {
    return this.#hasSealed && this.#keys ? this.#seal(this.#sealer ?? new Sealer(this.#keys)) : undefined
  }

  async #seal(sealer: Sealer): Promise<void> {
    const sealing: Promise<unknown>[] = []
    for (const { collection, rows } of this.#changes.values())
      if (collection.sealed)
        for (const [id, row] of rows)
          if (row) sealing.push(sealer.seal(collection, row).then((sealed) => rows.set(id, freezeRow(sealed))))
    await Promise.all(sealing)
  }

  /** What the rows were that it changes, after `rememberStored`. */
  async replaced(): Promise<readonly ReplacedRow[]> {
    const stored = this.#stored ?? new StoredRows()
    for (const { collection, rows } of this.#changes.values()) {
      const unknown = [...rows.keys()].filter((id) => !stored.has(collection, id))
      if (unknown.length === 0) continue
      const read = await this.#base.getMany(collection, unknown)
      for (const [at, id] of unknown.entries()) stored.note(collection, id, read[at])
    }
    return this.rowChanges.map(({ collection, id }) => ({ collection, id, row: stored.get(collection, id) }))
  }

  /** A committed row as rules see it. */
  #whole<R extends Row>(from: Collection<R>, row: R): R | Promise<R> {
    if (!from.sealed || !this.#keys) return row
    this.#sealer ??= new Sealer(this.#keys)
    return this.#sealer.open(from, row)
  }

  #own<R extends Row>({ name }: Collection<R>): ReadonlyMap<Key, R | null> | undefined {
    // Only rows of this collection are under its name.
    return this.#changes.get(name)?.rows as ReadonlyMap<Key, R | null> | undefined
  }

  #change(collection: AnyCollection, id: Key, row: Row | null): void {
    this.writes++
    let changes = this.#changes.get(collection.name)
    if (!changes) this.#changes.set(collection.name, (changes = { collection, rows: new Map() }))
    if (!changes.rows.has(id)) this.#order.push(collection, id)
    changes.rows.set(id, row)
  }
}

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

/** A transaction that only reads. It shows stored rows whole, and counts what it is asked. */
export class ReadTransaction implements Reader {
  // Declared, because each read makes one, and fields of its own cost a call more.
  /** How often it was asked. */
  declare reads: number
  declare private readonly base: Reader
  declare private readonly keys: Keyring
  declare private sealer: Sealer | undefined

  constructor(base: Reader, keys: Keyring) {
    this.reads = 0
    this.base = base
    this.keys = keys
    this.sealer = undefined
  }

  // Returns reads of other collections directly, because an async function would await them again.
  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    this.reads++
    const read = this.base.get(from, id)
    return from.sealed ? read.then((row) => row && this.whole(from, row)) : read
  }

  getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    this.reads++
    const read = this.base.getMany(from, ids)
    return from.sealed ? read.then((rows) => Promise.all(rows.map((row) => row && this.whole(from, row)))) : read
  }

  find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    this.reads++
    const found = this.base.find(from, query)
    return from.sealed ? found.then((rows) => Promise.all(rows.map((row) => this.whole(from, row)))) : found
  }

  private whole<R extends Row>(from: Collection<R>, row: R): Promise<R> {
    this.sealer ??= new Sealer(this.keys)
    return this.sealer.open(from, row)
  }
}

/** A stored row. `sealed`: its sealed fields as JSON, encrypted with collection and id as additional data. */
interface SealedRow extends Row {
  readonly sealed?: string
}

/** What a row holds encrypted, and its fields as they read. */
interface Opened {
  readonly sealed: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Opens and encrypts the fields that collections declare as `sealed`, in one transaction. */
class Sealer {
  readonly #opened = new Map<string, Opened>()

  constructor(readonly keys: Keyring) {}

  /** Shows a stored row whole. A migration, which has no key, may have left one unencrypted. */
  async open<R extends Row>(from: AnyCollection, row: R): Promise<R> {
    const { sealed, ...clear }: R & SealedRow = row
    if (sealed === undefined) return row
    const context = contextOf(from, row.id)
    const opened = await this.keys.open(sealed, context)
    const fields = opened === undefined ? (from.sealed ?? {}) : JSON.parse(opened)
    this.#opened.set(context, { sealed, fields })
    // The sealed fields were taken from a row of this collection.
    return { ...clear, ...fields } as unknown as R
  }

  async seal(collection: AnyCollection, row: Row): Promise<Row> {
    const isSealed = ([field]: [string, unknown]) => collection.sealed !== undefined && field in collection.sealed
    const fields = Object.entries(row)
    const secret = Object.fromEntries(fields.filter(isSealed))
    const clear = Object.fromEntries(fields.filter((field) => !isSealed(field)))
    const context = contextOf(collection, row.id)
    const opened = this.#opened.get(context)
    // A message is written several times, and its text stays.
    const isSame =
      opened && Object.keys(collection.sealed ?? {}).every((field) => opened.fields[field] === secret[field])
    const sealed = isSame ? opened.sealed : await this.keys.seal(JSON.stringify(secret), context)
    const stored: SealedRow = { id: row.id, ...clear, sealed }
    return stored
  }
}

const contextOf = ({ name }: AnyCollection, id: Key): string => `${name}:${id}`
