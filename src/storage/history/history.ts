import type {
  AnyCollection,
  Collection,
  FormerState,
  Key,
  Query,
  Reader,
  Replaced,
  ReplacedRow,
  Row,
  State,
  Writer,
} from '../storage.js'
import { Tables } from '../tables/tables.js'
import { Transaction } from '../transaction.js'
import type { WatchedStorage } from './watched-storage.js'

/** What the commits of this process replaced, so that the state can be read as it was, and brought back. */
export interface History {
  /** The number of the last commit. In the body of a write, it is the commit whose state the body reads. */
  readonly last: number
  /**
   * Reads the state as it was after a commit. 0 is the state at the start of the process. Throws `StateForgotten` if
   * the history no longer reaches that far, also because another process has written since.
   */
  readAt<T>(commit: number, body: (tx: Reader) => Promise<T>): Promise<T>
  /** Brings back the state after a commit, as a new commit. Counters stay. Throws `StateForgotten`. */
  rewindTo(commit: number): Promise<void>
  /** Brings a copy of the stored state back to a commit. Throws `StateForgotten`, also if the whole state was replaced. */
  rewindCopy(commit: number, tx: Pick<Writer, 'put' | 'remove'>): void
  /** Forgets the states before the one after a commit, now or soon: nobody will ask for them. */
  forgetBefore(commit: number): void
}

export interface HistoryOptions {
  /** About how much of replaced rows to keep, in bytes. The oldest go first. Default: 64 MiB. */
  readonly bytes?: number | undefined
  /** Makes a reader of stored rows show them whole: it opens their sealed fields. */
  readonly opened?: (tx: Reader) => Reader
}

/** The history no longer has the state after a commit, or never had it. */
export class StateForgotten extends Error {
  override name = 'StateForgotten'

  constructor(
    /** The oldest commit whose state it has. */
    readonly first: number,
  ) {
    super(`The history begins with commit ${first}.`)
  }
}

const BYTES = 64 << 20

interface PastCommit {
  readonly number: number
  readonly bytes: number
  /** Of each replaced row: its collection, its id and the row. There are many commits, and a list of lists costs more. */
  readonly replaced: readonly (AnyCollection | Key | Row | undefined)[]
  readonly former: FormerState | undefined
}

/** How many commits to forget at once, at least, because the list moves up each time. */
const FORGET_AT_ONCE = 512

/** Keeps what the commits of a storage replace from now on. */
export class CommitHistory implements History {
  readonly #storage: WatchedStorage
  readonly #limit: number
  readonly #opened: (tx: Reader) => Reader
  /** In their order. */
  readonly #commits: PastCommit[] = []
  #bytes = 0
  #last = 0
  /** The oldest commit whose state can be read. */
  #first = 0

  constructor(storage: WatchedStorage, { bytes = BYTES, opened = (tx) => tx }: HistoryOptions = {}) {
    this.#storage = storage
    this.#limit = bytes
    this.#opened = opened
    storage.watchCommits((replaced) => this.#add(replaced))
  }

  get last(): number {
    return this.#last
  }

  readAt<T>(commit: number, body: (tx: Reader) => Promise<T>): Promise<T> {
    return this.#storage.read(async (tx) => {
      await this.#storage.noticeOthers?.()
      return body(this.#opened(this.#at(commit, tx)))
    })
  }

