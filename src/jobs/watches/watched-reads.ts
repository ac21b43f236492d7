import { indexNamed, keyOf } from '../../storage/key.js'
import type { AnyCollection, Collection, Key, Query, Reader, Row } from '../../storage/storage.js'
import type { RowChange } from '../../storage/transaction.js'

/** The first fields of an index that a search fixed. The index `id` with one field is a row. */
interface Part {
  readonly from: AnyCollection
  readonly index: string
  readonly depth: number
}

/** What a reader has read: rows, and parts of indexes. A later change of any of it changes what it would read. */
export class WatchedReads implements Reader {
  /** By their texts. */
  readonly keys = new Map<string, Part>()
  readonly #tx: Reader

  constructor(tx: Reader, keys: Map<string, Part> = new Map()) {
    this.#tx = tx
    this.keys = keys
  }

  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    this.#note(from, 'id', [id])
    return this.#tx.get(from, id)
  }

  getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    for (const id of ids) this.#note(from, 'id', [id])
    return this.#tx.getMany(from, ids)
  }

  async find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    this.#note(from, query.index, query.prefix)
    const rows = await this.#tx.find(from, query)
    // A row that leaves the part is changed or removed.
    if (query.prefix.length > 0) for (const { id } of rows) this.#note(from, 'id', [id])
    return rows
  }

  #note(from: AnyCollection, index: string, prefix: readonly Key[]): void {
    this.keys.set(rangeKey(from, index, prefix), { from, index, depth: prefix.length })
  }
}

const rangeKey = ({ name }: AnyCollection, index: string, prefix: readonly Key[]): string =>
  `${name} ${index} ${JSON.stringify(prefix)}`

/** What several readers have read, by collection: which parts of its indexes, and how many watch each. */
export class WatchedParts {
  readonly #parts = new Map<string, Map<string, Part & { watches: number }>>()

  add(parts: Iterable<Part>): void {
    for (const part of parts) {
      const { name } = part.from
      const own = this.#parts.get(name) ?? new Map<string, Part & { watches: number }>()
      this.#parts.set(name, own)
      const known = own.get(shapeOf(part))
      if (known) known.watches++
      else own.set(shapeOf(part), { ...part, watches: 1 })
    }
  }

  remove(parts: Iterable<Part>): void {
    for (const part of parts) {
      const own = this.#parts.get(part.from.name)
      const known = own?.get(shapeOf(part))
      if (!known || --known.watches > 0) continue
      own?.delete(shapeOf(part))
      if (own?.size === 0) this.#parts.delete(part.from.name)
    }
  }

  /** The texts under which a reader may have read what changed. */
  *touchedBy(changes: readonly RowChange[]): Generator<string> {
    for (const { collection: into, id, is } of changes)
      for (const { index, depth } of this.#parts.get(into.name)?.values() ?? []) {
        if (depth === 0) yield rangeKey(into, index, [])
        else if (index === 'id') yield rangeKey(into, index, [id])
        else {
          const key = is && keyOf(indexNamed(into, index), is)
          if (key) yield rangeKey(into, index, key.slice(0, depth))
        }
      }
  }
}

const shapeOf = ({ index, depth }: Part): string => `${index} ${depth}`
