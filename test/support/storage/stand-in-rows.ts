import type { Sender } from '../../../adapters/storage/postgres/groups/view.js'
import { encodeKey, TableSet } from '../../../adapters/storage/postgres/tables/tables.js'
import { keyOf } from '../../../src/storage/key.js'
import type { Row } from '../../../src/storage/storage.js'
import { type Note, notes } from './storage-model.js'

export const standInTables = new TableSet('stand_in', [notes])

const table = standInTables.of(notes)
const indexNames = ['id', ...Object.keys(notes.indexes)] as const
const finds = new Map(
  indexNames.flatMap((index) =>
    [true, false].map((reverse) => [table.find([], { index, reverse }).text, { index, reverse }] as const),
  ),
)

/** Answers the statements of a table from rows in memory, as PostgreSQL would. */
export class StandInRows implements Sender {
  /** How many statements it got. */
  statements = 0

  constructor(readonly rows: () => readonly Note[]) {}

  async query<R>({ text, parameters }: { readonly text: string; readonly parameters: readonly string[] }) {
    this.statements++
    const [first = '', second = '', limits = ''] = parameters
    const find = finds.get(text)
    const found = find ? this.#find(find, keysIn(first), keysIn(second), limits) : this.#getMany(keysIn(first))
    // The statement says what its rows are.
    return found as readonly unknown[] as readonly R[]
  }

  #getMany(ids: readonly string[]) {
    const isMeant = ({ id }: Row) => ids.includes(encodeKey([id]))
    return this.rows().flatMap((row) => (isMeant(row) ? [{ row: structuredClone(row) }] : []))
  }

  #find(
    { index, reverse }: { index: string; reverse: boolean },
    lows: readonly string[],
    highs: readonly string[],
    limits: string,
  ) {
    const declared = notes.indexes[index as keyof typeof notes.indexes]
    const keyed = this.rows().flatMap((row) => {
      const key = declared ? keyOf(declared, row) : [row.id]
      return key ? [{ key: encodeKey(key), row }] : []
    })
    keyed.sort((a, b) => (a.key < b.key === reverse ? 1 : -1))
    return lows.flatMap((low, i) => {
      const within = keyed.filter(({ key }) => key >= low && key < (highs[i] ?? ''))
      const most = Number(limits.slice(1, -1).split(',')[i])
      return within.slice(0, most).map(({ row }) => ({ n: String(i + 1), row: structuredClone(row) }))
    })
  }
}

/** The keys of an array of `bytea`. */
const keysIn = (array: string): string[] => [...array.matchAll(/\\\\x([0-9a-f]*)"/g)].map(([, key = '']) => key)