  async rewindTo(commit: number): Promise<void> {
    // What lands until the import does is later than the commit, so it goes too.
    const { former, before } = this.#since(commit)
    if (former) {
      const { schema } = await this.#storage.export()
      return this.#storage.import(stateBefore(former, before, schema), { keepsNumbers: true })
    }
    const isDone = await this.#storage.write(async (tx) => {
      const since = this.#since(commit)
      if (since.former) return false
      putBack(since.before, tx)
      return true
    })
    if (!isDone) await this.rewindTo(commit)
  }

  rewindCopy(commit: number, tx: Pick<Writer, 'put' | 'remove'>): void {
    const { former, before } = this.#since(commit)
    if (former) throw new StateForgotten(this.#last)
    putBack(before, tx)
  }

  #at(commit: number, tx: Reader): Reader {
    const { former, before } = this.#since(commit)
    if (before.length === 0) return former ?? tx
    const then = new Transaction(readOnly(former ?? tx))
    putBack(before, then)
    return then
  }

  /** The commits that followed one until the first import, and the state that this replaced. Throws `StateForgotten`. */
  #since(commit: number): { readonly before: readonly PastCommit[]; readonly former: FormerState | undefined } {
    if (commit < this.#first || commit > this.#last) throw new StateForgotten(this.#first)
    const since = this.#commits.slice(this.#commits.findLastIndex(({ number }) => number <= commit) + 1)
    const imported = since.findIndex(({ former }) => former)
    return { before: imported < 0 ? since : since.slice(0, imported), former: since[imported]?.former }
  }

  #add({ rows, former, isUnknown }: Replaced): void {
    if (isUnknown) return this.#forgetAll()
    const bytes = sizeOf(rows) + (former ? former.size * ROW_BYTES : 0)
    const replaced: PastCommit['replaced'][number][] = new Array(rows.length * 3)
    let at = 0
    for (const { collection, id, row } of rows) {
      replaced[at++] = collection
      replaced[at++] = id
      replaced[at++] = row
    }
    this.#commits.push({ number: ++this.#last, bytes, replaced, former })
    this.#bytes += bytes
    if (this.#bytes > this.#limit) this.#forget(() => this.#bytes <= this.#limit * 0.9)
  }

  forgetBefore(commit: number): void {
    if ((this.#commits[FORGET_AT_ONCE]?.number ?? Infinity) > commit) return
    this.#forget(({ number }) => number > commit)
  }

  /** No state before what others have written can be read any more. */
  #forgetAll(): void {
    this.#commits.length = 0
    this.#bytes = 0
    this.#first = ++this.#last
  }

  #forget(mayStay: (oldest: PastCommit) => boolean): void {
    let count = 0
    for (const commit of this.#commits) {
      if (mayStay(commit)) break
      this.#bytes -= commit.bytes
      this.#first = commit.number
      count++
    }
    this.#commits.splice(0, count)
  }
}

/** A former state with rows put back. */
function stateBefore(former: FormerState, before: readonly PastCommit[], schema: number | undefined): State {
  const tables = new Tables(former.state())
  for (const commit of before.toReversed()) tables.undo(rowsOf(commit))
  return { ...tables.state(), ...(schema !== undefined && { schema }) }
}

function putBack(commits: readonly PastCommit[], tx: Pick<Writer, 'put' | 'remove'>): void {
  for (const commit of commits.toReversed())
    for (const { collection, id, row } of rowsOf(commit).toReversed())
      row ? tx.put(collection, row) : tx.remove(collection, id)
}

function rowsOf({ replaced }: PastCommit): ReplacedRow[] {
  const rows: ReplacedRow[] = []
  for (let at = 0; at < replaced.length; at += 3)
    // `#add` puts them in this order.
    rows.push({
      collection: replaced[at] as AnyCollection,
      id: replaced[at + 1] as Key,
      row: replaced[at + 2] as Row | undefined,
    })
  return rows
}

const readOnly = (tx: Reader) => ({
  get: <R extends Row>(from: Collection<R>, id: R['id']) => tx.get(from, id),
  getMany: <R extends Row>(from: Collection<R>, ids: readonly R['id'][]) => tx.getMany(from, ids),
  find: <R extends Row, I extends string>(from: Collection<R, I>, query: Query<I>) => tx.find(from, query),
  nextId: () => Promise.reject(new Error('the past takes no writes')),
  nextIds: () => Promise.reject(new Error('the past takes no writes')),
})

/** About how much memory a row of a whole state takes, in bytes. */
const ROW_BYTES = 400

function sizeOf(rows: readonly ReplacedRow[]): number {
  let bytes = 64
  for (const { row } of rows) {
    bytes += 64
    if (!row) continue
    for (const name in row) {
      const part: unknown = row[name as keyof Row]
      bytes += 24
      if (typeof part === 'string') bytes += part.length
      else if (typeof part === 'object' && part !== null) bytes += 2 * JSON.stringify(part).length
    }
  }
  return bytes
}
