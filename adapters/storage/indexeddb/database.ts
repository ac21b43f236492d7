import { type IDBPDatabase, type IDBPTransaction, openDB } from 'idb'
import { type AnyCollection, type State, StorageUnavailable } from '../../../src/storage/storage.js'
import { migrateState, type SchemaHistory, SchemaNewer } from '../../../src/storage/tables/migration.js'
import { ignore } from '../../../src/storage/unknown.js'
import {
  COUNTERS,
  differences,
  failure,
  keepOlder,
  readContent,
  readSchema,
  SCHEMA_KEY,
  SCHEMA_STORE,
  writeContent,
} from './content.js'

export interface DatabaseOptions {
  readonly name: string
  readonly collections: readonly AnyCollection[]
  readonly patience: number
  readonly history: SchemaHistory
  readonly alone: <T>(job: () => Promise<T>) => Promise<T>
}

type Transaction<M extends IDBTransactionMode> = IDBPTransaction<unknown, string[], M>
type Stores = readonly string[] | 'all'
const CLOSE = 'Close the other tabs of this site.'

/** A connection to one IndexedDB database. Opens it when needed, and closes it while a different tab upgrades the database. */
export class Database {
  readonly #others = new Set<string>()
  #superseded = false
  #db: IDBPDatabase | undefined
  #opening: Promise<IDBPDatabase> | undefined

  constructor(readonly options: DatabaseOptions) {}

  /** Opens the database if it is not open. Throws `StorageUnavailable`. */
  async open(): Promise<void> {
    try {
      if (!this.#db) await this.#open()
    } catch (error) {
      throw failure(error)
    }
  }

  /** Reads in one short transaction, and resolves with the job's result. The job may await only its own requests. */
  async read<T>(stores: Stores, job: (tx: Transaction<'readonly'>) => Promise<T>): Promise<T> {
    try {
      const tx = await this.#begin(stores, 'readonly')
      tx.done.catch(ignore)
      return await job(tx)
    } catch (error) {
      throw failure(error)
    }
  }

  /** Writes in one short transaction. Resolves when it is on the disk. If anything fails, nothing is stored. */
  async write(stores: Stores, job: (tx: Transaction<'readwrite'>) => Promise<void> | void): Promise<void> {
    let isCommitted = false
    try {
      const tx = await this.#begin(stores, 'readwrite')
      const ended = endOf(tx)
      try {
        await job(tx)
      } catch (error) {
        try {
          tx.abort()
        } catch {
          // The error has aborted it already.
        }
        await ended.catch(ignore)
        throw error
      }
      isCommitted = true
      await ended
    } catch (error) {
      throw failure(error, { isCommitted })
    }
  }

  /** Creates object stores for collections that were not declared. */
  admit(collections: readonly string[]): void {
    const size = this.#others.size
    const declared = new Set(this.options.collections.map(({ name }) => name))
    for (const name of collections) if (!declared.has(name)) this.#others.add(name)
    // The next opening compares the database with all collections, and creates missing stores.
    if (this.#others.size > size && this.#db) this.#leave(this.#db)
  }

  close(): void {
    if (this.#db) this.#leave(this.#db)
  }

  async #begin<M extends 'readonly' | 'readwrite'>(stores: Stores, mode: M): Promise<Transaction<M>> {
    for (let attempt = 1; ; attempt++) {
      // The caller may hold the lock that a migration needs.
      const db = this.#db ?? (await this.#open({ mayMigrate: false }))
      try {
        const names = stores === 'all' ? [...db.objectStoreNames] : [...stores]
        return db.transaction(names, mode, { durability: 'strict' })
      } catch (error) {
        // The browser closed the connection, for example because the user cleared the site's data.
        if (attempt === 2 || !isNamed(error, 'InvalidStateError')) throw error
        this.#leave(db)
      }
    }
  }

  #open({ mayMigrate = true } = {}): Promise<IDBPDatabase> {
    const over = () => (this.#opening = undefined)
    return (this.#opening ??= this.#settle(mayMigrate)
      .then((db) => (this.#db = db))
      .finally(over))
  }

  /** Opens, migrates and upgrades the database. A different tab may do that first, so this checks again. */
  async #settle(mayMigrate: boolean): Promise<IDBPDatabase> {
    const { name, patience, alone } = this.options
    let db = await this.#connect()
    while (await this.#isOlder(db)) {
      db.close()
      if (!mayMigrate) throw new StorageUnavailable(`The database ${name} holds an older state now. Try again.`)
      // Transactions of other tabs end first.
      const migrated = alone(() => this.#migrate())
      await inTime(migrated, patience, `Another tab still uses an older state of ${name}. ${CLOSE}`)
      db = await this.#connect()
    }
    while (!this.#isAsDeclared(db)) {
      const version = db.version + 1
      db.close()
      db = await this.#connect(version).catch((error: unknown) => {
        if (!isNamed(error, 'VersionError')) throw error
        return this.#connect()
      })
    }
    return db
  }

  async #isOlder(db: IDBPDatabase): Promise<boolean> {
    const { name, history } = this.options
    const schema = (await readSchema(db)) ?? history.current
    if (schema <= history.current) return schema < history.current
    db.close()
    const advice = this.#superseded ? 'A newer version of this page is open: reload this page.' : 'Reload this page.'
    throw new SchemaNewer(`The database ${name}`, schema, history.current, advice)
  }

  /** Puts a copy of an older state beside it and migrates it, in one step that no other tab sees half of. */
  async #migrate(): Promise<void> {
    const { name, history } = this.options
    const db = await this.#connect()
    const { version } = db
    try {
      const schema = await readSchema(db)
      // A different tab was faster.
      if (schema === undefined || schema >= history.current) return
      const older = { ...(await readContent(db.transaction([...db.objectStoreNames]), schema)), schema }
      await keepOlder(name, older)
      const state = await migrateState(older, history, { what: `The database ${name}` })
      this.admit(Object.keys(state.rows))
      db.close()
      const migrated = await this.#connect(version + 1, state)
      migrated.close()
    } finally {
      db.close()
    }
  }

