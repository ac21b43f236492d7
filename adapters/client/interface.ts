/** The types of the client that are the same for every operation. */

/** How well the live service is known to have an operation. From strongest to weakest. */
export type Grade = 'documented' | 'observed' | 'named' | 'designed'

/** How to make a single call. */
export interface CallOptions {
  /** Ends the call. Its promise rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /**
   * Makes calls with the same key and fields one call. Default: each call has a key of its own, which all its attempts
   * send. Only for operations that accept `Idempotency-Key`. A strict service refuses keys. The client notices that, sends
   * none of its own, and repeats no attempt that may have changed something.
   */
  readonly idempotencyKey?: string | undefined
  /** How many times to repeat an attempt that could not be answered. Default: that of the client. */
  readonly retries?: number | undefined
  /** More headers, such as `X-Device-Token`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** The answer of a call, or its refusal. */
export type Outcome<Value, Problem> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly refusal: Problem }

/** An operation of the service. A refusal is thrown as a `Refusal`. */
export interface Operation<Arguments extends readonly unknown[], Answer, Problem> {
  (...call: Arguments): Promise<Answer>
  /** Calls the operation. Returns a refusal instead of throwing it. */
  try(...call: Arguments): Promise<Outcome<Answer, Problem>>
  /** Whether an error is a refusal of this operation. Its `code` then tells which fields it has. */
  refused(error: unknown): error is Problem
}

/** An operation that lists. Its answer is a page if it is awaited, and every item if it is iterated. */
export interface ListOperation<Arguments extends readonly unknown[], Page, Problem> {
  (...call: Arguments): List<Page>
  /** Reads one page. Returns a refusal instead of throwing it. */
  try(...call: Arguments): Promise<Outcome<Page, Problem>>
  /** Whether an error is a refusal of this operation. Its `code` then tells which fields it has. */
  refused(error: unknown): error is Problem
}

/** A list. `await` reads its first page, and `for await` reads every item, page by page. Nothing is read before that. */
export interface List<Page> extends PromiseLike<Page>, AsyncIterable<ItemOf<Page>> {
  /** Every page, from the first. */
  pages(): AsyncIterable<Page>
}

/** An item of a page: of its only array. */
export type ItemOf<Page> = {
  [Name in keyof Page]: Page[Name] extends readonly (infer Item)[] ? Item : never
}[keyof Page]

/** An operation that streams what is new until it is aborted. It connects again after a cut, and misses nothing. */
export type FollowOperation<Arguments extends readonly unknown[], Page> = (
  ...call: Arguments
) => AsyncIterable<ItemOf<Page> | EventsRemoved>

/** Instead of events that the service removed before this client could see them. */
interface EventsRemoved {
  readonly type: 'events.removed'
  readonly id: number
  /** The ids of the last event that the client saw, and of the last one that is gone. */
  readonly data: { readonly after: number; readonly until: number }
  readonly actor?: undefined
  readonly subject?: undefined
  readonly created_at?: undefined
}

/**
 * The codes that farthing may add to those of an operation: those of credentials, of decoding, of an `Idempotency-Key`, of
 * the queue and of the storage, and `unknown` for an answer without a code.
 */
export type CommonCode =
  | 'unknown'
  | 'agent_token_required'
  | 'authorization_missing'
  | 'bearer_required'
  | 'body_malformed'
  | 'body_too_large'
  | 'card_data_refused'
  | 'client_unknown'
  | 'content_type_refused'
  | 'credentials_missing'
  | 'cross_site'
  | 'evidence_refused'
  | 'field_invalid'
  | 'header_malformed'
  | 'host_refused'
  | 'idempotency_in_progress'
  | 'idempotency_key_invalid'
  | 'idempotency_mismatch'
  | 'idempotency_unreadable'
  | 'insufficient_scope'
  | 'internal_error'
  | 'no_such_path'
  | 'not_an_account'
  | 'not_found'
  | 'not_loaded'
  | 'origin_refused'
  | 'outcome_unknown'
  | 'overloaded'
  | 'page_refused'
  | 'path_malformed'
  | 'public_secret_unknown'
  | 'refresh_token_invalid'
  | 'sandbox_refused'
  | 'scheme_refused'
  | 'session_conflict'
  | 'sign_in_required'
  | 'storage_full'
  | 'storage_unavailable'
  | 'token_invalid'
  | 'too_many_failures'
  | 'too_many_new'
  | 'wrong_principal'
