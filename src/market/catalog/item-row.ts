import { problem } from '../../base/problem.js'
import { getOrNotFound } from '../../storage/existing.js'
import { countedDaily } from '../../storage/growth.js'
import { collection, type Reader } from '../../storage/storage.js'
import type { SellerSchema } from './schema.js'

/** Something that is sold to agents. Its commodity has its price, twin and descriptor. */
export interface CatalogItemRow {
  readonly id: number
  readonly account_id: number
  /** The hash of its commodity. */
  readonly hash: string
  readonly name: string
  /** The item's name as a tool of its account's MCP server. Unique within the account. */
  readonly tool_name: string
  readonly description: string
  readonly service_method: 'GET' | 'POST' | 'PUT'
  /** May contain placeholders. */
  readonly external_endpoint: string
  readonly service_schema: SellerSchema
  readonly active: boolean
  /** Only the account's own MCP server sells it. */
  readonly private: boolean
  readonly featured: boolean
  readonly archived: boolean
  /** When it was created, if the catalog lists it. */
  readonly listed_at: number | null
  /** The URL of its endpoint, if it is active and has no placeholders. */
  readonly called_at: string | null
  /** The same URL, while the item is inactive or archived. */
  readonly idle_at: string | null
  /** The account's id, if the item is active. */
  readonly active_of: number | null
  readonly created_at: number
  readonly updated_at: number
}

export const catalogItems = collection<CatalogItemRow>()(
  'catalog_items',
  {
    byAccount: { fields: ['account_id'] },
    byToolName: { fields: ['account_id', 'tool_name'], unique: true },
    byCommodity: { fields: ['hash'], unique: true },
    listed: { fields: ['listed_at'] },
    listedByAccount: { fields: ['account_id', 'listed_at'] },
    byEndpoint: { fields: ['called_at'] },
    activeByEndpoint: { fields: ['called_at', 'account_id'] },
    idleByEndpoint: { fields: ['idle_at', 'account_id'] },
    activeByAccount: { fields: ['active_of'] },
  },
  {
    growth: countedDaily('an account, by createCatalogItem or createTool. Its plan limits the active ones'),
    retention: { forever: 'Receipts name it, and its owner can restore it.' },
  },
)

/** Returns an item that everyone sees, or that is private to the account `within`. Throws `not_found`. */
export async function visibleItem(tx: Reader, id: number, within: number | undefined): Promise<CatalogItemRow> {
  const row = await getOrNotFound(tx, catalogItems, id)
  if (row.private && row.account_id !== within) throw problem('not_found')
  return row
}