  #isAsDeclared(db: IDBPDatabase): boolean {
    const stores = [...db.objectStoreNames]
    const look = stores.length > 0 ? db.transaction(stores) : undefined
    look?.done.catch(ignore)
    try {
      return differences(db, look, this.#schema()).length === 0
    } catch (error) {
      db.close()
      throw error
    }
  }

  /** Opens the database. With a state, an upgrade puts it in the place of everything. */
  #connect(version?: number, state?: State): Promise<IDBPDatabase> {
    const { name, patience, history } = this.options
    return new Promise((resolve, reject) => {
      let isLate = false
      /** Why an upgrade was aborted. The error of the opening only says that it was. */
      let reason: DOMException | null = null
      const timer = setTimeout(() => {
        isLate = true
        const message = `The database ${name} did not open in ${patience} ms: another tab holds an older version of it. ${CLOSE}`
        reject(new StorageUnavailable(message))
      }, patience)
      openDB(name, version, {
        upgrade: (db, _from, _to, tx) => {
          // No other tab can block the upgrade from here on.
          clearTimeout(timer)
          tx.addEventListener('abort', () => (reason = tx.error))
          tx.done.catch(ignore)
          const isNew = !db.objectStoreNames.contains(COUNTERS)
          for (const change of differences(db, tx, this.#schema())) change(tx)
          if (state) writeContent(tx, state)
          else if (isNew) tx.objectStore(SCHEMA_STORE).put(history.current, SCHEMA_KEY)
        },
      })
        .catch((error: unknown) => {
          throw reason ?? error
        })
        .then((db) => {
          if (isLate) return db.close()
          db.addEventListener('versionchange', ({ newVersion }) => {
            if (newVersion !== null) this.#superseded = true
            this.#leave(db)
          })
          resolve(db)
        }, reject)
        .finally(() => clearTimeout(timer))
    })
  }

  /** Closes the connection. Transactions that have begun still finish. */
  #leave(db: IDBPDatabase): void {
    db.close()
    if (this.#db === db) this.#db = undefined
  }

  #schema() {
    return { collections: this.options.collections, others: this.#others, superseded: this.#superseded }
  }
}

/** Rejects with `StorageUnavailable` if a job is not done in this many ms. It goes on all the same. */
async function inTime<T>(job: Promise<T>, ms: number, message: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new StorageUnavailable(message)), ms)
  })
  try {
    return await Promise.race([job, late])
  } finally {
    clearTimeout(timer)
    job.catch(ignore)
  }
}

/** Resolves when the transaction is complete. idb's own `done` does not wait for an abort, and may not know its reason. */
function endOf(tx: Transaction<'readwrite'>): Promise<void> {
  tx.done.catch(ignore)
  const end = new Promise<void>((resolve, reject) => {
    tx.addEventListener('complete', () => resolve())
    tx.addEventListener('abort', () =>
      reject(tx.error ?? new DOMException('The transaction was aborted.', 'AbortError')),
    )
  })
  end.catch(ignore)
  return end
}

const isNamed = (error: unknown, name: string): boolean => error instanceof DOMException && error.name === name
