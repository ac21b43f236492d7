import type { ImportOptions, Presence, Reader, State, Storage, StorageUnavailable, Writer } from './storage.js'

type Parts = Partial<Pick<Storage, 'read' | 'write' | 'export' | 'import' | 'close' | 'presence'>>

/** A storage that does what another one does, except for some parts. */
export const storageOver = (storage: Storage, parts: Parts): Storage => new OverStorage(storage, parts)

/** A class, because each request makes some, and an object with functions of its own takes several times as long. */
export class OverStorage implements Storage {
  readonly #storage: Storage
  readonly #parts: Parts
  declare readonly presence?: Presence
  declare readonly countCommits?: () => Promise<number>
  declare readonly fork?: () => Promise<Storage>

  constructor(storage: Storage, parts: Parts) {
    this.#storage = storage
    this.#parts = parts
    const presence = parts.presence ?? storage.presence
    if (presence) this.presence = presence
    const { countCommits, fork } = storage
    if (countCommits) this.countCommits = () => countCommits.call(storage)
    if (fork) this.fork = () => fork.call(storage)
  }

  get name(): string {
    return this.#storage.name
  }

  get exclusive(): boolean {
    return this.#storage.exclusive
  }

  get isShared(): boolean {
    return this.#storage.isShared ?? false
  }

  get fault(): StorageUnavailable | undefined {
    return this.#storage.fault
  }

  read<T>(body: (tx: Reader) => Promise<T>): Promise<T> {
    return this.#parts.read ? this.#parts.read(body) : this.#storage.read(body)
  }

  write<T>(body: (tx: Writer) => Promise<T>): Promise<T> {
    return this.#parts.write ? this.#parts.write(body) : this.#storage.write(body)
  }

  export(): Promise<State> {
    return this.#parts.export ? this.#parts.export() : this.#storage.export()
  }

  import(state: State, options?: ImportOptions): Promise<void> {
    return this.#parts.import ? this.#parts.import(state, options) : this.#storage.import(state, options)
  }

  close(): Promise<void> {
    return this.#parts.close ? this.#parts.close() : this.#storage.close()
  }
}
