/** What the outside must offer the service. Each port has a default, so `createService()` works. */

export interface Clock {
  /** Unix time in milliseconds. */
  now(): number
}

export interface Random {
  /** `count` bytes that nobody can guess. */
  bytes(count: number): Uint8Array
}

export interface Mail {
  /** The same for every try to deliver this message: an idempotency key. */
  readonly id: string
  readonly to: string
  readonly subject: string
  readonly text: string
}

export interface Mailer {
  /** Resolves when the message is taken over; a rejection leaves it in the outbox, to be tried again. */
  send(mail: Mail): Promise<void>
}

export interface Log {
  error(message: string, cause?: unknown): void
}

export const systemClock: Clock = { now: () => Date.now() }

export const systemRandom: Random = { bytes: (count) => globalThis.crypto.getRandomValues(new Uint8Array(count)) }

export const consoleLog: Log = {
  error: (message, cause) => globalThis.console.error(`farthing: ${message}`, ...(cause === undefined ? [] : [cause])),
}
