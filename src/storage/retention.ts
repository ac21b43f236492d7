import type { Claimant } from './claim.js'
import type { Key, Reader, Row, Writer } from './storage.js'

const HOUR = 3_600_000
export const DAY = 24 * HOUR

/** The periods that options set. `Limits` in `src/http/context.ts` holds them. */
export interface RetentionLimits {
  /** How long an event can be read, in days. Default: 90. */
  readonly eventDays: number
  /** How long a receipt shows the answer that was bought, in days. Default: 90. */
  readonly answerDays: number
  /** How long the outbox keeps a message that was delivered or given up, in days. Default: 90. */
  readonly outboxDays: number
  /** How many messages the outbox keeps in all. Pending ones always stay. Default: 10,000. */
  readonly outboxMessages: number
}

export const defaultRetention: RetentionLimits = {
  eventDays: 90,
  answerDays: 90,
  outboxDays: 90,
  outboxMessages: 10_000,
}

/** What a rule knows when it judges a row. */
export interface Sweeping extends Claimant {
  /** Unix milliseconds. */
  readonly at: number
  readonly limits: RetentionLimits
}

/**
 * How long a collection keeps its rows. Every collection has one of three rules: its rows stay `forever`, they stay
 * `until` a feature removes them, or the sweep removes them some time after they end. `docs/retention.md` lists the
 * rules.
 */
export type Retention<R extends Row, I extends string = string> =
  | { readonly forever: string }
  | { readonly until: string }
  | SweptRule<R, I>

export interface SweptRule<R extends Row, I extends string = string> {
  /** The event that ends a row, in words. The row stays for `keepMs` after it. */
  readonly after: string
  /** In milliseconds, or an option in days. */
  readonly keepMs: number | 'eventDays' | 'answerDays' | 'outboxDays'
  /** An index in the order of the ends. Its fields are those of the prefixes, and then the time of the end. */
  readonly index: I | 'id'
  /** The parts of the index that have rows that end. Default: all of it. */
  readonly prefixes?: readonly (readonly Key[])[]
  /** When each row ended. Undefined for one that has not. Default: the field of the index after the prefix. */
  endsOf?(tx: Reader, rows: readonly R[]): Promise<readonly (number | undefined)[]>
  /** Which rows stay although their time is over, in words. */
  readonly unless?: string
  /** Returns the ids of the rows that stay. */
  spared?(tx: Reader, rows: readonly R[], sweeping: Sweeping): Promise<ReadonlySet<Key>>
  /** How many rows one transaction reads, if they are large. */
  readonly rowsAtOnce?: number
  /** An option: about how many rows stay. Older ones go early. For ids that are ascending numbers. */
  readonly mostRows?: 'outboxMessages'
  /** The row with the highest id stays, so that the collection shows how far it goes. */
  readonly keepsNewest?: true
  /** What is removed together with a row. */
  readonly belongings?: {
    /** In words. */
    readonly are: string
    /** About how many rows belong to one. */
    readonly most: number
    remove(tx: Writer, row: R): Promise<void>
  }
}

export const isSwept = <R extends Row>(rule: Retention<R> | undefined): rule is SweptRule<R> =>
  rule !== undefined && 'after' in rule

/** How long a rule keeps a row after its end, in milliseconds. */
export const keptFor = ({ keepMs }: Pick<SweptRule<Row>, 'keepMs'>, limits: RetentionLimits): number =>
  typeof keepMs === 'number' ? keepMs : limits[keepMs] * DAY
