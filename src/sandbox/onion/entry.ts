import type { Origin } from '../../http/incoming.js'

/** What the journal of a sandbox keeps of a request, a timer or a delivery. */
export interface Entry {
  /** The `X-Request-ID` of its answer. Later entries of one service have ids that sort after it. */
  readonly id: string
  /** When it began, by the service's clock. ISO 8601. */
  readonly at: string
  /** How long it took, in milliseconds. Null while it runs. */
  readonly ms: number | null
  readonly origin: Origin
  /** `createPayment`. For a timer or a delivery, its kind. Null for an unknown path. */
  readonly operation_id: string | null
  readonly method: string
  /** The path and the query. */
  readonly path: string
  /** Null while it runs, and if no answer left the service. */
  readonly status: number | null
  /** The code of a refusal. */
  readonly code?: string
  /** Who called: `account:1`, `user:2`, `agent:3` and so on. Null for calls without credentials. */
  readonly principal: string | null
  /** The address that called. Absent if the call did not come over a network. */
  readonly client_address?: string
  readonly request: JournalMessage
  readonly response: JournalMessage
  readonly storage: StorageCalls
  readonly caused: readonly Effect[]
  /** The entry that this one follows from: what set the timer, put the message into the outbox, or was replayed. */
  readonly caused_by?: string
  /** The W3C trace id of the request. */
  readonly trace?: string
  /** The id of the fault that changed it. */
  readonly fault?: string
}

/** One side of an exchange, without its secrets. */
export interface JournalMessage {
  readonly headers: Readonly<Record<string, string>>
  /** Text, cut at 16 KiB. Null if there is none, or if it is no text. */
  readonly body: string | null
  /** Whether `body` is cut. Absent if it is whole. */
  readonly cut?: true
}

/** How much an entry asked of the storage. */
export interface StorageCalls {
  readonly transactions: number
  readonly reads: number
  readonly writes: number
  /** How often a transaction's body ran again. */
  readonly retries: number
}

export type EffectKind = 'movement' | 'event' | 'mail' | 'push' | 'card' | 'upstream' | 'webhook' | 'timer' | 'entry'

/** Something that an entry caused. */
export interface Effect {
  readonly kind: EffectKind
  /** The id of the movement, event, message, timer or entry. For an upstream call, its method and URL. */
  readonly id: string | number
}
