import type { Keyring } from '../base/secrets.js'
import {
  type ImportOptions,
  OutcomeUnknown,
  type Presence,
  type Reader,
  type State,
  type Storage,
  type StorageUnavailable,
  type Writer,
} from './storage.js'
import { type CommitRecord, ReadTransaction, Transaction } from './transaction.js'

type Parts = Partial<Pick<Storage, 'read' | 'write' | 'export' | 'import' | 'close' | 'presence'>>

/** A storage that does what another one does, except for some parts. */
export const storageOver = (storage: Storage, parts: Parts): Storage => new OverStorage(storage, parts)

/** A class, because each request makes some, and an object with functions of its own takes several times as long. */
export class OverStorage implements Storage {
  declare readonly presence?: Presence
  declare readonly countCommits?: () => Promise<number>
  declare readonly fork?: () => Promise<Storage>

  constructor(
    protected readonly storage: Storage,
    private readonly parts: Parts,
  ) {
    const presence = parts.presence ?? storage.presence
    if (presence) this.presence = presence
    const { countCommits, fork } = storage
    if (countCommits) this.countCommits = () => countCommits.call(storage)
    if (fork) this.fork = () => fork.call(storage)
  }

  get name(): string {
    return this.storage.name
  }

  get exclusive(): boolean {
    return this.storage.exclusive
  }

  get isShared(): boolean {
    return this.storage.isShared ?? false
  }

  get fault(): StorageUnavailable | undefined {
    return this.storage.fault
  }

  read<T>(body: (tx: Reader) => Promise<T>): Promise<T> {
    return this.parts.read ? this.parts.read(body) : this.storage.read(body)
  }

  write<T>(body: (tx: Writer) => Promise<T>): Promise<T> {
    return this.parts.write ? this.parts.write(body) : this.storage.write(body)
  }

  export(): Promise<State> {
    return this.parts.export ? this.parts.export() : this.storage.export()
  }

  import(state: State, options?: ImportOptions): Promise<void> {
    return this.parts.import ? this.parts.import(state, options) : this.storage.import(state, options)
  }

  close(): Promise<void> {
    return this.parts.close ? this.parts.close() : this.storage.close()
  }
}

/** Learns what one piece of work does with the storage. */
export interface StorageObserver {
  /** Runs at the beginning of each write, and may refuse it. */
  before?(tx: Reader): Promise<void>
  /** A read has ended, well or not. `retries`: how often its body ran again. */
  hasRead?(reads: number, retries: number): void
  /** A write has landed, or it is unknown whether it has. */
  hasWritten?(commit: CommitRecord): void
  /** The whole state was replaced, or it is unknown whether it was. */
  hasImported?(): void
  /** A fault of a sandbox happens to a write. */
  noteFault?(faultId: string): void
}

/** The storage as a service uses it. Rows are shown whole, and an observer learns what a call of it did. */
export interface ServiceStorage extends Storage {
  read<T>(body: (tx: Reader) => Promise<T>, observer?: StorageObserver): Promise<T>
  write<T>(body: (tx: Transaction) => Promise<T>, observer?: StorageObserver): Promise<T>
  import(state: State, options?: ImportOptions, observer?: StorageObserver): Promise<void>
}

/** Runs a write, which it may delay, repeat or let fail. A sandbox has one for its faults. */
export type AroundWrites = <T>(
  write: <V>(body: (tx: Transaction) => Promise<V>) => Promise<V>,
  body: (tx: Transaction) => Promise<T>,
  observer: StorageObserver | undefined,
) => Promise<T>

export interface ServiceStorageOptions {
  readonly keys: () => Keyring
  /** Gets each commit that has landed. */
  readonly onCommit?: (commit: CommitRecord) => void
  /** Runs at the beginning of each write. */
  readonly check?: ((tx: Reader) => Promise<void>) | undefined
  /** Called before each write. Undefined: nothing is around it. */
  readonly around?: (() => AroundWrites | undefined) | undefined
  /** Why writes fail although the storage is well. */
  readonly fault?: (() => StorageUnavailable | undefined) | undefined
  /** In place of the storage's. */
  readonly parts?: ConstructorParameters<typeof OverStorage>[1]
}

