import type { Collection, Query, Row, Writer } from './storage.js'

/** A transaction that counts its calls and remembers the rows that it put. */
export class RecordedTransaction implements Writer {
  reads = 0
  writes = 0
  /** The rows that were put, each after the name of its collection. */
  readonly puts: (string | Row)[] = []

  constructor(readonly tx: Writer) {}

  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    this.reads++
    return this.tx.get(from, id)
  }

  getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    this.reads++
    return this.tx.getMany(from, ids)
  }

  find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    this.reads++
    return this.tx.find(from, query)
  }

  nextId(of: string): Promise<number> {
    return this.tx.nextId(of)
  }

  nextIds(of: readonly string[]): Promise<number[]> {
    return this.tx.nextIds(of)
  }

  remove<R extends Row>(from: Collection<R>, id: R['id']): void {
    this.writes++
    this.tx.remove(from, id)
  }

  put<R extends Row>(into: Collection<R>, row: R): void {
    this.writes++
    this.puts.push(into.name, row)
    this.tx.put(into, row)
  }
}
