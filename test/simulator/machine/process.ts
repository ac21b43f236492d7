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
  open(own: { isAlive(): boolean; reach(moment: Moment): boolean }): Storage
  /** Called when the process has died at a moment that was set for it. */
  onDeath(moment: Moment): void
}

/** A process with the real service. When it dies nothing in it goes on, and all who wait for it learn nothing. */
export class SimulatedProcess {
  readonly service: Service
  #isAlive = true
  #onEnd: (() => void)[] = []
  /** Resolves when it dies. */
  readonly ended = new Promise<void>((resolve) => this.#onEnd.push(resolve))

  constructor({ timeline, draws, outside, traps, keepsJournal, log, open, onDeath }: ProcessParts) {
    const isAlive = () => this.#isAlive
    const reach = (moment: Moment) => {
      if (!this.#isAlive) return true
      if (!traps.spring(moment)) return false
      this.kill()
      onDeath(moment)
      return true
    }
    this.service = createService({
      storage: open({ isAlive, reach }),
      baseUrl: BASE_URL,
      encryptionKey: ENCRYPTION_KEY,
      clock: timeline,
      alarm: alarmOf(timeline, isAlive),
      random: { bytes: (count) => draws.bytes(count) },
      ...outside.ports({ isAlive, reach }),
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
