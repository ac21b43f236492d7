import type { Keyring } from '../base/secrets.js'
import type { AnyCollection, Collection, Key, Query, Reader, Row } from './storage.js'

/**
 * A stored row. `sealed` holds the collection's sealed fields as JSON, encrypted with collection and id as additional
 * data.
 */
interface SealedRow extends Row {
  readonly sealed?: string
}

/** What a row holds encrypted, and its fields as they read. */
interface Opened {
  readonly sealed: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Opens and encrypts the fields that collections declare as `sealed`, in one transaction. */
export class Sealer {
  readonly #keys: Keyring
  readonly #opened = new Map<string, Opened>()

  constructor(keys: Keyring) {
    this.#keys = keys
  }

  /**
   * Shows a stored row whole. A migration has no key: a row that it left unencrypted reads as it is, until the next start
   * encrypts it.
   */
  async open<R extends Row>(from: AnyCollection, row: R): Promise<R> {
    const { sealed, ...clear }: R & SealedRow = row
    if (sealed === undefined) return row
    const context = contextOf(from, row.id)
    const opened = await this.#keys.open(sealed, context)
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
    const sealed = isSame ? opened.sealed : await this.#keys.seal(JSON.stringify(secret), context)
    const stored: SealedRow = { id: row.id, ...clear, sealed }
    return stored
  }
}

const contextOf = ({ name }: AnyCollection, id: Key): string => `${name}:${id}`

/** A transaction that only reads. It shows stored rows whole, and counts what it is asked. */
export class ReadTransaction implements Reader {
  /** How often it was asked. */
  reads = 0
  readonly #base: Reader
  readonly #keys: Keyring
  #sealer: Sealer | undefined

  constructor(base: Reader, keys: Keyring) {
    this.#base = base
    this.#keys = keys
  }

  // Returns reads of other collections directly, because an async function would await them again.
  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    this.reads++
    const read = this.#base.get(from, id)
    return from.sealed ? read.then((row) => row && this.#whole(from, row)) : read
  }

  getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    this.reads++
    const read = this.#base.getMany(from, ids)
    return from.sealed ? read.then((rows) => Promise.all(rows.map((row) => row && this.#whole(from, row)))) : read
  }

  find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    this.reads++
    const found = this.#base.find(from, query)
    return from.sealed ? found.then((rows) => Promise.all(rows.map((row) => this.#whole(from, row)))) : found
  }

  #whole<R extends Row>(from: Collection<R>, row: R): Promise<R> {
    this.#sealer ??= new Sealer(this.#keys)
    return this.#sealer.open(from, row)
  }
}
