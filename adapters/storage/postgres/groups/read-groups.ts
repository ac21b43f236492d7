import type { Reader } from '../../../../src/storage/storage.js'
import { KeptSession } from '../connection/database.js'
import type { Session } from '../connection/session.js'
import type { Head } from '../tables/tables.js'
import type { GroupCommitOptions } from './group-commit.js'
import { GatheredReads, View } from './view.js'

type ReadGroupsOptions = Pick<GroupCommitOptions, 'database' | 'tables' | 'schema' | 'watch'>

/** How many groups read at the same time, each over a connection of its own. */
const MOST_GROUPS = 4

interface Reading {
  /** Never rejects. */
  run(tx: Reader, checkWhole: () => Promise<void>): Promise<void>
  fail(error: unknown): void
}

/** Runs bodies that only read. Those that wait share a snapshot, taken after their calls, and gathered reads. */
export class ReadGroups {
  readonly #all: readonly KeptSession[]
  readonly #free: KeptSession[]
  readonly #heads = new Set<Promise<void>>()
  #waiting: Reading[] = []

  constructor(readonly options: ReadGroupsOptions) {
    this.#all = Array.from({ length: MOST_GROUPS }, () => new KeptSession(options.database))
    this.#free = [...this.#all]
  }

  read<T>(body: (tx: Reader) => Promise<T>): Promise<T> {
    return this.options.database.patiently(() => this.#once(body))
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((kept) => kept.close()))
  }

  #once<T>(body: (tx: Reader) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run: Reading['run'] = async (tx, checkWhole) => {
        try {
          const value = await body(tx)
          await checkWhole()
          resolve(value)
        } catch (error) {
          // If the database failed, that is why the body did.
          await checkWhole().then(() => reject(error), reject)
        }
      }
      this.#waiting.push({ run, fail: reject })
      this.#next()
    })
  }

  #next(): void {
    const kept = this.#waiting.length > 0 ? this.#free.pop() : undefined
    if (!kept) return
    // Others that are called in this turn join.
    setImmediate(() => {
      const group = this.#waiting
      this.#waiting = []
      void this.#run(group, kept).finally(() => {
        this.#free.push(kept)
        this.#next()
      })
    })
  }

  /** Resolves when it is noticed whether others have committed before the snapshots of bodies that run now. */
  async noticeOthers(): Promise<void> {
    await Promise.allSettled(this.#heads)
  }

  async #run(group: readonly Reading[], kept: KeptSession): Promise<void> {
    try {
      const session = await kept.get()
      // Bodies go on meanwhile, because their reads are sent behind it.
      const head = this.#begin(session)
      const checkWhole = async () => {
        await head
        if (session.failure) throw session.failure
      }
      const view = new View(new GatheredReads(this.options.tables, session))
      await Promise.all(group.map(({ run }) => run(view, checkWhole)))
      // What follows on this session is sent behind it.
      session.run('rollback').catch(() => {})
    } catch (error) {
      for (const { fail } of group) fail(error)
    }
  }

  /** Takes a snapshot. Rejects with the error of the driver, and with `StorageUnavailable` if it is of another release. */
  #begin(session: Session): Promise<void> {
    const { tables, schema, watch } = this.options
    const begun = Promise.all([
      session.begin('isolation level repeatable read read only'),
      session.query<Head>({ text: `select commit, schema, layout from ${tables.head}` }),
    ])
    const head = begun.then(([, [head]]) => {
      tables.checkHead(head, schema)
      watch.notice(Number(head?.commit))
    })
    this.#heads.add(head)
    const isOver = () => this.#heads.delete(head)
    head.then(isOver, isOver)
    return head
  }
}
