import type { Entry } from '../../onion/entry.js'

/** Why the service answered a request as it did, in sentences and as data. */
export interface Explanation {
  readonly entry: Entry
  /** One sentence: what the answer was, and the rule behind it. */
  readonly verdict: string
  /** What was so at that moment, and what to do about it. Plain English, one idea each. */
  readonly sentences: readonly string[]
  /** The same as data: ids, amounts, limits and times as they were when the request was answered. */
  readonly facts: FactsByName
  /** The call that fixes the refusal. Null if no call does. */
  readonly fix: Fix | null
  /** The page about the error code, or about the operation. */
  readonly docs: string
}

export type FactsByName = Readonly<Record<string, unknown>>

/** A call that makes a refused request succeed. */
export interface Fix {
  /** The operation that `example` calls. */
  readonly operation_id: string
  /** Ready to send, but for credentials and for values that the journal shows as `[redacted]`. */
  readonly example: ExampleCall
  /** What to send between `example` and `next`, if two calls fix it. `{name}` stands for the same as in `next`. */
  readonly between?: ExampleCall
  /**
   * What to send after it. Null if `example` replaces the refused request. `{name}` stands for the field or header of
   * this name in the answer to `example`.
   */
  readonly next: ExampleCall | null
}

/** A call as data. */
export interface ExampleCall {
  readonly method: string
  /** The path and the query, below the service's base URL. */
  readonly path: string
  /** Whose credentials to send: `account:1`, `user:2`, `agent:3`. Absent if the call needs none. */
  readonly as?: string
  readonly headers?: Readonly<Record<string, string>>
  /** JSON, or text for other media types. `[redacted]`: the same body again, which the journal does not keep. */
  readonly body?: unknown
}

/** What an explainer finds out about one refusal: facts by their names, and what fixes it, if anything does. */
export interface Finding {
  readonly fix?: Fix | '' | 0 | false | undefined
  readonly [fact: string]: unknown
}

/** Why an answer came about, in sentences and as data. */
export interface Explained {
  readonly sentences: readonly string[]
  readonly facts?: FactsByName
  readonly fix?: Fix | undefined
}
