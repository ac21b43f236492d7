import { compareParts, freezeRow } from '../key.js'
import { assertState } from '../state.js'
import type { AnyCollection, Collection, Key, Query, ReplacedRow, Row, State } from '../storage.js'
import type { Changes, CommittedReader } from '../transaction.js'
import type { UnreadRows } from './rows.js'
import { Table } from './table.js'

/** A state whose rows are in part not read yet. */
export interface PartlyRead extends State {
  readonly unread: Readonly<Record<string, readonly UnreadRows[]>>
}

/** A transaction needs an index that is not built yet. It runs again, so nobody sees this. */
class IndexMissing extends Error {}

/** Committed rows in memory: by id, and in the order of each index that was read. */
export class Tables implements CommittedReader {
  #tables = new Map<string, Table>()
  /** Names of tables that forks share. Each is copied before it is written. */
  readonly #shared = new Set<string>()
  #counters = new Map<string, number>()
  readonly #moved = new Map<string, number>()
  /** Whether a transaction that needs a new index of many rows runs again when the index is built. */
  mayRunAgain = false
  #growing: Promise<void> | undefined

  constructor(state?: State) {
    if (state) this.load(state)
  }

  /** The tables of rows that were checked when they were read. Throws a TypeError if two of a collection have one id. */
  static ofChecked({ counters, rows, unread }: State & Partial<PartlyRead>): Tables {
    const tables = new Tables()
    for (const [name, last] of Object.entries(counters)) tables.setCounter(name, last)
    for (const [name, list] of Object.entries(rows)) {
      const table = tables.#table(name)
      let count = list.length
      for (const part of unread?.[name] ?? []) {
        table.rows.addUnread(part)
        count += part.count
      }
      for (const row of list) tables.restore(name, row.id, row)
      if (table.rows.size !== count) throw new TypeError(`two rows of ${name} have one id`)
    }
    return tables
  }

  /** Tables of the same state. What one of the two writes, the other does not see. */
  fork(): Tables {
    const fork = new Tables()
    fork.#tables = new Map(this.#tables)
    fork.#counters = new Map(this.#counters)
    for (const name of this.#tables.keys()) {
      this.#shared.add(name)
      fork.#shared.add(name)
    }
    return fork
  }

  // Not async functions, because a payment calls them some twenty times and every row is in memory.
  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    // Only rows of this collection are under its name.
    return Promise.resolve((this.#tables.get(from.name) ?? this.#table(from.name)).rows.get(id) as R | undefined)
  }

  getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    const rows = this.#rowsOf(from)
    const found: (R | undefined)[] = []
    for (const id of ids) found.push(rows.get(id))
    return Promise.resolve(found)
  }