/** A storage whose collections' `sealed` fields are stored encrypted, and whose commits are told to whoever asks. */
export const serviceStorage = (storage: Storage, options: ServiceStorageOptions): ServiceStorage =>
  new CommittingStorage(storage, options)

class CommittingStorage extends OverStorage implements ServiceStorage {
  constructor(
    storage: Storage,
    private readonly options: ServiceStorageOptions,
  ) {
    super(storage, options.parts ?? {})
  }

  override get fault(): StorageUnavailable | undefined {
    return this.storage.fault ?? this.options.fault?.()
  }

  override async read<T>(body: (tx: Reader) => Promise<T>, observer?: StorageObserver): Promise<T> {
    let runs = 0
    let last: ReadTransaction | undefined
    try {
      return await this.storage.read((tx) => {
        runs++
        last = new ReadTransaction(tx, this.options.keys())
        return body(last)
      })
    } finally {
      observer?.hasRead?.(last?.reads ?? 0, Math.max(runs - 1, 0))
    }
  }

  override write<T>(body: (tx: Transaction) => Promise<T>, observer?: StorageObserver): Promise<T> {
    const around = this.options.around?.()
    return around ? around((each) => this.#commit(each, observer), body, observer) : this.#commit(body, observer)
  }

  async #commit<T>(body: (tx: Transaction) => Promise<T>, observer: StorageObserver | undefined): Promise<T> {
    const { onCommit, keys, check } = this.options
    let last: Transaction | undefined
    let runs = 0
    try {
      const value = await this.storage.write(async (given) => {
        const tx = Transaction.over(given)
        last = tx
        tx.retries = runs++
        if (check) await check(given)
        tx.reads = 0
        tx.openWith(keys())
        if (observer?.before) await observer.before(tx)
        const result = await body(tx)
        const sealing = tx.seal()
        if (sealing) await sealing
        if (tx !== given) tx.into(given)
        return result
      })
      if (last) onCommit?.(last)
      if (last) observer?.hasWritten?.(last)
      return value
    } catch (error) {
      if (last && error instanceof OutcomeUnknown) observer?.hasWritten?.(last)
      throw error
    }
  }

  override async import(state: State, options?: ImportOptions, observer?: StorageObserver): Promise<void> {
    try {
      await super.import(state, options)
      observer?.hasImported?.()
    } catch (error) {
      if (error instanceof OutcomeUnknown) observer?.hasImported?.()
      throw error
    }
  }
}

/** The storage for one piece of work, which the observer follows. */
export class ObservedStorage extends OverStorage implements ServiceStorage {
  declare protected readonly storage: ServiceStorage

  constructor(
    storage: ServiceStorage,
    private readonly observer: StorageObserver,
  ) {
    super(storage, {})
  }

  override read<T>(body: (tx: Reader) => Promise<T>, other?: StorageObserver): Promise<T> {
    return this.storage.read(body, this.#with(other))
  }

  override write<T>(body: (tx: Transaction) => Promise<T>, other?: StorageObserver): Promise<T> {
    return this.storage.write(body, this.#with(other))
  }

  override import(state: State, options?: ImportOptions, other?: StorageObserver): Promise<void> {
    return this.storage.import(state, options, this.#with(other))
  }

  #with(other: StorageObserver | undefined): StorageObserver {
    return other ? bothObservers(this.observer, other) : this.observer
  }
}

/** Both learn of everything, in this order. */
export const bothObservers = (one: StorageObserver, other: StorageObserver): StorageObserver => ({
  async before(tx) {
    await one.before?.(tx)
    await other.before?.(tx)
  },
  hasRead(reads, retries) {
    one.hasRead?.(reads, retries)
    other.hasRead?.(reads, retries)
  },
  hasWritten(commit) {
    one.hasWritten?.(commit)
    other.hasWritten?.(commit)
  },
  hasImported() {
    one.hasImported?.()
    other.hasImported?.()
  },
  noteFault(faultId) {
    one.noteFault?.(faultId)
    other.noteFault?.(faultId)
  },
})
