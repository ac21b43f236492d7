import { copyState, latestOf } from '../../../src/storage/state.js'
import type { AnyCollection, ImportOptions, State } from '../../../src/storage/storage.js'
import { migrateState, type SchemaHistory } from '../../../src/storage/tables/migration.js'
import { Tables } from '../../../src/storage/tables/tables.js'
import { type Database, KeptSession } from './connection/database.js'
import type { GroupCommit } from './groups/group-commit.js'
import type { CommitWatch } from './groups/landing.js'
import { GatheredReads, View } from './groups/view.js'
import { checkContent, readContent, readCounters, writeContent } from './tables/content.js'
import type { TableSet } from './tables/tables.js'

interface Place {
  readonly database: Database
  readonly tables: TableSet
  readonly groups: GroupCommit
  readonly watch: CommitWatch
  readonly collections: readonly AnyCollection[]
  readonly history: SchemaHistory
  readonly isShared: boolean
}

/** Exports and imports everything that a database holds. */
export class WholeState {
  readonly #place: Place
  readonly #exporting: KeptSession
  /** Resolves when the last export has ended. */
  #exported: Promise<unknown> = Promise.resolve()

  constructor(place: Place) {
    this.#place = place
    this.#exporting = new KeptSession(place.database)
  }

  /** One export at a time. */
  export(): Promise<State> {
    const done = this.#exported.then(() => this.#place.database.patiently(() => this.#export()))
    this.#exported = done.catch(() => {})
    return done
  }

  async #export(): Promise<State> {
    const { tables, history } = this.#place
    const session = await this.#exporting.get()
    try {
      await session.begin('isolation level repeatable read read only')
      return await readContent(session, tables, history.current)
    } finally {
      if (!session.isLost) await session.run('rollback').catch(() => {})
    }
  }

  async import(given: State, { keepsNumbers = false, check }: ImportOptions = {}): Promise<void> {
    const { tables, groups, watch, collections, history, isShared } = this.#place
    checkContent(given, [])
    const state = await migrateState(copyState(given), history)
    checkContent(state, collections)
    await groups.alone(async (session, commit) => {
      await check?.(new View(new GatheredReads(tables, session)))
      const counters = keepsNumbers ? Object.fromEntries(await readCounters(tables, session)) : {}
      // Nobody goes back in a shared storage, so the former state need not be read.
      const isNeeded = !isShared && watch.isUsed
      const former = isNeeded ? new Tables(await readContent(session, tables, history.current)) : undefined
      watch.tellImport(former, commit)
      await writeContent(session, tables, { ...state, counters: latestOf(state.counters, counters) })
    })
  }

  close(): Promise<void> {
    return this.#exporting.close()
  }
}
