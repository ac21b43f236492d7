import { DAY } from '../../storage/retention.js'
import { collection } from '../../storage/storage.js'

/** How many resources of shops are listed. One more ends the listing of the one that was listed first. */
export const MOST_RESOURCES = 500
/** How many refusals are kept. */
export const MOST_REFUSALS = 50

/** One way to pay, as version 2 of x402 writes it (specification, section 5.1.2). */
export interface WayToPay {
  readonly scheme: string
  readonly network: string
  /** In the token's smallest unit. */
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  /** What a signature needs: the token's name and version. */
  readonly extra: { readonly name?: unknown; readonly version?: unknown }
}

/** A resource of a shop that somebody paid for, as its payment described it. The id is a digest of its URL and tool. */
export interface ListedResourceRow {
  readonly id: string
  /** Ascending, in the order of the first listings. */
  readonly number: number
  readonly type: 'http' | 'mcp'
  readonly resource: string
  readonly description: string | null
  readonly mime_type: string | null
  /** One for each network, token and payee that was paid. The payee of the first one was paid first, and describes the rest. */
  readonly accepts: readonly WayToPay[]
  /** `info`, `schema` and `routeTemplate`, as they came. */
  readonly extension: Readonly<Record<string, unknown>>
  readonly updated_at: number
}

export const listedResources = collection<ListedResourceRow>()(
  'listed_resources',
  { byNumber: { fields: ['number'], unique: true }, byTime: { fields: ['updated_at'] } },
  {
    growth: {
      ...{ by: 'whoever pays by x402 for a resource that describes itself', most: MOST_RESOURCES, per: 'the service' },
      beyond: 'oldest ends',
    },
    retention: { after: 'its last payment', keepMs: 30 * DAY, index: 'byTime' },
  },
)

/** Why a resource was not listed. The ids ascend. */
export interface ListingRefusalRow {
  readonly id: number
  readonly resource: string | null
  readonly reason: string
  readonly created_at: number
}

export const listingRefusals = collection<ListingRefusalRow>()(
  'listing_refusals',
  { byTime: { fields: ['created_at'] } },
  {
    growth: {
      ...{ by: 'whoever pays by x402 for a resource that describes itself', most: MOST_REFUSALS, per: 'the service' },
      beyond: 'oldest ends',
    },
    retention: { after: 'the payment', keepMs: 30 * DAY, index: 'byTime' },
  },
)
