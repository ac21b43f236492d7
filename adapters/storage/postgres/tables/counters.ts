import type { AnyCollection, Key } from '../../../../src/storage/storage.js'
import type { Session, Statement } from '../connection/session.js'
import type { TableSet } from './tables.js'

/** The last number of each counter. Only whoever holds the head may use up numbers. */
export class Counters {
  readonly #last: Map<string, number>
  readonly #moved = new Set<string>()

  constructor(last: Iterable<readonly [string, number]> = []) {
    this.#last = new Map(last)
  }

  next(of: readonly string[]): number[] {
    return of.map((name) => {
      const next = (this.#last.get(name) ?? 0) + 1
      this.#last.set(name, next)
      this.#moved.add(name)
      return next
    })
  }

  /** Counters that go on from here, for bodies whose numbers nobody will see. */
  copy(): Counters {
    return new Counters(this.#last)
  }

  get haveMoved(): boolean {
    return this.#moved.size > 0
  }

  /** The last numbers of the counters that moved. */
  get moved(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#moved].map((name) => [name, this.#last.get(name) ?? 0]))
  }

  /** What moved until now is stored. */
  kept(): void {
    this.#moved.clear()
  }
}

/** The ids that a body drew. No row has one of them yet. */
export class DrawnIds {
  readonly #drawn = new Map<string, Set<Key>>()

  /** Returns the ids, which are of these collections in turn. */
  note(of: readonly string[], ids: number[]): number[] {
    for (const [at, name] of of.entries()) {
      const known = this.#drawn.get(name) ?? new Set()
      this.#drawn.set(name, known.add(ids[at] ?? 0))
    }
    return ids
  }

  has({ name }: AnyCollection, id: Key): boolean {
    return this.#drawn.get(name)?.has(id) ?? false
  }
}

/** Stores the last number of some counters. */
export const putCounters = (tables: TableSet, last: Readonly<Record<string, number>>): Statement => ({
  text: puttingCounters(tables),
  parameters: [JSON.stringify(last)],
})

/** Stores the counters of a JSON object, which is the first parameter. */
export const puttingCounters = ({ counters }: TableSet): string =>
  `insert into ${counters} (name, last) select key, value::int8 from json_each_text($1::text::json) ` +
  'on conflict (name) do update set last = excluded.last'

/** Reads all counters, in the order of their names. */
export async function readCounters({ counters }: TableSet, session: Session): Promise<[string, number][]> {
  const text = `select name, last from ${counters} order by name collate "C"`
  const rows = await session.query<{ readonly name: string; readonly last: string }>({ text })
  return rows.map(({ name, last }) => [name, Number(last)])
}
