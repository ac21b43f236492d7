import type { Keyring } from '../base/secrets.js'
import type { AnyCollection, Key, Row } from './storage.js'

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
