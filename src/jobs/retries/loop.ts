import type { ServiceContext } from '../../http/context.js'
import { StorageClosed } from '../../storage/storage.js'

/** Runs jobs one after the other, in the order in which they come. */
export class Mutex {
  #last: Promise<void> = Promise.resolve()

  /** Runs a job when all earlier ones have ended. */
  async run<T>(job: () => Promise<T>): Promise<T> {
    const before = this.#last
    let end = () => {}
    this.#last = new Promise((resolve) => (end = resolve))
    await before
    try {
      return await job()
    } finally {
      end()
    }
  }
}

/** Waits for work, but no longer than `ms`. */
export async function waitAtMost(ms: number, work: Promise<unknown>, { alarm }: Pick<ServiceContext, 'alarm'>) {
  let cancel = () => {}
  const late = new Promise<void>((resolve) => (cancel = alarm.set(ms, resolve)))
  await Promise.race([work, late])
  cancel()
}

/** How soon a round that failed is followed by another: soon the first time, then twice as late each time. */
const AGAIN_MS = 100
const LATEST_AGAIN_MS = 5000
/** The clock may jump while nothing else happens, so a loop that waits looks this often. */
const CLOCK_CHECK_MS = 60_000

export interface LoopOptions {
  /** For the log: `timers`. */
  readonly name: string
  /** Does all work that is due. Returns when more is due, in milliseconds of the service's clock. */
  round(): Promise<number | undefined>
}

type LoopPorts = Pick<ServiceContext, 'alarm' | 'clock' | 'log' | 'sandbox'>

/**
 * Runs rounds, one after the other, when it is woken, and when the work that the last round named is due. A round that
 * throws is logged, and another one follows within seconds. The loop ends when the storage is closed.
 */
export class Loop {
  #running: Promise<void> | undefined
  #isWoken = false
  #isPaused = false
  #roundsLeft = Number.POSITIVE_INFINITY
  #failures = 0
  /** Whether the last round failed, and its pause is not over. */
  #isResting = false
  #cancelAlarm = () => {}

  constructor(
    readonly options: LoopOptions,
    readonly ports: LoopPorts,
  ) {}

  /** Whether its last round failed, and the next one waits. */
  get isResting(): boolean {
    return this.#isResting && !this.#isPaused
  }

  /** Starts a round, or another one after the round that runs. */
  wake(): void {
    this.#isWoken = true
    if (this.#running || this.#isResting || this.#isPaused || this.#roundsLeft === 0) return
    this.#running = this.#run().finally(() => {
      this.#running = undefined
      // Someone may have woken it since the last round ended.
      if (this.#isWoken) this.wake()
    })
  }

  /** Begins no round until `resume`. Resolves when none runs. */
  pause(): Promise<void> {
    this.#isPaused = true
    return this.idle()
  }

  resume(): void {
    this.#isPaused = false
    this.wake()
  }

  /** Resolves when none of its rounds runs. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** Begins a round that waits because the last one failed. */
  retryNow(): void {
    if (!this.isResting) return
    this.#cancelAlarm()
    this.#isResting = false
    this.wake()
  }

  /** Begins at most one more round, if it was woken before. Resolves when none runs. */
  async stop(): Promise<void> {
    this.#roundsLeft = this.#isWoken ? 1 : 0
    this.#cancelAlarm()
    await this.idle()
    this.#roundsLeft = 0
    this.#cancelAlarm()
  }

  async #run(): Promise<void> {
    this.#cancelAlarm()
    // Writes of one turn of the event loop share a round.
    await Promise.resolve()
    while (this.#isWoken && !this.#isPaused && this.#roundsLeft > 0) {
      this.#isWoken = false
      this.#roundsLeft--
      try {
        this.#ringFor(await this.options.round())
        this.#failures = 0
      } catch (cause) {
        if (!(cause instanceof StorageClosed)) return this.#rest(cause)
        this.#roundsLeft = 0
        return
      }
    }
  }

  #rest(cause: unknown): void {
    this.ports.log.error(`a round of ${this.options.name} failed and is tried again`, cause)
    this.#isResting = true
    this.#ring(Math.min(AGAIN_MS * 2 ** this.#failures++, LATEST_AGAIN_MS))
  }

  /** A stopped clock needs no alarm, because it does not advance. */
  #ringFor(due: number | undefined): void {
    this.#cancelAlarm()
    const { clock, sandbox } = this.ports
    if (due === undefined || sandbox?.clock.mode === 'manual') return
    this.#ring(Math.min(Math.max(due - clock.now(), 0), CLOCK_CHECK_MS))
  }

  #ring(ms: number): void {
    this.#cancelAlarm()
    if (this.#roundsLeft === 0) return
    this.#cancelAlarm = this.ports.alarm.set(ms, () => {
      this.#isResting = false
      this.wake()
    })
  }
}
