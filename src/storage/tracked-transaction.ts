import type { AnyCollection, Collection, Query, Row, Writer } from './storage.js'

/** A row that was put or removed. */
export interface RowChange {
  readonly into: AnyCollection
  readonly id: Row['id']
  /** Undefined: it was removed. */
  readonly row?: Row
}

/** A transaction that records what was written. */
export class TrackedTransaction implements Writer {
  /** Collections that rows were put into. One may occur several times. */
  readonly puts: AnyCollection[] = []
  readonly removals: AnyCollection[] = []
  /** Each put and each removal, in their order. */
  readonly changes: RowChange[] = []

  constructor(readonly tx: Writer) {}

  /** Whether anything was written besides tallies. */
  get hasChanged(): boolean {
    return this.puts.some(isNoTally) || this.removals.some(isNoTally)
  }

  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    return this.tx.get(from, id)
  }

  getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    return this.tx.getMany(from, ids)
  }

  find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    return this.tx.find(from, query)
  }

  nextId(of: string): Promise<number> {
    return this.tx.nextId(of)
  }

  nextIds(of: readonly string[]): Promise<number[]> {
    return this.tx.nextIds(of)
  }

  remove<R extends Row>(from: Collection<R>, id: R['id']): void {
    this.removals.push(from)
    this.changes.push({ into: from, id })
    this.tx.remove(from, id)
  }

  put<R extends Row>(into: Collection<R>, row: R): void {
    this.puts.push(into)
    this.changes.push({ into, id: row.id, row })
    this.tx.put(into, row)
  }
}

const isNoTally = ({ isTally }: AnyCollection): boolean => !isTally
