import { StorageUnavailable } from '../../../../src/storage/storage.js'
import { failureOf, isConflict, isUnreachable } from './errors.js'
import { Session, type SessionListener } from './session.js'

const RECONNECT_CHECK_MS = 1000
const LONGEST_WAIT_MS = 500

export class Database {
  /** Why the database cannot be used now. Undefined while all is well. */
  fault: StorageUnavailable | undefined
  #look: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  /** `patience`: how long calls wait for a database that cannot be reached, in ms. */
  constructor(
    readonly url: string,
    readonly patience: number,
  ) {}

  /** Connects once. Rejects with the error of the driver. */
  connect(listener?: SessionListener): Promise<Session> {
    return Session.open(this.url, Math.max(1, Math.ceil(this.patience / 1000)), listener)
  }

  /**
   * Runs a job again while the database cannot be reached, or undoes it because of another transaction. Gives up after
   * the patience, at once if the last one has given up, and rejects with `StorageUnavailable`.
   */
  async patiently<T>(job: () => Promise<T>): Promise<T> {
    const until = performance.now() + (this.fault ? 0 : this.patience)
    for (let attempt = 0; ; attempt++) {
      try {
        const value = await job()
        this.fault = undefined
        return value
      } catch (error) {
        if (!isUnreachable(error) && !isConflict(error)) throw failureOf(error)
        if (performance.now() >= until || this.#isClosed) throw this.#fail(error)
      }
      await new Promise((resolve) => setTimeout(resolve, waitBefore(attempt)))
    }
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#look)
  }

  #fail(cause: unknown): unknown {
    const failure = failureOf(cause)
    if (failure instanceof StorageUnavailable && isUnreachable(cause)) {
      this.fault = failure
      this.#lookLater()
    }
    return failure
  }

  /** The health of the storage shows that all is well again even if nobody calls. */
  #lookLater(): void {
    clearTimeout(this.#look)
    if (this.#isClosed) return
    this.#look = setTimeout(async () => {
      try {
        const session = await this.connect()
        this.fault = undefined
        await session.close()
      } catch {
        if (this.fault) this.#lookLater()
      }
    }, RECONNECT_CHECK_MS)
    this.#look.unref()
  }
}

/** Grows, and differs between processes that were undone for each other. */
const waitBefore = (attempt: number): number => Math.min(LONGEST_WAIT_MS, 2 ** attempt * 5) * (0.5 + Math.random())

/** Keeps a session open, and opens another one when it is lost. Begins with one that is open, if there is one. */
export class KeptSession {
  #session: Promise<Session> | undefined

  constructor(
    readonly database: Database,
    session?: Session,
  ) {
    this.#session = session && Promise.resolve(session)
  }

  /** Rejects with the error of the driver. */
  async get(): Promise<Session> {
    const session = await (this.#session ??= this.database.connect()).catch((error: unknown) => {
      this.#session = undefined
      throw error
    })
    if (!session.isLost) return session
    this.#session = undefined
    await session.close()
    return this.get()
  }

  async close(): Promise<void> {
    await this.#session?.then((session) => session.close()).catch(() => {})
  }
}
