/**
 * What one run did, for the judge. A recorder makes it from a journal and a ledger, or from what a proxy saw. It holds no
 * sentences.
 */
export interface RunRecord {
  /** In the order in which they began. */
  readonly calls: readonly RehearsedCall[]
  readonly payments: readonly RehearsedPayment[]
  /** What the application says that it handed over. */
  readonly deliveries: readonly RehearsedDelivery[]
  readonly ended: RunEnd
  /** What the application printed. */
  readonly output: string
  /** Texts that may be in no log. */
  readonly secrets: readonly string[]
}

export interface RunEnd {
  readonly isOk: boolean
  /** What the run returned or printed, as text. Undefined if it says nothing. */
  readonly result: string | undefined
  /** Why it failed. */
  readonly failure?: string | undefined
}

/** `unknown`: the caller cannot know what happened, because the answer was lost, late, or says to try again. */
export type CallOutcome = 'done' | 'pending' | 'refused' | 'unknown'

export interface RehearsedCall {
  readonly id: string
  readonly operation: string
  readonly method: string
  readonly path: string
  /** What it is about, without the price: calls for the same thing have the same. */
  readonly item: string
  readonly payer: string | null
  /** What tells the service that two calls are one: `key:…`, `payment-identifier:…`, `eip3009:…`. */
  readonly identifiers: readonly string[]
  /** Whether it carries a token or a session, which may expire. */
  readonly isSigned: boolean
  /** Whether it says which price its caller saw. */
  readonly statesPrice: boolean
  /** Prices in its answer, by the hash or id of what they are for. */
  readonly shownPrices: Readonly<Record<string, number>>
  /** Ids of payments in its answer. */
  readonly shownPayments: readonly string[]
  readonly outcome: CallOutcome
  /** Null if no answer left the service. */
  readonly status: number | null
  readonly code?: string | undefined
  /** Whether the answer repeats an earlier one, or refuses a key that was used for something else. */
  readonly isKeySpent: boolean
  /** Whether the status says that it worked, and the body that it did not. */
  readonly contradicts: boolean
  /** The fault that happened to it. */
  readonly fault?: string | undefined
  /** What was sent, if a proxy was asked to keep it. */
  readonly messages?: KeptMessages | undefined
}

export interface KeptMessages {
  readonly request: string
  readonly response: string
}

export interface RehearsedPayment {
  readonly id: string
  /** The call that made it. */
  readonly call: string | undefined
  readonly item: string
  readonly payer: string | null
  /** Smallest units. */
  readonly amount: string
  readonly status: 'pending' | 'held' | 'posted' | 'reversed' | 'failed'
}

export interface RehearsedDelivery {
  readonly item: string | undefined
}
