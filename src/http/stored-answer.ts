import type { Writer } from '../storage/storage.js'

export interface StoreOptions {
  /** Used only if the call breaks off before it stores its final answer. */
  readonly provisional?: boolean
}

/**
 * Stores an answer under the caller's Idempotency-Key, if there is one, in the transaction that changes something.
 * Returns the answer. Throws `idempotency_in_progress`, which undoes the change, if another call has taken the key over.
 */
export type StoreAnswer<Answer> = <Given extends Answer>(
  tx: Writer,
  answer: Given,
  options?: StoreOptions,
) => Promise<Given>

/** Stores nothing: for calls without a key. Returns the answer. */
export const storeNothing = async <T>(_tx: Writer, answer: T): Promise<T> => answer
