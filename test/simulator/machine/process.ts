import { createService, type Service } from '../../../src/index.js'
import type { Storage } from '../../../src/storage/storage.js'
import type { Draws } from './draws.js'
import type { Outside } from './outside.js'
import { alarmOf, type Timeline } from './timeline.js'
import type { Moment, Traps } from './traps.js'

export const BASE_URL = 'http://127.0.0.1:4242'
export const ENCRYPTION_KEY = '7'.repeat(64)

export interface ProcessParts {
  readonly timeline: Timeline
  readonly draws: Draws
  readonly outside: Outside
  readonly traps: Traps
  readonly keepsJournal: boolean
  /** What the service says to its operator. */
  readonly log: (message: string, cause?: unknown) => void
  /** Opens the storage that the process works with. */
  open(own: { isAlive(): boolean; awake(): Promise<void> | undefined; reach(moment: Moment): boolean }): Storage
  /** Called when the process has died at a moment that was set for it. */
  onDeath(moment: Moment): void
  /** How long it hangs at that moment, instead of dying. */
  hangsFor(moment: Moment): number | undefined
}

/** A process with the real service. When it dies nothing in it goes on, and all who wait for it learn nothing. */
export class SimulatedProcess {
  readonly service: Service
  readonly #timeline: Timeline
  #isAlive = true
  /** While it hangs. */
  #awake: Promise<void> | undefined
  #onEnd: (() => void)[] = []
  /** Resolves when it dies. */
  readonly ended = new Promise<void>((resolve) => this.#onEnd.push(resolve))

  constructor({ timeline, draws, outside, traps, keepsJournal, log, open, onDeath, hangsFor }: ProcessParts) {
    this.#timeline = timeline
    const isAlive = () => this.#isAlive
    const awake = () => this.#awake
    const reach = (moment: Moment) => {
      if (!this.#isAlive) return true
      if (!traps.spring(moment)) return false
      const ms = hangsFor(moment)
      if (ms !== undefined) {
        this.hang(ms)
        return false
      }
      this.kill()
      onDeath(moment)
      return true
    }
    this.service = createService({
      storage: open({ isAlive, awake, reach }),
      baseUrl: BASE_URL,
      encryptionKey: ENCRYPTION_KEY,
      clock: timeline,
      alarm: alarmOf(timeline, isAlive, awake),
      random: { bytes: (count) => draws.bytes(count) },
      ...outside.ports({ isAlive, awake, reach }),
      allowUpstream: () => true,
      log: { error: (message, cause) => this.#isAlive && log(message, cause) },
      sandbox: true,
      journal: keepsJournal && { entries: 100 },
    })
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  /** Answers, or resolves with undefined if the process dies before. */
  respond(request: Request): Promise<Response | undefined> {
    if (!this.#isAlive) return Promise.resolve(undefined)
    return new Promise((resolve, reject) => {
      this.#onEnd.push(() => resolve(undefined))
      this.service.respond(request).then((response) => this.#isAlive && resolve(response), reject)
    })
  }

  /** Nothing that it does goes on for this many milliseconds, as in a machine that is paused. */
  hang(ms: number): void {
    this.#awake ??= this.#timeline.wait(ms).then(() => {
      this.#awake = undefined
    })
  }

  kill(): void {
    this.#isAlive = false
    for (const end of this.#onEnd.splice(0)) end()
  }

  /** Ends it in order. Resolves when its calls have ended and its storage is closed. */
  async close(): Promise<void> {
    await this.service.close()
    this.kill()
  }
}
