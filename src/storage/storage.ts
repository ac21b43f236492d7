/**
 * The storage law: what every adapter promises and all that the service relies on.
 * `test/storage.contract.ts` holds each adapter to it.
 */

/** Part of an index key. IndexedDB cannot order booleans, nulls or bigints. */
export type Key = string | number

/** A row is plain JSON and immutable: a change is a new row under the same id. Value is held as integer strings. */
export interface Row {
  readonly id: Key
}

export interface Index<R extends Row> {
  readonly fields: readonly (keyof R & string)[]
  readonly unique?: true
}

/** A row that lacks a field of an index, or holds null there, is not in that index. */
export interface Collection<R extends Row, I extends string = string> {
  readonly name: string
  readonly indexes: Readonly<Record<I, Index<R>>>
  /** Fields that rest encrypted, each with what it reads as where the key is another; none of them is in an index. */
  readonly sealed?: Readonly<Record<string, unknown>>
  /** Its rows only count how often something was tried: whoever wrote nothing else changed nothing. */
  readonly isTally?: true
}

/**
 * Collections whose rows must not lie beside the others, such as the key that seals them.
 * An adapter that writes files keeps these in a file of their own; a state that is exported holds them like any other.
 */
export const separatelyStored: ReadonlySet<string> = new Set(['service_keys'])

/** A collection of any rows, for code that serves all of them. */
// biome-ignore lint/suspicious/noExplicitAny: a row of one collection is not one of another.
export type AnyCollection = Collection<any>

/**
 * Rows whose key starts with `prefix`, in key order, strictly past `after`.
 * A row's whole key is the index's fields and then its id, so keys are never equal; `after` is a whole key.
 * Numbers come before strings; strings order by UTF-16 code unit. The index `id` is there on every collection.
 */
export interface Query<I extends string = string> {
  readonly index: I | 'id'
  readonly prefix: readonly Key[]
  readonly after?: readonly Key[]
  readonly limit: number
  readonly reverse?: boolean
}

/** `getMany` and `find` are the only ways to read more than one row: a list never asks row by row. */
export interface Reader {
  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined>
  /** One answer for each id, in the order of the ids: its row, or undefined where there is none. An id may occur twice. */
  getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]>
  find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]>
}

/** Writes wait in memory, visible to this transaction's own reads, until the body returns; then they land together or not at all. */
export interface Writer extends Reader {
  /** Increasing integers, counted per name. Gaps are allowed: a number given is not taken back. */
  nextId(of: string): Promise<number>
  /** One number for each name, in the order of the names, as that many calls of `nextId` give them. A name may occur twice. */
  nextIds(of: readonly string[]): Promise<number[]>
  put<R extends Row>(into: Collection<R>, row: R): void
  remove<R extends Row>(from: Collection<R>, id: R['id']): void
}

/** The whole state as plain JSON: every row by collection in id order, and the last number each counter gave. */
export interface State {
  readonly counters: Readonly<Record<string, number>>
  readonly rows: Readonly<Record<string, readonly Row[]>>
}

/**
 * Serializable transactions. A body may run more than once, so it must touch nothing but `tx`.
 * What a transaction has seen or written is durable, as far as the adapter is durable at all, before its promise resolves.
 * A body that throws leaves no trace. A second row under one unique key rejects the whole write with `UniqueViolation`.
 */
export interface Storage {
  /** What kind it is, as the health check shows it: `memory`, `file` and so on. */
  readonly name: string
  /** Nobody else writes to it: what nobody here is doing, nobody is. */
  readonly exclusive: boolean
  /** Who works on it now; absent where nobody can tell. */
  readonly presence?: Presence
  read<T>(body: (tx: Reader) => Promise<T>): Promise<T>
  write<T>(body: (tx: Writer) => Promise<T>): Promise<T>
  export(): Promise<State>
  /** Replaces everything in one step. */
  import(state: State): Promise<void>
  /** Lets what is running finish, makes it durable, and refuses what comes after. */
  close(): Promise<void>
}

/** Tells the living from the dead among all who share a storage. */
export interface Presence {
  /** Resolves once others can tell that whoever has this name is alive, until the storage is closed or its process ends. */
  enter(name: string): Promise<void>
  isAlive(name: string): Promise<boolean>
}

/** Names a collection and its indexes: `collection<TwinRow>()('twins', { byOwner: { fields: ['owner', 'id'] } })`. */
export const collection =
  <R extends Row>() =>
  <I extends string>(
    name: string,
    indexes: Record<I, Index<R>>,
    options: Pick<Collection<R, I>, 'sealed' | 'isTally'> = {},
  ): Collection<R, I> => ({ name, indexes, ...options })

/** Two rows would share one key of a unique index. Features look before they put, so this means a defect. */
export class UniqueViolation extends Error {
  constructor(collection: string, index: string, key: readonly Key[]) {
    super(`${collection}.${index} already holds ${JSON.stringify(key)}`)
    this.name = 'UniqueViolation'
  }
}

/** The storage was closed, or broke: nothing of this write was kept. The message says what to do. */
export class StorageUnavailable extends Error {
  override name = 'StorageUnavailable'
}

/** A write was under way to where it is kept when that failed: nobody knows whether it is there. */
export class OutcomeUnknown extends StorageUnavailable {
  override name = 'OutcomeUnknown'
}
