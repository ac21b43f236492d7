/**
 * The storage law: what every adapter promises. The service relies on nothing else. `test/storage.contract.ts` tests
 * each adapter against it.
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
  /** Fields that are stored encrypted, and what each reads as under another key. None of them is indexed. */
  readonly sealed?: Readonly<Record<string, unknown>>
  /** Its rows only count tries. A call that wrote nothing else has changed nothing. */
  readonly isTally?: true
}

/**
 * Collections that must be stored apart from the others, such as the key that encrypts them. An adapter that writes
 * files puts them in a separate file. An exported state holds them like any other.
 */
export const separatelyStored: ReadonlySet<string> = new Set(['service_keys'])

/** A collection of any rows, for code that serves all of them. */
// biome-ignore lint/suspicious/noExplicitAny: a row of one collection is not one of another.
export type AnyCollection = Collection<any>

/**
 * Rows whose key starts with `prefix`, in key order, strictly past `after`.
 * A row's whole key is the index's fields and then its id, so keys are never equal; `after` is a whole key.
 * Numbers come before strings, and strings are ordered by UTF-16 code unit. Every collection has the index `id`.
 */
export interface Query<I extends string = string> {
  readonly index: I | 'id'
  readonly prefix: readonly Key[]
  readonly after?: readonly Key[]
  readonly limit: number
  readonly reverse?: boolean
}

/** `getMany` and `find` are the only ways to read several rows. A list never reads row by row. */
export interface Reader {
  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined>
  /** The rows in the order of the ids, with undefined for each missing row. An id may occur twice. */
  getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]>
  find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]>
}

/**
 * Writes stay in memory, visible to this transaction's own reads, until the body returns. Then all of them land, or
 * none.
 */
export interface Writer extends Reader {
  /** The next number of a counter: increasing integers. Gaps are allowed, because a number is never used again. */
  nextId(of: string): Promise<number>
  /** One number for each name, in the order of the names, like separate calls of `nextId`. A name may occur twice. */
  nextIds(of: readonly string[]): Promise<number[]>
  put<R extends Row>(into: Collection<R>, row: R): void
  remove<R extends Row>(from: Collection<R>, id: R['id']): void
}

/** The whole state as plain JSON: every row by collection in id order, and the last number of each counter. */
export interface State {
  readonly counters: Readonly<Record<string, number>>
  readonly rows: Readonly<Record<string, readonly Row[]>>
}

/**
 * Serializable transactions. A body may run more than once, so it must touch nothing but `tx`.
 * Everything that a transaction read or wrote is durable before its promise resolves, as far as the adapter is durable.
 * A body that throws changes nothing. A second row under one unique key rejects the whole write with `UniqueViolation`.
 */
export interface Storage {
  /** The kind of storage, as the health check shows it: `memory`, `file` and so on. */
  readonly name: string
  /** Whether this process is the only one that uses it. */
  readonly exclusive: boolean
  /** Tells which services use it now. Absent if nobody can tell. */
  readonly presence?: Presence
  read<T>(body: (tx: Reader) => Promise<T>): Promise<T>
  write<T>(body: (tx: Writer) => Promise<T>): Promise<T>
  export(): Promise<State>
  /** Replaces the whole state in one step. */
  import(state: State): Promise<void>
  /** Lets running transactions finish, makes them durable, and refuses later ones. */
  close(): Promise<void>
}

/** Tells which of the services that share a storage are alive. */
export interface Presence {
  /**
   * Resolves when others can see that the service of this name is alive. It stays alive until the storage is closed
   * or its process ends.
   */
  enter(name: string): Promise<void>
  isAlive(name: string): Promise<boolean>
}

/**
 * Declares a collection and its indexes: `collection<TwinRow>()('twins', { byOwner: { fields: ['owner', 'id'] } })`.
 */
export const collection =
  <R extends Row>() =>
  <I extends string>(
    name: string,
    indexes: Record<I, Index<R>>,
    options: Pick<Collection<R, I>, 'sealed' | 'isTally'> = {},
  ): Collection<R, I> => ({ name, indexes, ...options })

/** Two rows would share one key of a unique index. Features check before they put, so this is a defect. */
export class UniqueViolation extends Error {
  constructor(collection: string, index: string, key: readonly Key[]) {
    super(`${collection}.${index} already holds ${JSON.stringify(key)}`)
    this.name = 'UniqueViolation'
  }
}

/** The storage is closed or broken, and nothing of this write was stored. The message says what to do. */
export class StorageUnavailable extends Error {
  override name = 'StorageUnavailable'
}

/** The storage failed during a write, so nobody knows whether the write was stored. */
export class OutcomeUnknown extends StorageUnavailable {
  override name = 'OutcomeUnknown'
}
