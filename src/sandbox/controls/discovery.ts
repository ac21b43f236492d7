import { listingRefusals, MOST_REFUSALS } from '../../agents/bazaar/resource-row.js'
import type { Reader } from '../../storage/storage.js'

/** A resource that was not listed, and why. */
interface RefusedListing {
  resource: string | null
  reason: string
  /** ISO 8601. */
  at: string
}

/** The last refusals, the newest first. */
export async function refusedListings(tx: Reader): Promise<RefusedListing[]> {
  const newest = await tx.find(listingRefusals, { index: 'id', prefix: [], limit: MOST_REFUSALS, reverse: true })
  return newest.map(({ resource, reason, created_at }) => ({
    resource,
    reason,
    at: new Date(created_at).toISOString(),
  }))
}
