import type { Growth } from './growth.js'
import type { Retention } from './retention.js'

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
  /** Fields that are a credential, may lead to one, or show what somebody else sent. No comparison of states shows them. */
  readonly secrets?: readonly string[]
  /** The collection whose keys a field holds. Null: the key of another service, or of collections that another field names. */
  readonly refs?: Readonly<Record<string, string | null | undefined>>
  /** Its rows only count tries. A call that wrote nothing else has changed nothing. */
  readonly isTally?: true
  /** How long it keeps its rows. Every collection of the service has a rule. */
  readonly retention?: Retention<R, I>
  /** Who adds rows, and what ends its growth. Every collection of the service says so. */
  readonly growth?: Growth
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
  /**
   * The next number of a counter: increasing integers. Gaps are allowed, because a number is never used again. Of two
   * writes, the one that lands later has the greater numbers, so that nobody who follows a counter misses a row.
   */
  nextId(of: string): Promise<number>
  /** One number for each name, in the order of the names, like separate calls of `nextId`. A name may occur twice. */
  nextIds(of: readonly string[]): Promise<number[]>
  put<R extends Row>(into: Collection<R>, row: R): void
  remove<R extends Row>(from: Collection<R>, id: R['id']): void
}

/** The whole state as plain JSON: every row by collection in id order, and the last number of each counter. */
export interface State {
  /** The schema of its rows: `SCHEMA` of the release that wrote them. Absent means 1. */
  readonly schema?: number
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
  /** Whether many processes serve from it, so that none may take the state back under the others. Default: false. */
  readonly isShared?: boolean
  /** Tells which services use it now. Absent: they write rows into it that say so. */
  readonly presence?: Presence
  /**
   * Reads how many times all processes together have changed rows. Call it in a transaction of this storage: then two
   * equal numbers mean that nothing has changed between them. Absent if the storage does not count.
   */
  countCommits?(): Promise<number>
  /** Why nothing can be written now. Reads go on. Absent or undefined while all is well. */
  readonly fault?: StorageUnavailable | undefined
  read<T>(body: (tx: Reader) => Promise<T>): Promise<T>
  write<T>(body: (tx: Writer) => Promise<T>): Promise<T>
  /**
   * Calls back with what each commit replaced: once for each, in their order, before any later transaction reads. A
   * commit that fails afterwards may have been told too. Absent if the storage does not know.
   */
  watchCommits?(onCommit: (replaced: Replaced) => void): void
  /**
   * Tells those who watch commits whether other processes have committed before the transaction that calls it. Absent if
   * there are no others, or if the storage does not know.
   */
  noticeOthers?(): Promise<void>
  /**
   * Calls back soon after other processes have committed, with the names of the collections that they changed. It is a
   * hint: it may come late, twice, or without a change. Undefined means that hints may have been lost, so anything may have
   * changed. Resolves when hints come. Absent if the storage cannot tell.
   */
  watchOthers?(onCommit: (changed: readonly string[] | undefined) => void): Promise<void>
  /**
   * Returns a storage in memory with the state that `export` would return. They share rows, so this takes no longer for
   * a large state, and neither sees what the other writes. Absent if only a copy could do that.
   */
  fork?(): Promise<Storage>
  export(): Promise<State>
  /**
   * Replaces the whole state in one step. Migrates a state of an older schema first. Throws `SchemaNewer` for a newer
   * one, a TypeError for what is not a state, and what `check` throws; then nothing changes.
   */
  import(state: State, options?: ImportOptions): Promise<void>
  /** Lets running transactions finish, makes them durable, and refuses later ones. */
  close(): Promise<void>
}

export interface ImportOptions {
  /** Whether no counter goes back, so that numbers that were used stay used. Default: false. */
  readonly keepsNumbers?: boolean
  /** Runs in the transaction of the import, and reads the state that it replaces. If it throws, nothing changes. */
  readonly check?: (former: Reader) => Promise<void>
}

/** What a commit replaced. */
export interface Replaced {
  readonly rows: readonly ReplacedRow[]
  /** The whole state, if the commit was an import. */
  readonly former?: FormerState
  /** Whether other processes have committed since, and nobody here knows what they replaced. */
  readonly isUnknown?: true
}

export interface ReplacedRow {
  readonly collection: AnyCollection
  readonly id: Key
  /** Undefined if there was none. */
  readonly row: Row | undefined
}

/** A state that nothing changes any more. */
export interface FormerState extends Reader {
  /** How many rows it has. */
  readonly size: number
  state(): State
}

/** Tells which of the services that share a storage are alive. */
export interface Presence {
  /**
   * Resolves when others can see that the service of this name is alive. It stays alive until the storage is closed
   * or its process ends.
   */
  enter(name: string): Promise<void>
  /** Whether a service is alive. It is asked in a transaction, whose reads are `tx`. */
  isAlive(name: string, tx: Reader): Promise<boolean>
}

/** Every field is one of its rows. */
interface CollectionOptions<R extends Row, I extends string> extends Omit<Collection<R, I>, 'name' | 'indexes'> {
  readonly secrets?: readonly FieldOf<R>[]
  readonly refs?: { readonly [Field in FieldOf<R>]?: string | null }
}

type FieldOf<R> = R extends unknown ? keyof R & string : never

/**
 * Declares a collection and its indexes: `collection<TwinRow>()('twins', { byOwner: { fields: ['owner', 'id'] } })`.
 */
export const collection =
  <R extends Row>() =>
  <I extends string>(
    name: string,
    indexes: Record<I, Index<R>>,
    options: CollectionOptions<R, NoInfer<I>> = {},
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
  /** Why, as any caller may read it: `the disk is full`. It names no file. */
  readonly reason: string | undefined

  constructor(message: string, { reason, ...options }: ErrorOptions & { readonly reason?: string | undefined } = {}) {
    super(message, options)
    this.reason = reason
  }
}

/** The storage is closed, and never opens again. */
export class StorageClosed extends StorageUnavailable {
  override name = 'StorageClosed'

  constructor() {
    super('The storage is closed.')
  }
}

/** There is no space for this write, and nothing of it was stored. Reads and smaller writes go on. */
export class StorageFull extends StorageUnavailable {
  override name = 'StorageFull'
}

/** The storage failed during a write, so it is unknown whether the write was stored. */
export class OutcomeUnknown extends StorageUnavailable {
  override name = 'OutcomeUnknown'
}
