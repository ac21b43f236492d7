import type { Keyring } from '../base/secrets.js'
import { Sealer } from './sealing.js'
import type { Collection, Query, Reader, Row } from './storage.js'

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