  find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    const table = this.#tables.get(from.name) ?? this.#table(from.name)
    const found = table.find(from, query, this.mayRunAgain)
    if (found) return Promise.resolve(found as R[]) // Only rows of this collection are under its name.
    this.#growing = table.grow(from, query.index)
    return Promise.reject(new IndexMissing(`${from.name}.${query.index} is not built yet`))
  }

  /** What a transaction asked for and waits for outside of its turn, before it runs again. Undefined: its outcome counts. */
  takeGrowing(): Promise<void> | undefined {
    const growing = this.#growing
    this.#growing = undefined
    return growing
  }

  nextId(of: string): Promise<number> {
    return Promise.resolve(this.#next(of))
  }

  nextIds(of: readonly string[]): Promise<number[]> {
    const numbers: number[] = []
    for (const name of of) numbers.push(this.#next(name))
    return Promise.resolve(numbers)
  }

  #next(of: string): number {
    const next = (this.#counters.get(of) ?? 0) + 1
    this.#counters.set(of, next)
    this.#moved.set(of, next)
    return next
  }

  counters(): Record<string, number> {
    return Object.fromEntries([...this.#counters].sort(([a], [b]) => compareParts(a, b)))
  }

  setCounter(of: string, last: number): void {
    this.#counters.set(of, last)
  }

  /** The last number of each counter that moved since the last call of `keptMoved`, even for bodies that threw. */
  moved(): Record<string, number> | undefined {
    return this.#moved.size === 0 ? undefined : Object.fromEntries(this.#moved)
  }

  keptMoved(): void {
    this.#moved.clear()
  }

  /** Throws `UniqueViolation` if landing these changes would put two rows under one unique key. */
  check(changes: readonly Changes[]): void {
    for (const { collection, rows } of changes)
      (this.#tables.get(collection.name) ?? this.#table(collection.name)).check(collection, rows)
  }

  /** Puts and removes rows. Call `check` first. Returns what `undo` needs. */
  land(changes: readonly Changes[]): readonly ReplacedRow[] {
    const replaced: ReplacedRow[] = []
    for (const { collection, rows } of changes) {
      const known = this.#shared.size === 0 ? this.#tables.get(collection.name) : undefined
      const table = known ?? this.#writable(collection.name)
      for (const [id, row] of rows) replaced.push({ collection, id, row: table.set(id, row) })
    }
    return replaced
  }

  /** Puts back what commits replaced, the last commit first. Numbers stay used, and the next commit holds all counters. */
  undo(replaced: readonly ReplacedRow[]): void {
    for (const { collection, id, row } of replaced.toReversed()) this.#writable(collection.name).set(id, row ?? null)
    for (const [name, last] of this.#counters) this.#moved.set(name, last)
  }

  /** Puts or removes one row by its collection's name. Reading files needs this. A row that is frozen stays as it is. */
  restore(name: string, id: Key, row: Row | null): void {
    this.#writable(name).set(id, row === null || Object.isFrozen(row) ? row : freezeRow(row))
  }

  /** How many rows there are. */
  get size(): number {
    let count = 0
    for (const { rows } of this.#tables.values()) count += rows.size
    return count
  }

  has(name: string, id: Key): boolean {
    return this.#table(name).rows.get(id) !== undefined
  }

  /** The rows of a collection that were read or put. */
  rowsIn(name: string): readonly Row[] {
    return this.#table(name).rows.alreadyRead()
  }

  /** Reads the unique keys of all rows. Throws `UniqueViolation` if two share one. */
  checkUniqueKeys(collections: readonly AnyCollection[]): void {
    for (const collection of collections) this.#tables.get(collection.name)?.knowUniqueKeys(collection)
  }

  /** The current state, with collections and rows in order. It shares the rows, and later writes don't change it. */
  state(): State & { rows: Record<string, Row[]> } {
    const rows: Record<string, Row[]> = {}
    for (const [name, table] of this.#filled()) rows[name] = table.rows.inOrder()
    return { counters: this.counters(), rows }
  }

  /** Like `state`, but reads no rows that nobody has read yet. */
  partlyRead(): PartlyRead {
    const rows: Record<string, readonly Row[]> = {}
    const unread: Record<string, readonly UnreadRows[]> = {}
    for (const [name, table] of this.#filled()) {
      rows[name] = table.rows.alreadyRead()
      unread[name] = table.rows.unread()
    }
    return { counters: this.counters(), rows, unread }
  }

  /** The tables that have rows, in the order of their names. */
  #filled(): [string, Table][] {
    return [...this.#tables].filter(([, { rows }]) => rows.size > 0).sort(([a], [b]) => compareParts(a, b))
  }

  /** Replaces the state. Throws a TypeError for what is none. Returns the former one, and a function that brings it back. */
  load(state: unknown): { readonly former: Tables; undo(): void } {
    assertState(state)
    const [tables, counters] = [this.#tables, this.#counters]
    const former = new Tables()
    former.#tables = tables
    former.#counters = counters
    const shared = [...this.#shared]
    for (const name of shared) former.#shared.add(name)
    this.#shared.clear()
    this.#tables = new Map()
    this.#counters = new Map(Object.entries(state.counters))
    this.#moved.clear()
    for (const [name, rows] of Object.entries(state.rows)) for (const row of rows) this.restore(name, row.id, row)
    const undo = () => {
      this.#tables = tables
      this.#counters = counters
      for (const name of shared) this.#shared.add(name)
      this.undo([])
    }
    return { former, undo }
  }

  #rowsOf<R extends Row>({ name }: Collection<R>): { get(id: Key): R | undefined } {
    const rows: { get(id: Key): Row | undefined } = (this.#tables.get(name) ?? this.#table(name)).rows
    return rows as { get(id: Key): R | undefined } // Only rows of this collection are under its name.
  }

  #writable(name: string): Table {
    if (!this.#shared.delete(name)) return this.#tables.get(name) ?? this.#table(name)
    const copy = this.#table(name).copy()
    this.#tables.set(name, copy)
    return copy
  }

  #table(name: string): Table {
    const known = this.#tables.get(name)
    if (known) return known
    const table = new Table()
    this.#tables.set(name, table)
    return table
  }
}
