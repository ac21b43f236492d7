import type { ServiceContext, Watched } from '../../http/context.js'
import { indexNamed, keyOf } from '../../storage/key.js'
import type { AnyCollection, Collection, Key, Query, Reader, Row, Storage } from '../../storage/storage.js'
import type { CommitRecord, RowChange } from '../../storage/transaction.js'

/** The first fields of an index that a search fixed. The index `id` with one field is a row. */
interface Part {
  readonly from: AnyCollection
  readonly index: string
  readonly depth: number
}

/** What a reader has read: rows, and parts of indexes. A later change of any of it changes what it would read. */
class WatchedReads implements Reader {
  /** `keys`: by their texts. */
  constructor(
    readonly tx: Reader,
    readonly keys: Map<string, Part>,
  ) {}

  get<R extends Row>(from: Collection<R>, id: R['id']): Promise<R | undefined> {
    this.#note(from, 'id', [id])
    return this.tx.get(from, id)
  }

  getMany<R extends Row>(from: Collection<R>, ids: readonly R['id'][]): Promise<(R | undefined)[]> {
    for (const id of ids) this.#note(from, 'id', [id])
    return this.tx.getMany(from, ids)
  }

  async find<R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>): Promise<R[]> {
    this.#note(from, query.index, query.prefix)
    const rows = await this.tx.find(from, query)
    // A row that leaves the part is changed or removed.
    if (query.prefix.length > 0) for (const { id } of rows) this.#note(from, 'id', [id])
    return rows
  }

  #note(from: AnyCollection, index: string, prefix: readonly Key[]): void {
    this.keys.set(rangeKey(from, index, prefix), { from, index, depth: prefix.length })
  }
}

const rangeKey = ({ name }: AnyCollection, index: string, prefix: readonly Key[]): string =>
  `${name} ${index} ${JSON.stringify(prefix)}`

/** What several readers have read, by collection: which parts of its indexes, and how many watch each. */
export class WatchedParts {
  readonly #parts = new Map<string, Map<string, Part & { watches: number }>>()

  add(parts: Iterable<Part>): void {
    for (const part of parts) {
      const { name } = part.from
      const own = this.#parts.get(name) ?? new Map<string, Part & { watches: number }>()
      this.#parts.set(name, own)
      const known = own.get(shapeOf(part))
      if (known) known.watches++
      else own.set(shapeOf(part), { ...part, watches: 1 })
    }
  }

  remove(parts: Iterable<Part>): void {
    for (const part of parts) {
      const own = this.#parts.get(part.from.name)
      const known = own?.get(shapeOf(part))
      if (!known || --known.watches > 0) continue
      own?.delete(shapeOf(part))
      if (own?.size === 0) this.#parts.delete(part.from.name)
    }
  }

  /** The texts under which a reader may have read what changed. */
  *touchedBy(changes: readonly RowChange[]): Generator<string> {
    for (const { collection: into, id, is } of changes)
      for (const { index, depth } of this.#parts.get(into.name)?.values() ?? []) {
        if (depth === 0) yield rangeKey(into, index, [])
        else if (index === 'id') yield rangeKey(into, index, [id])
        else {
          const key = is && keyOf(indexNamed(into, index), is)
          if (key) yield rangeKey(into, index, key.slice(0, depth))
        }
      }
  }
}

const shapeOf = ({ index, depth }: Part): string => `${index} ${depth}`

export interface WatchOptions {
  readonly storage: Pick<Storage, 'read'>
  /** How long it is watched. */
  readonly ms: number
  /** Ends it. */
  readonly ending?: AbortSignal | undefined
}

interface Watch {
  readonly keys: WatchedReads['keys']
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
  #isEnded = false

  constructor(readonly service: Pick<ServiceContext, 'alarm'>) {}

  /** Reads, and watches what it reads from its beginning on. Rejects as the reading does. */
  async watch<T>(
    { storage, ms, ending }: WatchOptions,
    read: (tx: Reader, unwatched: Reader) => Promise<T>,
  ): Promise<Watched<T>> {
    let resolve = (_goesOn: boolean) => {}
    const changed = new Promise<boolean>((settle) => (resolve = settle))
    const end = () => {
      this.#forget(watch)
      ending?.removeEventListener('abort', end)
      cancel()
      resolve(!this.#isEnded && !ending?.aborted)
    }
    const watch: Watch = { keys: new Map(), meanwhile: [], wake: end }
    const cancel = this.service.alarm.set(ms, end)
    ending?.addEventListener('abort', end)
    this.#reading.add(watch)
    try {
      const value = await storage.read((tx) => read(new WatchedReads(tx, watch.keys), tx))
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
