import { quoted } from '../tables/tables.js'
import type { Database } from './database.js'
import type { Session } from './session.js'

/** What a process tells the others of a commit, in its transaction. */
export interface Hint {
  readonly channel: string
  readonly text: string
}

/** What others may want to know of a commit. */
interface Told {
  /** The process that committed. */
  readonly from: string
  /** The names of the collections that it changed. */
  readonly changed: readonly string[]
}

export interface HintOptions {
  readonly database: Database
  readonly schema: string
  /** A name that no other process has. */
  readonly process: string
}

type OnCommit = (changed: readonly string[] | undefined) => void

/** How long to wait before it connects again, in ms. Doubles with each try. */
const FIRST_WAIT_MS = 20
const LONGEST_WAIT_MS = 1000

/**
 * Tells other processes of commits, and hears of theirs, with `NOTIFY` and `LISTEN`. PostgreSQL drops what nobody hears,
 * so each new connection is told as a loss of hints.
 */
export class Hints {
  readonly #options: HintOptions
  readonly #channel: string
  readonly #watchers: OnCommit[] = []
  #listening: Promise<Session | undefined> | undefined
  #again: ReturnType<typeof setTimeout> | undefined
  /** How often it has tried in vain. */
  #tries = 0
  #isClosed = false

  constructor(options: HintOptions) {
    this.#options = options
    // The name of a channel has at most 63 bytes, and so has that of a schema.
    this.#channel = options.schema
  }

  of(changed: Iterable<string>): Hint {
    const told: Told = { from: this.#options.process, changed: [...changed] }
    return { channel: this.#channel, text: JSON.stringify(told) }
  }

  /** Resolves when hints come, or when it cannot connect now: then they come later. */
  async watch(onCommit: OnCommit): Promise<void> {
    this.#watchers.push(onCommit)
    await (this.#listening ??= this.#listen())
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#again)
    const session = await this.#listening
    await session?.close()
  }

  async #listen(): Promise<Session | undefined> {
    try {
      const session = await this.#options.database.connect({
        onNotify: (text) => this.#hear(text),
        onLost: () => this.#listenAgain(),
      })
      await session.run(`listen ${quoted(this.#channel)}`)
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
    if (from !== this.#options.process) this.#tell(changed)
  }

  #tell(changed: readonly string[] | undefined): void {
    for (const onCommit of this.#watchers) onCommit(changed)
  }
}
