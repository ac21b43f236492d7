import type { Alarm } from '../base/ports.js'

/** The share of the time for closing after which calls to others are ended, so that there is time to settle them. */
const CALLS_SHARE = 0.9

/** How a service ends: calls to others first, and then what it still waits for. */
export class ServiceEnding {
  readonly #alarm: Alarm
  readonly #calls = new Set<() => void>()
  readonly #cancels: (() => void)[] = []
  #areCallsOver = false
  #setLate = () => {}
  #isClosing = false
  /** Resolves when a closing service waits no longer. */
  readonly late: Promise<void>

  constructor(alarm: Alarm) {
    this.#alarm = alarm
    this.late = new Promise((resolve) => (this.#setLate = resolve))
  }

  /** Whether the service, or a server in front of it, has begun to close. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  /** A server in front of the service closes within `ms` of real time: ends the calls that run shortly before. */
  closeServer(ms: number): void {
    this.#isClosing = true
    this.#alarm.set(ms * CALLS_SHARE, () => this.#endCalls())
  }

  /** The service closes within `ms` of real time. */
  close(ms: number): void {
    this.#isClosing = true
    const endCalls = () => {
      this.#areCallsOver = true
      this.#endCalls()
    }
    this.#cancels.push(this.#alarm.set(ms * CALLS_SHARE, endCalls), this.#alarm.set(ms, this.#setLate))
  }

  /** Runs `end` when a call to others has to end. Returns a function that takes this back. */
  onCallsEnd(end: () => void): () => void {
    if (this.#areCallsOver) end()
    else this.#calls.add(end)
    return () => this.#calls.delete(end)
  }

  /** Forgets the alarms, because the service is closed. */
  finish(): void {
    for (const cancel of this.#cancels) cancel()
  }

  #endCalls(): void {
    for (const end of this.#calls) end()
  }
}
