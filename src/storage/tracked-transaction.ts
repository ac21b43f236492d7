import type { AnyCollection, Collection, Query, Row, Writer } from './storage.js'

/** A transaction that tells what was written through it. */
export class TrackedTransaction implements Writer {
  /** What rows were put into, some of them more than once. */
  readonly puts: AnyCollection[] = []
  readonly removals: AnyCollection[] = []

  constructor(readonly tx: Writer) {}

  /** Whether more was written than counts of what was tried. */
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
    this.tx.remove(from, id)
  }

  put<R extends Row>(into: Collection<R>, row: R): void {
    this.puts.push(into)
    this.tx.put(into, row)
  }
}

const isNoTally = ({ isTally }: AnyCollection): boolean => !isTally
