import type { Writer } from '../storage/storage.js'

export interface KeepOptions {
  /** The answer counts only if the call breaks off before it keeps another. */
  readonly meanwhile?: boolean
}

/** Keeps what is answered under the caller's Idempotency-Key, in the transaction of the effect. */
export type KeepAnswer<Answer> = (tx: Writer, answer: Answer, options?: KeepOptions) => Promise<unknown>

/** For calls that come without a key. */
export const keepNothing = async <T>(_tx: Writer, answer: T): Promise<T> => answer
