import type { Keyring } from '../base/secrets.js'
import type { AnyCollection, Collection, Key, Query, Reader, Row, Storage, Writer } from './storage.js'
import { storageOver } from './storage-over.js'

/**
 * A stored row. `sealed` holds the collection's sealed fields as JSON, encrypted with collection and id as additional
 * data.
 */
interface SealedRow extends Row {
  readonly sealed?: string
}

/**
 * Wraps a storage so that the fields that collections declare as `sealed` are stored encrypted. Reads and writes see
 * whole rows. A migration has no key: rows that it left unencrypted read as they are, until the next start encrypts them.
 */
export function sealedStorage(storage: Storage, keys: () => Keyring): Storage {
  return storageOver(storage, {
    read: (body) => storage.read((tx) => body(new OpeningReader(tx, keys))),
    write: (body) =>
      storage.write(async (tx) => {
        const sealingTx = new SealingWriter(tx, keys)
        const value = await body(sealingTx)
        await sealingTx.seal()
        return value
      }),
  })
}

/** Shows stored rows with their sealed fields opened. */
export const openingReader = (tx: Reader, keys: () => Keyring): Reader => new OpeningReader(tx, keys)

class OpeningReader<T extends Reader> implements Reader {
  constructor(
    readonly tx: T,
    readonly keys: () => Keyring,
  ) {}

  // Returns unsealed reads directly, because an async function would await them again.
  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    const read = this.tx.get(from, id)
    return from.sealed ? read.then((row) => row && this.#open(from, row)) : read
  }

  getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    const read = this.tx.getMany(from, ids)
    return from.sealed ? read.then((rows) => Promise.all(rows.map((row) => row && this.#open(from, row)))) : read
  }

  find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    const found = this.tx.find(from, query)
    return from.sealed ? found.then((rows) => Promise.all(rows.map((row) => this.#open(from, row)))) : found
  }

  async #open<R extends Row>(from: Collection<R>, row: R & SealedRow): Promise<R> {
    const { sealed, ...clear } = row
    if (sealed === undefined) return row
    const opened = await this.keys().open(sealed, contextOf(from, row.id))
    const fields = opened === undefined ? from.sealed : JSON.parse(opened)
    this.remember(from, row.id, { sealed, fields })
    // The sealed fields were taken from a row of this collection.
    return { ...clear, ...fields } as R
  }

  /** Gets what each row held encrypted. */
  protected remember(_from: AnyCollection, _id: Key, _opened: Opened): void {}
}

/** What a row holds encrypted, and its fields as they read. */
interface Opened {
  readonly sealed: string
  readonly fields: Readonly<Record<string, unknown>>
}

class SealingWriter extends OpeningReader<Writer> implements Writer {
  /** Rows to encrypt when the body has ended. */
  readonly #clear = new Map<AnyCollection, Map<Key, Row>>()
  readonly #opened = new Map<string, Opened>()

  nextId(of: string): Promise<number> {
    return this.tx.nextId(of)
  }

  nextIds(of: readonly string[]): Promise<number[]> {
    return this.tx.nextIds(of)
  }

  put<R extends Row>(into: Collection<R>, row: R): void {
    if (into.sealed) this.#clearOf(into).set(row.id, row)
    this.tx.put(into, row)
  }

  remove<R extends Row>(from: Collection<R>, id: R['id']): void {
    if (from.sealed) this.#clearOf(from).delete(id)
    this.tx.remove(from, id)
  }

  async seal(): Promise<void> {
    const rows = [...this.#clear].flatMap(([collection, each]) =>
      [...each.values()].map((row) => ({ collection, row })),
    )
    const sealed = await Promise.all(rows.map(({ collection, row }) => this.#sealed(collection, row)))
    for (const [at, { collection }] of rows.entries()) this.tx.put(collection, sealed[at] as SealedRow) // one for each row
  }

  protected override remember(from: AnyCollection, id: Key, opened: Opened): void {
    this.#opened.set(contextOf(from, id), opened)
  }

  async #sealed(collection: AnyCollection, row: Row): Promise<SealedRow> {
    const isSealed = ([field]: [string, unknown]) => collection.sealed !== undefined && field in collection.sealed
    const fields = Object.entries(row)
    const secret = Object.fromEntries(fields.filter(isSealed))
    const clear = Object.fromEntries(fields.filter((field) => !isSealed(field)))
    const context = contextOf(collection, row.id)
    const opened = this.#opened.get(context)
    // A message is written several times, and its text stays.
    const isSame =
      opened && Object.keys(collection.sealed ?? {}).every((field) => opened.fields[field] === secret[field])
    const sealed = isSame ? opened.sealed : await this.keys().seal(JSON.stringify(secret), context)
    return { id: row.id, ...clear, sealed }
  }

  #clearOf(collection: AnyCollection): Map<Key, Row> {
    const known = this.#clear.get(collection) ?? new Map<Key, Row>()
    this.#clear.set(collection, known)
    return known
  }
}

const contextOf = ({ name }: AnyCollection, id: Key): string => `${name}:${id}`
