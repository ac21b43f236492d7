import { setTimeout as pause } from 'node:timers/promises'
import type { Cli, Sandbox } from '../cli.js'

const ATTEMPTS = 20
const AGAIN_MS = 200

/** Processes of the built command that share a state. Each comes back at its address after it was killed. */
export class Fleet {
  readonly #cli: Cli
  readonly #args: readonly string[]
  readonly #running: Sandbox[] = []
  readonly #starting = new Map<number, Promise<void>>()
  #ended = false
  killed = 0

  private constructor(cli: Cli, args: readonly string[]) {
    this.#cli = cli
    this.#args = args
  }

  static async start(cli: Cli, args: readonly string[], size: number): Promise<Fleet> {
    const fleet = new Fleet(cli, args)
    // The first one prepares the state.
    while (fleet.#running.length < size) fleet.#running.push(await cli.start(args))
    return fleet
  }

  get urls(): readonly string[] {
    return this.#running.map(({ url }) => url)
  }

  /**
   * Kills one process after the other, one each time that so much has passed, and starts it again at once. Ends with
   * `end`, when all run again.
   */
  async killInTurn(everyMs: number): Promise<void> {
    for (let turn = 0; !this.#ended; turn++) {
      await pause(everyMs)
      const at = turn % this.#running.length
      // One that starts slowly would be killed before it has done anything.
      if (this.#ended || this.#starting.has(at)) continue
      this.#starting.set(
        at,
        this.#replace(at).finally(() => this.#starting.delete(at)),
      )
    }
    await Promise.all(this.#starting.values())
  }

  async #replace(at: number): Promise<void> {
    const sandbox = this.#running[at]
    if (!sandbox) return
    await sandbox.stop('SIGKILL')
    this.killed++
    this.#running[at] = await this.#startAgain(['--port', new URL(sandbox.url).port])
  }

  /** Tries several times, as whatever watches over processes does: a database may not listen yet. */
  async #startAgain(port: readonly string[]): Promise<Sandbox> {
    for (let attempt = 1; ; attempt++)
      try {
        return await this.#cli.start([...this.#args, ...port])
      } catch (error) {
        if (attempt === ATTEMPTS) throw error
        await pause(AGAIN_MS)
      }
  }

  end(): void {
    this.#ended = true
  }

  /** Stops them all, as their operator does. Resolves with the exit codes. */
  async stop(): Promise<readonly (number | null)[]> {
    const ended = await Promise.all(this.#running.map((sandbox) => sandbox.stop()))
    return ended.map(({ code }) => code)
  }
}
