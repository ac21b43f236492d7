import { type AnyCollection, StorageUnavailable } from '../../../../src/storage/storage.js'
import { qualified, Table } from './table.js'

/** The tables of the storage in one schema of a database. */
export class TableSet {
  readonly all: readonly Table[]
  /**
   * One row: the number of the last commit, and which release the tables are for. A group of writes takes its number
   * here first, so the row is also the lock that lets groups of all processes land one after another.
   */
  readonly head: string
  /** The last number of each counter. */
  readonly counters: string
  /** The last group of each process. Whoever lost the answer to a COMMIT asks here whether its group landed. */
  readonly processes: string
  /** The declared collections with their indexes. Processes with other declarations may not use the same tables. */
  readonly layout: string
  readonly #byName: ReadonlyMap<string, Table>

  constructor(
    readonly schema: string,
    collections: readonly AnyCollection[],
  ) {
    this.all = collections.map((collection) => new Table(schema, collection))
    this.#byName = new Map(this.all.map((table) => [table.collection.name, table]))
    this.head = qualified(schema, OWN.head)
    this.counters = qualified(schema, OWN.counters)
    this.processes = qualified(schema, OWN.processes)
    const declared = collections.map(({ name, indexes }) => [
      name,
      Object.values(indexes).map(({ fields }) => fields.join(', ')),
    ])
    this.layout = JSON.stringify(declared.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)))
  }

  /** Throws a TypeError if the collection was not declared. */
  of({ name }: AnyCollection): Table {
    const table = this.#byName.get(name)
    if (!table) throw new TypeError(`The database has no collection ${name}: name it among \`collections\`.`)
    return table
  }

  /** Throws `StorageUnavailable` if the tables are for a different release now. */
  checkHead(head: Pick<Head, 'schema' | 'layout'> | undefined, current: number): void {
    if (Number(head?.schema) === current && head?.layout === this.layout) return
    throw new StorageUnavailable(
      'Another version of farthing has changed the tables of this database. Restart this process with that version.',
      { reason: 'another version of the service has changed the database' },
    )
  }
}

/** Tables that hold no collection. */
export const OWN = { head: '_head', counters: '_counters', processes: '_processes' } as const

/** The row of the head. Numbers are texts, because they have 64 bits. */
export interface Head {
  readonly commit: string
  readonly schema: string
  readonly layout: string
}
