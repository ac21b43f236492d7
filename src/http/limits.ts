import { defaultGrowth, type GrowthLimits } from '../storage/growth.js'
import { defaultRetention, type RetentionLimits } from '../storage/retention.js'

/** What the service allows of everything that callers can make more of. */
export interface Limits extends RetentionLimits, GrowthLimits {
  /** The largest request body, in bytes. Default: 1 MiB. */
  readonly bodyBytes: number
  /**
   * How many bytes of bodies may be in memory at a time, of all requests. A network may hold as many as it leaves to
   * others. Beyond that, whoever holds most is turned away. Default: 32 MiB.
   */
  readonly bodiesBytes: number
  /** The largest snapshot that a sandbox accepts, in bytes. Default: 1 GiB. */
  readonly snapshotBytes: number
  /** The largest CSV of a binder that a sandbox imports, in bytes. Default: 256 MiB, about a million rows. */
  readonly binderBytes: number
  /** How long a payment's nonce can be validated, in seconds. Default: 15 minutes. */
  readonly nonceSeconds: number
  /** How long an upstream service may take for its whole answer, in milliseconds. Default: 30 seconds. */
  readonly upstreamMs: number
  /** The largest decoded body that an upstream service may answer with, in bytes. Default: 5 MiB. */
  readonly upstreamBytes: number
  /** The largest amount of one charge of a card, in the digital quantity. Default: 10,000. */
  readonly cardAmount: number
  /** How long the card processor may take for a charge, in milliseconds. Default: 20 seconds. */
  readonly cardMs: number
  /**
   * How long closing the service waits for deliveries, upstream calls and streams, in milliseconds. The next start
   * resumes or undoes what is still under way. Default: 10 seconds.
   */
  readonly closeMs: number
  /** How many requests may wait for their first transaction. More are turned away, by a server a few at a time. Default: 1,000. */
  readonly queue: number
  /** How many unused sign-in codes one address may get within 15 minutes. Default: 5. */
  readonly codes: number
  /** How many calls that cost their payer nothing one payer may make at one host within 15 minutes. Default: 300. */
  readonly freeCalls: number
}

export const defaultLimits: Limits = {
  bodyBytes: 1_048_576,
  bodiesBytes: 33_554_432,
  snapshotBytes: 1_073_741_824,
  binderBytes: 268_435_456,
  nonceSeconds: 15 * 60,
  cardAmount: 10_000,
  cardMs: 20_000,
  upstreamMs: 30_000,
  upstreamBytes: 5_242_880,
  queue: 1000,
  codes: 5,
  freeCalls: 300,
  closeMs: 10_000,
  ...defaultRetention,
  ...defaultGrowth,
}
