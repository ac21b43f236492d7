import type { ServiceContext } from '../../http/context.js'
import { StorageClosed } from '../../storage/storage.js'

/** How soon a round that failed is followed by another: soon the first time, then twice as late each time. */
const AGAIN_MS = 100
const LATEST_AGAIN_MS = 5000
/** The clock may jump while nothing else happens, so a loop that waits looks this often. */
const CLOCK_CHECK_MS = 60_000

/** Rounds of work, one after the other. */
export interface Loop {
  /** Starts a round, or another one after the round that runs. */
  wake(): void
  /** Begins no round until `resume`. Resolves when none runs. */
  pause(): Promise<void>
  resume(): void
  /** Resolves when its rounds have ended. Undefined while none runs. */
  running(): Promise<void> | undefined
  /** Whether its last round failed, and the next one waits. */
  readonly isResting: boolean
  /** Begins a round that waits because the last one failed. */
  retryNow(): void
  /** Begins at most one more round, if it was woken before. Resolves when none runs. */
  stop(): Promise<void>
}

export interface LoopOptions {
  /** For the log: `timers`. */
  readonly name: string
  /** Does all work that is due. Returns when more is due, in milliseconds of the service's clock. */
  round(): Promise<number | undefined>
}

/**
 * Runs rounds when it is woken, and when the work that the last round named is due. A round that throws is logged, and
 * another one follows within seconds. The loop ends when the storage is closed.
 */
export function runLoop(
  { name, round }: LoopOptions,
  { alarm, clock, log, sandbox }: Pick<ServiceContext, 'alarm' | 'clock' | 'log' | 'sandbox'>,
): Loop {
  let running: Promise<void> | undefined
  let isWoken = false
  let isPaused = false
  let roundsLeft = Number.POSITIVE_INFINITY
  let failures = 0
  /** Whether the last round failed, and its pause is not over. */
  let isResting = false
  let cancelAlarm = () => {}

  function wake(): void {
    isWoken = true
    if (running || isResting || isPaused || roundsLeft === 0) return
    running = run().finally(() => {
      running = undefined
      // Someone may have woken it since the last round ended.
      if (isWoken) wake()
    })
  }

  async function run(): Promise<void> {
    cancelAlarm()
    // Writes of one turn of the event loop share a round.
    await Promise.resolve()
    while (isWoken && !isPaused && roundsLeft > 0) {
      isWoken = false
      roundsLeft--
      try {
        ringFor(await round())
        failures = 0
      } catch (cause) {
        if (cause instanceof StorageClosed) {
          roundsLeft = 0
          return
        }
        log.error(`a round of ${name} failed and is tried again`, cause)
        isResting = true
        ring(Math.min(AGAIN_MS * 2 ** failures++, LATEST_AGAIN_MS))
        return
      }
    }
  }

  /** A stopped clock needs no alarm, because it does not advance. */
  function ringFor(due: number | undefined): void {
    cancelAlarm()
    if (due === undefined || sandbox?.clock.mode === 'manual') return
    ring(Math.min(Math.max(due - clock.now(), 0), CLOCK_CHECK_MS))
  }

  function ring(ms: number): void {
    cancelAlarm()
    if (roundsLeft === 0) return
    cancelAlarm = alarm.set(ms, () => {
      isResting = false
      wake()
    })
  }

  return {
    wake,
    async pause() {
      isPaused = true
      while (running) await running
    },
    resume() {
      isPaused = false
      wake()
    },
    running: () => running,
    get isResting() {
      return isResting && !isPaused
    },
    retryNow() {
      if (!isResting || isPaused) return
      cancelAlarm()
      isResting = false
      wake()
    },
    async stop() {
      roundsLeft = isWoken ? 1 : 0
      cancelAlarm()
      while (running) await running
      roundsLeft = 0
      cancelAlarm()
    },
  }
}
