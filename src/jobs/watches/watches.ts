import type { ServiceContext, Watched } from '../../http/context.js'
import type { Reader, Storage } from '../../storage/storage.js'
import type { CommitRecord, RowChange } from '../../storage/transaction.js'
import { WatchedParts, WatchedReads } from './watched-reads.js'

export interface WatchOptions {
  readonly storage: Pick<Storage, 'read'>
  /** How long it is watched. */
  readonly ms: number
  /** Ends it. */
  readonly ending?: AbortSignal | undefined
}

type Keys = WatchedReads['keys']

interface Watch {
  readonly keys: Keys
  /** What was written while it read. Undefined once it has read. */
  meanwhile: (readonly RowChange[] | undefined)[] | undefined
  wake(): void
}

/**
 * Callers that wait until what they have read changes. A write wakes those who have read what it changed, and asks
 * nothing of the others: what it costs does not grow with those who wait.
 */
export class Watches {
  readonly #byKey = new Map<string, Set<Watch>>()
  readonly #parts = new WatchedParts()
  readonly #reading = new Set<Watch>()
  readonly #waiting = new Set<Watch>()
  readonly #service: Pick<ServiceContext, 'alarm'>
  #isEnded = false

  constructor(service: Pick<ServiceContext, 'alarm'>) {
    this.#service = service
  }

  /** Reads, and watches what it reads from its beginning on. Rejects as the reading does. */
  async watch<T>({ storage, ms, ending }: WatchOptions, read: (tx: Reader) => Promise<T>): Promise<Watched<T>> {
    let resolve = (_goesOn: boolean) => {}
    const changed = new Promise<boolean>((settle) => (resolve = settle))
    const end = () => {
      this.#forget(watch)
      ending?.removeEventListener('abort', end)
      cancel()
      resolve(!this.#isEnded && !ending?.aborted)
    }
    const watch: Watch = { keys: new Map(), meanwhile: [], wake: end }
    const cancel = this.#service.alarm.set(ms, end)
    ending?.addEventListener('abort', end)
    this.#reading.add(watch)
    try {
      const value = await storage.read((tx) => read(new WatchedReads(tx, watch.keys)))
      this.#begin(watch)
      if (this.#isEnded || ending?.aborted) end()
      return { value, changed, end }
    } catch (cause) {
      end()
      throw cause
    }
  }

  /** Resolves with true after a time, and with false if the service closes or `ending` fires. */
  async pause(ms: number, ending?: AbortSignal): Promise<boolean> {
    const storage = { read: <T>(body: (tx: Reader) => Promise<T>) => body(NOTHING) }
    const { changed } = await this.watch({ storage, ms, ending }, async () => undefined)
    return changed
  }

  /** This was written here. */
  wakeFor(commit: CommitRecord): void {
    if (this.#reading.size === 0 && this.#byKey.size === 0) return
    const changes = commit.rowChanges
    for (const watch of this.#reading) watch.meanwhile?.push(changes)
    for (const key of new Set(this.#parts.touchedBy(changes)))
      for (const watch of this.#byKey.get(key) ?? []) watch.wake()
  }

  /** Something was written to these collections, or anywhere if they are undefined, and nobody knows to which rows. */
  wakeIn(names: readonly string[] | undefined): void {
    for (const watch of this.#reading) watch.meanwhile?.push(undefined)
    for (const watch of this.#waiting)
      if (!names || [...watch.keys.values()].some(({ from }) => names.includes(from.name))) watch.wake()
  }

  end(): void {
    this.#isEnded = true
    for (const watch of [...this.#reading, ...this.#waiting]) watch.wake()
  }

  /** It has read. What changed while it read wakes it at once. */
  #begin(watch: Watch): void {
    const { keys, meanwhile = [] } = watch
    if (!this.#reading.delete(watch)) return
    watch.meanwhile = undefined
    this.#parts.add(keys.values())
    this.#waiting.add(watch)
    for (const key of keys.keys()) {
      const sharing = this.#byKey.get(key) ?? new Set()
      this.#byKey.set(key, sharing.add(watch))
    }
    const isTouched = (changes: readonly RowChange[]) =>
      [...this.#parts.touchedBy(changes)].some((key) => keys.has(key))
    if (meanwhile.some((changes) => changes === undefined || isTouched(changes))) watch.wake()
  }

  #forget(watch: Watch): void {
    this.#reading.delete(watch)
    if (!this.#waiting.delete(watch)) return
    this.#parts.remove(watch.keys.values())
    for (const key of watch.keys.keys()) {
      const sharing = this.#byKey.get(key)
      sharing?.delete(watch)
      if (sharing?.size === 0) this.#byKey.delete(key)
    }
  }
}

/** Of a caller who only waits. */
const NOTHING: Reader = {
  get: async () => undefined,
  getMany: async () => [],
  find: async () => [],
}
