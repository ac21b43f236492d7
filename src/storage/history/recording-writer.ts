import type { AnyCollection, Collection, Key, Query, ReplacedRow, Row, Writer } from '../storage.js'

/** A transaction that notes each row before it is replaced. Most have been read by then, so this reads few again. */
export class RecordingWriter implements Writer {
  /** Rows as they are stored, by collection and id: those that were read, and those that were replaced. */
  readonly #stored = new Map<string, Map<Key, Row | undefined>>()
  readonly #written: { readonly collection: AnyCollection; readonly id: Key }[] = []
  readonly #isWritten = new Map<string, Set<Key>>()
  readonly #reads: Promise<unknown>[] = []

  constructor(readonly tx: Writer) {}

  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    const read = this.tx.get(from, id)
    const stored = this.#storedIn(from.name)
    return stored.has(id) ? read : read.then((row) => note(stored, id, row))
  }

  async getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    const rows = await this.tx.getMany(from, ids)
    const stored = this.#storedIn(from.name)
    for (const [i, id] of ids.entries()) note(stored, id, rows[i])
    return rows
  }

  async find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    const rows = await this.tx.find(from, query)
    const stored = this.#storedIn(from.name)
    for (const row of rows) note(stored, row.id, row)
    return rows
  }

  async nextId(of: string): Promise<number> {
    const id = await this.tx.nextId(of)
    // The ids of a collection come from the counter of its name, so this one is new.
    this.#storedIn(of).set(id, undefined)
    return id
  }

  async nextIds(of: readonly string[]): Promise<number[]> {
    const ids = await this.tx.nextIds(of)
    for (const [i, id] of ids.entries()) this.#storedIn(of[i] ?? '').set(id, undefined)
    return ids
  }

  put<R extends Row>(into: Collection<R>, row: R): void {
    this.#before(into, row.id)
    this.tx.put(into, row)
  }

  remove<R extends Row>(from: Collection<R>, id: R['id']): void {
    this.#before(from, id)
    this.tx.remove(from, id)
  }

  /** The rows as they were before this write. */
  async replaced(): Promise<readonly ReplacedRow[]> {
    if (this.#reads.length > 0) await Promise.all(this.#reads)
    return this.#written.map(({ collection, id }) => ({
      collection,
      id,
      row: this.#stored.get(collection.name)?.get(id),
    }))
  }

  #before(collection: AnyCollection, id: Key): void {
    const { name } = collection
    let written = this.#isWritten.get(name)
    if (!written) this.#isWritten.set(name, (written = new Set()))
    if (written.has(id)) return
    written.add(id)
    this.#written.push({ collection, id })
    const stored = this.#storedIn(name)
    if (stored.has(id)) return
    // From now on, this transaction reads its own version. A read that begins before the row is put gets what is stored.
    stored.set(id, undefined)
    const read = this.tx.get(collection, id).then((row) => stored.set(id, row))
    this.#reads.push(read)
  }

  #storedIn(name: string): Map<Key, Row | undefined> {
    let stored = this.#stored.get(name)
    if (!stored) this.#stored.set(name, (stored = new Map()))
    return stored
  }
}

/** Keeps the first version that was read. Later ones may be the transaction's own. */
function note<R extends Row>(stored: Map<Key, Row | undefined>, id: Key, row: R | undefined): R | undefined {
  if (!stored.has(id)) stored.set(id, row)
  return row
}
