import type { Writer } from '../storage/storage.js'

export interface StoreOptions {
  /** Used only if the call breaks off before it stores its final answer. */
  readonly provisional?: boolean
}

/** Stores an answer under the caller's Idempotency-Key, in the transaction that changes something. */
export type StoreAnswer<Answer> = (tx: Writer, answer: Answer, options?: StoreOptions) => Promise<unknown>

/** Stores nothing: for calls without a key. Returns the answer. */
export const storeNothing = async <T>(_tx: Writer, answer: T): Promise<T> => answer
