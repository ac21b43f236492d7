import { storageOver } from '../service-storage.js'
import { type ImportOptions, OutcomeUnknown, type Replaced, type State, type Storage, type Writer } from '../storage.js'
import { Tables } from '../tables/tables.js'
import { Transaction } from '../transaction.js'
import { ignore } from '../unknown.js'

/** A storage that tells what each commit replaced. */
export type WatchedStorage = Storage & Required<Pick<Storage, 'watchCommits'>>

/** Lets any storage tell what its commits replaced, by reading it before. */
export const watchedStorage = (storage: Storage): WatchedStorage =>
  knowsReplaced(storage) ? storage : new ReadingStorage(storage).storage

const knowsReplaced = (storage: Storage): storage is WatchedStorage => storage.watchCommits !== undefined

class ReadingStorage {
  readonly storage: WatchedStorage
  readonly #base: Storage
  readonly #watchers: ((replaced: Replaced) => void)[] = []
  readonly #running = new Set<Promise<unknown>>()
  /** Resolves when the import that replaces the state now has ended. */
  #importing: Promise<unknown> | undefined
  /** The count of commits after the last one of this process. */
  #known: number | undefined

  constructor(base: Storage) {
    this.#base = base
    const watching = storageOver(base, {
      write: (body) => this.#write(body),
      import: (state, options) => this.#alone(() => this.#import(state, options)),
    })
    const { countCommits } = base
    // A spread would read `fault` once, and health would never change.
    this.storage = Object.assign(watching, {
      watchCommits: (onCommit: (replaced: Replaced) => void) => {
        this.#watchers.push(onCommit)
      },
      ...(countCommits && { noticeOthers: () => this.#noticeOthers(countCommits.bind(base)) }),
    })
  }

  async #write<T>(body: (tx: Writer) => Promise<T>): Promise<T> {
    while (this.#importing) await this.#importing
    const { noticeOthers } = this.storage
    let isTold = false
    const written = this.#base.write(async (tx) => {
      await noticeOthers?.()
      const own = Transaction.over(tx)
      own.rememberStored()
      const value = await body(own)
      const rows = await own.replaced()
      if (own !== tx) own.into(tx)
      // If the body runs again, what this run replaced is what is still stored.
      if (rows.length > 0) {
        this.#tell({ rows })
        this.#count()
        isTold = true
      }
      return value
    })
    this.#running.add(written)
    try {
      return await written
    } catch (error) {
      if (isTold) this.#miscount()
      throw error
    } finally {
      this.#running.delete(written)
    }
  }

  /** Runs a job that replaces the state, while no write runs. */
  async #alone(job: () => Promise<void>): Promise<void> {
    while (this.#importing) await this.#importing
    const done = Promise.allSettled([...this.#running]).then(job)
    this.#importing = done.catch(ignore)
    try {
      await done
    } finally {
      this.#importing = undefined
    }
  }

  #count(): void {
    if (this.#known !== undefined) this.#known++
  }

  /** A commit that was told failed, so the next transaction takes its count for one of others. That is safe. */
  #miscount(): void {
    this.#known = -1
  }

  async #noticeOthers(countCommits: () => Promise<number>): Promise<void> {
    const count = await countCommits()
    if (this.#known !== undefined && count !== this.#known) this.#tell({ rows: [], isUnknown: true })
    this.#known = count
  }

  async #import(state: State, options: ImportOptions | undefined): Promise<void> {
    const { noticeOthers } = this.storage
    if (noticeOthers) await this.#base.read(() => noticeOthers())
    const former = new Tables(await this.#base.export())
    try {
      await this.#base.import(state, options)
    } catch (error) {
      if (error instanceof OutcomeUnknown) this.#tell({ rows: [], former })
      throw error
    }
    this.#tell({ rows: [], former })
    this.#count()
  }

  #tell(replaced: Replaced): void {
    for (const onCommit of this.#watchers) onCommit(replaced)
  }
}
