import type { Writer } from './storage/storage.js'

/** How long an answer that is kept stands, and whether any does. */
export interface KeepOptions {
  /** It stands where the call breaks off after this, until another is kept. */
  readonly meanwhile?: boolean
  /**
   * Neither this answer stands nor one from before: of what was begun nothing came, and once the call ends the key is as if it had not
   * been used.
   */
  readonly nothing?: boolean
}

/** Keeps what is answered under the caller's Idempotency-Key, in the transaction of the effect. */
export type KeepAnswer<Answer> = (tx: Writer, answer: Answer, options?: KeepOptions) => Promise<unknown>

/** For calls that come without a key. */
export const keepNothing: KeepAnswer<unknown> = async () => {}
