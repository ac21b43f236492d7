import postgres from 'postgres'

/** A statement with its parameters as PostgreSQL reads them. Default: none. */
export type Statement = { readonly text: string; readonly parameters?: readonly string[] }

/** The connection ended, so it is unknown what became of the statements under way. */
export class ConnectionLost extends Error {
  override name = 'ConnectionLost'
}

export interface SessionListener {
  onNotify(text: string): void
  /** Called once, when the connection is lost or closed. */
  onLost(): void
}

/** How long a session may be silent within a transaction, in ms. If this process hangs, the database then undoes it. */
const SILENCE_MS = 10_000

/** Every read is by a key, so a scan of a table is never faster. Plans are made once for each statement. */
const SETTINGS = [
  `set idle_in_transaction_session_timeout = ${SILENCE_MS}`,
  'set enable_seqscan = off',
  'set jit = off',
  'set plan_cache_mode = force_generic_plan',
].join('; ')

/** Statements without parameters too are parsed only once. */
const PREPARED = { prepare: true, simple: false }

/**
 * One connection. postgres.js connects again by itself and repeats what was waiting, outside of the transaction that it
 * belonged to. A session never does: once its connection is lost, every statement rejects with `ConnectionLost`.
 */
export class Session {
  /** The first statement that failed since `begin`. What follows it in the transaction fails too. */
  failure: unknown
  readonly #waiting = new Set<(error: ConnectionLost) => void>()
  #lost: ConnectionLost | undefined

  private constructor(
    readonly client: postgres.Sql,
    readonly reserved: postgres.ReservedSql,
    readonly listener: SessionListener | undefined,
  ) {}

  /** Connects in `connectS` seconds. Rejects with the error of the driver. */
  static async open(url: string, connectS: number, listener?: SessionListener): Promise<Session> {
    let session: Session | undefined
    let isLost = false
    // The types of postgres.js lack `onnotify`, because its own `listen` sets it.
    const options = {
      max: 1,
      fetch_types: false,
      idle_timeout: 0,
      max_lifetime: null,
      connect_timeout: connectS,
      connection: { application_name: 'farthing' },
      onnotice: () => {},
      onnotify: (_: string, text: string) => listener?.onNotify(text),
      onclose: () => {
        isLost = true
        session?.lose()
      },
    }
    const client = postgres(url, options)
    try {
      // First, because `reserve` waits forever for a connection that has had no statement.
      await inTime(client.unsafe(SETTINGS), connectS)
      session = new Session(client, await client.reserve(), listener)
      if (isLost) session.lose()
      return session
    } catch (error) {
      void client.end({ timeout: 0 }).catch(() => {})
      throw error
    }
  }

  get isLost(): boolean {
    return this.#lost !== undefined
  }

  begin(mode = ''): Promise<string> {
    this.failure = undefined
    return this.run(`begin ${mode}`)
  }

  /** Sends one statement or several, without parameters. Resolves with the command of the last one. */
  async run(text: string): Promise<string> {
    const result = await this.#send((sql) => sql.unsafe(text))
    const last = (Array.isArray(result[0]) ? result.at(-1) : result) as { readonly command?: string } | undefined
    return last?.command ?? ''
  }

  /** Sends a statement behind those that are under way, without waiting for them. */
  async query<R>({ text, parameters = [] }: Statement): Promise<readonly R[]> {
    // The columns are those of the statement.
    return (await this.#send((sql) => sql.unsafe(text, [...parameters], PREPARED))) as unknown as readonly R[]
  }

  #send(send: (sql: postgres.ReservedSql) => postgres.PendingQuery<postgres.Row[]>) {
    if (this.#lost) return Promise.reject(this.#lost)
    return new Promise<postgres.RowList<postgres.Row[]>>((resolve, reject) => {
      this.#waiting.add(reject)
      const done = () => this.#waiting.delete(reject)
      const fail = (error: unknown) => {
        this.failure ??= error
        reject(error)
      }
      send(this.reserved).then(resolve, fail).finally(done)
    })
  }

  lose(): void {
    const wasLost = this.isLost
    this.#lost ??= new ConnectionLost('the connection to the database was lost')
    this.failure ??= this.#lost
    for (const reject of this.#waiting) reject(this.#lost)
    this.#waiting.clear()
    if (!wasLost) this.listener?.onLost()
  }

  /** Ends the connection. An open transaction is undone. */
  async close(): Promise<void> {
    this.lose()
    await this.client.end({ timeout: 0 }).catch(() => {})
  }
}

/** If a server closes each new connection at once, the driver tries again for ever. */
async function inTime(connecting: PromiseLike<unknown>, seconds: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    const error = Object.assign(new Error('the database does not answer'), { code: 'CONNECT_TIMEOUT' })
    timer = setTimeout(() => reject(error), seconds * 1000)
  })
  try {
    await Promise.race([connecting, late])
  } finally {
    clearTimeout(timer)
  }
}
