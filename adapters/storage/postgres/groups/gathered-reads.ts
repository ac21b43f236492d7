import { freezeRow } from '../../../../src/storage/key.js'
import type { AnyCollection, Key, Query, Row } from '../../../../src/storage/storage.js'
import type { Statement } from '../connection/session.js'
import type { TableSet } from '../tables/tables.js'

/** Where statements are sent. */
export interface Sender {
  query<R>(statement: Statement): Promise<readonly R[]>
}

/** Rows that were asked for by their ids. */
interface Wanted {
  readonly ids: Set<Key>
  readonly found: Promise<ReadonlyMap<Key, Row>>
}

/** Queries of one index and direction. */
interface PendingRead {
  readonly queries: Query[]
  readonly found: Promise<readonly (readonly Row[])[]>
}

interface FoundRow {
  /** The number of the query, from 1 up. */
  readonly n: string
  readonly row: Row
}

/**
 * Sends the reads of many bodies together: all that they ask for in one turn of the event loop become one statement for
 * each collection, and one for each index. The statements are sent without waiting for each other.
 */
export class GatheredReads {
  readonly #tables: TableSet
  readonly #sender: Sender
  #wanted = new Map<string, Wanted>()
  #asked = new Map<string, PendingRead>()
  /** Resolves when the reads of this turn are complete. */
  #turn: Promise<void> | undefined

  constructor(tables: TableSet, sender: Sender) {
    this.#tables = tables
    this.#sender = sender
  }

  /** The stored rows of these ids. Ids without a row are missing. */
  getMany(from: AnyCollection, ids: Iterable<Key>): Promise<ReadonlyMap<Key, Row>> {
    const known = this.#wanted.get(from.name)
    const wanted = known ?? this.#want(from)
    for (const id of ids) wanted.ids.add(id)
    return wanted.found
  }

  async find(from: AnyCollection, query: Query): Promise<readonly Row[]> {
    const kind = `${from.name} ${query.index} ${query.reverse === true}`
    const asked = this.#asked.get(kind) ?? this.#ask(from, query, kind)
    const at = asked.queries.push(query) - 1
    return (await asked.found)[at] ?? []
  }

  #want(from: AnyCollection): Wanted {
    const table = this.#tables.of(from)
    const ids = new Set<Key>()
    const found = this.#gathered().then(async () => {
      const rows = await this.#sender.query<{ readonly row: Row }>(table.getMany(ids))
      return new Map(rows.map(({ row }) => [row.id, freezeRow(row)]))
    })
    const wanted = { ids, found }
    this.#wanted.set(from.name, wanted)
    return wanted
  }

  #ask(from: AnyCollection, kind: Query, name: string): PendingRead {
    const table = this.#tables.of(from)
    const queries: Query[] = []
    const found = this.#gathered().then(async () => {
      const lists: Row[][] = queries.map(() => [])
      const rows = await this.#sender.query<FoundRow>(table.find(queries, kind))
      for (const { n, row } of rows) lists[Number(n) - 1]?.push(freezeRow(row))
      return lists
    })
    const asked = { queries, found }
    this.#asked.set(name, asked)
    return asked
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
