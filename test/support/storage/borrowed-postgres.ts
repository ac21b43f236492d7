import { postgresStorage } from '../../../adapters/storage/postgres.js'
import { schemaHistory } from '../../../src/core.js'
import { storageOver } from '../../../src/storage/service-storage.js'
import { type Replaced, type Storage, StorageClosed } from '../../../src/storage/storage.js'
import { newSchema, sharedPostgres } from './shared-url.js'

/** A storage that services use one after another. */
interface Lent {
  readonly storage: Storage
  /** Gets what commits replace. */
  watcher: ((replaced: Replaced) => void) | undefined
}

/** What nobody uses now. */
const free: Lent[] = []

async function create(): Promise<Lent> {
  // Nobody else uses the schema, so the contract may rewind.
  const storage = await postgresStorage({ url: await sharedPostgres(), schema: newSchema(), shared: false })
  const lent: Lent = { storage, watcher: undefined }
  storage.watchCommits?.((replaced) => lent.watcher?.(replaced))
  return lent
}

/** An empty storage in PostgreSQL. After `giveBack` it refuses calls, and someone else may get what is under it. */
export async function borrowPostgres(): Promise<{ readonly storage: Storage; giveBack(): Promise<void> }> {
  const lent = free.pop() ?? (await create())
  const whole = lent.storage
  const running = new Set<Promise<unknown>>()
  let isClosed = false
  async function track<T>(job: () => Promise<T>): Promise<T> {
    if (isClosed) throw new StorageClosed()
    const done = job()
    running.add(done)
    return done.finally(() => running.delete(done))
  }
  const borrowed = storageOver(whole, {
    read: (body) => track(() => whole.read(body)),
    write: (body) => track(() => whole.write(body)),
    export: () => track(() => whole.export()),
    import: (state, options) => track(() => whole.import(state, options)),
    async close() {
      isClosed = true
      while (running.size > 0) await Promise.allSettled(running)
    },
  })
  const watchCommits: Storage['watchCommits'] = (onCommit) => {
    lent.watcher = onCommit
  }
  return {
    storage: Object.assign(borrowed, { watchCommits, noticeOthers: async () => whole.noticeOthers?.() }),
    async giveBack() {
      await borrowed.close()
      lent.watcher = undefined
      await whole.import({ schema: schemaHistory.current, counters: {}, rows: {} })
      free.push(lent)
    },
  }
}
