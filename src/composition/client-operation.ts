type Grade = 'documented' | 'observed' | 'named' | 'designed'

/** What a client must know about an operation. What is absent is the usual case. */
export interface ClientOperation {
  readonly id: string
  /** Absent: `GET`. */
  readonly method?: 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  /** The first is the default. Empty for paths without a version. Absent: only `v4`. */
  readonly versions?: readonly string[]
  /** Its grade, or that of each version. Absent: `designed`. */
  readonly evidence?: Grade | Readonly<Partial<Record<string, Grade>>>
  /** Where its fields go. Absent if it has none. */
  readonly takes?: 'query' | 'body' | 'text'
  /** The credentials that it reads: none, or client credentials. Absent: an access token or a session, and none for a control. */
  readonly reads?: 'nothing' | 'client'
  /** Whether it accepts an `Idempotency-Key`. */
  readonly idempotent?: true
  /** The field that asks for the next page, if it answers with one page of a list. */
  readonly pages?: 'after' | 'offset'
  /** Whether it can also stream what is new. */
  readonly follows?: true
  /** Whether the client hands over its answers as they are. */
  readonly raw?: true
  /** The media type of its answers, if it is not JSON. */
  readonly accept?: string
  /** The fields with a grade of their own, by their names. */
  readonly graded?: Readonly<Record<string, Grade>>
}
