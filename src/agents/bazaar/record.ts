import { digest } from '../../base/secrets.js'
import type { Writer } from '../../storage/storage.js'
import { sentAddress } from '../wallets/sent-authorization.js'
import { type DescribingPayment, describedResource, type ResourceDescription } from './description.js'
import {
  type ListedResourceRow,
  listedResources,
  listingRefusals,
  MOST_REFUSALS,
  MOST_RESOURCES,
  type WayToPay,
} from './resource-row.js'

/** What became of the description in a payment: the value of `bazaar` in the header `EXTENSION-RESPONSES`. */
export type Listing = { readonly status: 'success' } | { readonly status: 'rejected'; readonly rejectedReason: string }

/** The way in which a resource was paid. */
type PaidWay = Omit<WayToPay, 'extra'> & { readonly extra?: Readonly<Record<string, unknown>> | null | undefined }

/** How many ways to pay are shown of one resource. */
const MOST_ACCEPTS = 10

/**
 * Lists the resource that a settled payment describes. Undefined if it describes none. `ownUrl`: what is below it is not
 * listed. Call it in the transaction that settles.
 */
export async function recordResource(
  tx: Writer,
  payload: DescribingPayment,
  { due, at, ownUrl }: { due: PaidWay; at: number; ownUrl?: string },
): Promise<Listing | undefined> {
  const described = describedResource(payload, ownUrl)
  if (!described) return undefined
  if ('rejected' in described) {
    const [newest] = await tx.find(listingRefusals, { index: 'id', prefix: [], limit: 1, reverse: true })
    // A counter would have gaps, and keep fewer rows.
    const id = (newest?.id ?? 0) + 1
    const resource = payload.resource?.url.slice(0, 500) ?? null
    tx.put(listingRefusals, { id, resource, reason: described.rejected, created_at: at })
    for (const row of await tx.find(listingRefusals, { index: 'id', prefix: [], limit: 2 }))
      if (row.id <= id - MOST_REFUSALS) tx.remove(listingRefusals, row.id)
    return { status: 'rejected', rejectedReason: described.rejected }
  }
  await list(tx, described, { payload, due, at })
  return { status: 'success' }
}

async function list(
  tx: Writer,
  { resource, tool, type, extension }: ResourceDescription,
  { payload, due, at }: { payload: DescribingPayment; due: PaidWay; at: number },
): Promise<void> {
  const id = digest(`listed resource ${resource} ${tool ?? ''}`)
  const known = await tx.get(listedResources, id)
  const number = known?.number ?? (await nextNumber(tx))
  const { description, mimeType } = payload.resource ?? {}
  // Of `extra`, what a signature needs: the rest may be of any size.
  const { extra, ...terms } = due
  const { name, version } = extra ?? {}
  const way = { ...terms, asset: sentAddress(due.asset), payTo: sentAddress(due.payTo), extra: { name, version } }
  // Anybody can describe anybody's resource, and pay for it to themselves.
  if (known && known.accepts[0]?.payTo !== way.payTo) {
    const others = known.accepts.filter((other) => !isSameWay(other, way))
    return tx.put(listedResources, { ...known, accepts: [...others, way].slice(0, MOST_ACCEPTS) })
  }
  const row: ListedResourceRow = {
    ...{ id, number, type, resource, extension, updated_at: at },
    description: description?.slice(0, 1024) ?? null,
    mime_type: mimeType?.slice(0, 100) ?? null,
    accepts: [way, ...(known?.accepts ?? []).filter((other) => !isSameWay(other, way))].slice(0, MOST_ACCEPTS),
  }
  tx.put(listedResources, row)
  if (known) return
  // Retention leaves gaps, so each new one ends up to two.
  for (const first of await tx.find(listedResources, { index: 'byNumber', prefix: [], limit: 2 }))
    if (first.number <= number - MOST_RESOURCES) tx.remove(listedResources, first.id)
}

async function nextNumber(tx: Writer): Promise<number> {
  const [last] = await tx.find(listedResources, { index: 'byNumber', prefix: [], limit: 1, reverse: true })
  return (last?.number ?? 0) + 1
}

const isSameWay = (one: WayToPay, other: WayToPay): boolean =>
  (['scheme', 'network', 'asset', 'payTo'] as const).every((name) => one[name] === other[name])
