import { quoted } from '../tables/tables.js'
import type { Database } from './database.js'
import type { Session } from './session.js'

/** What a process tells the others of a commit, in its transaction. */
export type Hint = { readonly channel: string; readonly text: string }
type Told = { readonly from: string; readonly changed: readonly string[] }
type OnCommit = (changed: readonly string[] | undefined) => void
const FIRST_WAIT_MS = 20
const LONGEST_WAIT_MS = 1000

/** Tells other processes of commits by `NOTIFY`. PostgreSQL drops what nobody hears, so a new connection counts as a loss of hints. */
export class Hints {
  readonly #watchers: OnCommit[] = []
  #listening: Promise<Session | undefined> | undefined
  #again: ReturnType<typeof setTimeout> | undefined
  #tries = 0
  #isClosed = false

  /** `process`: a name that no other process has. The channel has the name of the schema: both have at most 63 bytes. */
  constructor(
    readonly database: Database,
    readonly channel: string,
    readonly process: string,
  ) {}

  of(changed: Iterable<string>): Hint {
    const told: Told = { from: this.process, changed: [...changed] }
    return { channel: this.channel, text: JSON.stringify(told) }
  }

  /** Resolves when hints come, or when it cannot connect now: then they come later. */
  async watch(onCommit: OnCommit): Promise<void> {
    this.#watchers.push(onCommit)
    await (this.#listening ??= this.#listen())
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#again)
    await (await this.#listening)?.close()
  }

  async #listen(): Promise<Session | undefined> {
    try {
      const session = await this.database.connect({
        onNotify: (text) => this.#hear(text),
        onLost: () => this.#listenAgain(),
      })
      await session.run(`listen ${quoted(this.channel)}`)
      this.#tries = 0
      return session
    } catch {
      this.#listenAgain()
      return undefined
    }
  }

  #listenAgain(): void {
    if (this.#isClosed) return
    clearTimeout(this.#again)
    this.#again = setTimeout(
      async () => {
        this.#listening = this.#listen()
        if (await this.#listening) this.#tell(undefined)
      },
      Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#tries++),
    )
    this.#again.unref()
  }

  #hear(text: string): void {
    const { from, changed }: Told = JSON.parse(text)
    if (from !== this.process) this.#tell(changed)
  }

  #tell(changed: readonly string[] | undefined): void {
    for (const onCommit of this.#watchers) onCommit(changed)
  }
}
