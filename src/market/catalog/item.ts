import { problem } from '../../base/problem.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { Amount, ContentHash, Descriptor, itemFields, z } from '../../http/fields/schema.js'
import { readSellers, sellerOf } from '../../identity/accounts/account.js'
import { recordEvent } from '../../jobs/events/event.js'
import type { EventType } from '../../jobs/events/event-types.js'
import { commodityOf, createCommodity, readCommodities, updateCommodity } from '../../money/commodities/commodity.js'
import { firstQuantity, quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { createTwin } from '../../money/twins/twin.js'
import { allRows, getOrNotFound, mapInOrder, newestFirst, type PageBounds, ReadOnce } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { checkItemLimit } from '../plans/plan.js'
import { checkEndpoint } from './endpoint.js'
import { type CatalogItemRow, catalogItems, indexItem, itemWords, visibleItem } from './item-row.js'
import { checkSchema, type SellerSchema } from './schema.js'

/** What a seller may say of an item. Default: the digital quantity of the twin, the name in capitals, and a new twin. */
export const itemTerms = {
  dq: z.optional(ContentHash),
  descriptor: z.optional(Descriptor),
  twin_id: z.optional(z.Id),
  private: z.optional(z.boolean()),
  featured: z.optional(z.boolean()),
  active: z.optional(z.boolean()),
}
export const NewItem = z.object({ ...itemTerms, ...itemFields, price: Amount, external_endpoint: z.string() })
type ItemFields = z.output<typeof NewItem>
type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined }

export interface ItemSeller {
  readonly accountId: number
  /** Whoever makes the change. Default: the account itself. */
  readonly actor?: string | undefined
  readonly at: number
}

/** Creates an item with its commodity, and a twin if none is named. Throws `field_invalid`, `upstream_refused`, `plan_limit_reached`. */
export async function createCatalogItem(
  tx: Writer,
  { accountId, actor, at, ...fields }: ItemFields & ItemSeller,
  service: ServiceContext,
) {
  const { name, description, service_method, external_endpoint, service_schema } = fields
  checkSchema(service_schema)
  const calledAt = checkEndpoint(external_endpoint, service_schema, service)
  const active = fields.active ?? true
  if (active) await checkMayBeActive(tx, accountId)
  const owner = `account:${accountId}` as const
  const dq = (await quantityOf(tx, fields.dq ?? (await firstQuantity(tx)).id)).id
  const twinId = fields.twin_id ?? (await createTwin(tx, { owner, dq, at }, service)).id
  const descriptor = fields.descriptor ?? descriptorOf(name)
  const { hash } = await createCommodity(tx, { descriptor, dq, cost: fields.price, twinId, owner, at }, service)
  const row = withIndexFields(
    {
      id: await tx.nextId('catalog_items'),
      account_id: accountId,
      hash,
      name,
      tool_name: await freeToolName(tx, accountId, name),
      description,
      service_method,
      external_endpoint,
      service_schema,
      active,
      private: fields.private ?? false,
      featured: fields.featured ?? false,
      archived: false,
      created_at: at,
      updated_at: at,
    },
    calledAt,
  )
  tx.put(catalogItems, row)
  await indexItem(tx, row, [])
  await recordItemEvent(tx, row, { type: 'catalog.created', actor, at })
  return showOwnItem(tx, row)
}

/** The first item with a name gets the plain tool name, later ones get `_2`, `_3`. */
async function freeToolName(tx: Reader, accountId: number, name: string): Promise<string> {
  for (const free of toolNamesOf(name)) {
    const [taken] = await tx.find(catalogItems, { index: 'byToolName', prefix: [accountId, free], limit: 1 })
    if (!taken) return free
  }
  throw new Error('unreachable: numbers do not end')
}

const checkMayBeActive = (tx: Reader, accountId: number): Promise<void> =>
  checkItemLimit(tx, accountId, () => countActiveItems(tx, accountId))

export async function countActiveItems(tx: Reader, accountId: number): Promise<number> {
  let count = 0
  for await (const _ of allRows(tx, catalogItems, { index: 'activeByAccount', prefix: [accountId] })) count++
  return count
}

const descriptorOf = (name: string): string =>
  name
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]+/gu, '.')
    .replace(/^\.|\.$/g, '')
    .slice(0, 255) || 'ITEM'

const withIndexFields = (
  row: Omit<CatalogItemRow, 'listed_at' | 'called_at' | 'idle_at' | 'active_of'>,
  calledAt: string | null,
): CatalogItemRow => ({
  ...row,
  listed_at: row.active && !row.private && !row.archived ? row.created_at : null,
  called_at: row.active && !row.archived ? calledAt : null,
  idle_at: row.active && !row.archived ? null : calledAt,
  active_of: row.active ? row.account_id : null,
})

function recordItemEvent(
  tx: Writer,
  { id, account_id, name, hash }: CatalogItemRow,
  { actor, data, ...told }: { type: EventType; actor?: string | undefined; at: number; data?: object },
): Promise<unknown> {
  const owner = `account:${account_id}` as const
  const item = { subject: `catalog_item:${id}`, data: { name, hash, ...data } }
  return recordEvent(tx, { ...told, ...item, owners: [owner], actor: actor ?? owner })
}

export const ownItem = (tx: Reader, accountId: number, id: number): Promise<CatalogItemRow> =>
  getOrNotFound(tx, catalogItems, id, { account_id: accountId })

/** Changes an item. Throws what `createItem` throws, and `not_found`, `item_archived`. */
export async function updateCatalogItem(
  tx: Writer,
  { accountId, actor, at, id, ...change }: Optional<ItemFields> & ItemSeller & { readonly id: number },
  service: ServiceContext,
) {
  const was = await ownItem(tx, accountId, id)
  if (was.archived) throw problem('item_archived')
  const { price: cost, dq, descriptor, twin_id: twinId, ...own } = change
  const given = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined))
  const renamed: CatalogItemRow = { ...was, ...given, updated_at: at }
  // Agents know the tool by its name, so a name that still fits stays, and no tool gets a name that another had.
  const isSame = fitsToolName(was.tool_name, renamed.name)
  const changed = isSame ? renamed : { ...renamed, tool_name: await freeToolName(tx, accountId, renamed.name) }
  // An older schema that is no longer accepted stays, so that the rest of the item can be changed.
  if (change.service_schema !== undefined) checkSchema(changed.service_schema)
  const calledAt = checkEndpoint(changed.external_endpoint, changed.service_schema, service)
  if (changed.active && !was.active) await checkMayBeActive(tx, accountId)
  const before = await itemWords(tx, was)
  await updateCommodity(tx, await commodityOf(tx, was.hash), { cost, dq, descriptor, twinId })
  const row = withIndexFields(changed, calledAt)
  tx.put(catalogItems, row)
  await indexItem(tx, row, before)
  const names = Object.entries(change).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  await recordItemEvent(tx, row, { type: 'catalog.updated', actor, at, data: { changed: names } })
  return showOwnItem(tx, row)
}

/** Archives or restores an item. It is inactive afterwards. Throws `not_found`, `item_archived`, `item_not_archived`. */
export async function setArchived(
  tx: Writer,
  { accountId, id, archived, actor, at }: ItemSeller & { readonly id: number; readonly archived: boolean },
) {
  const was = await ownItem(tx, accountId, id)
  if (was.archived === archived) throw problem(archived ? 'item_archived' : 'item_not_archived')
  const row = withIndexFields({ ...was, archived, active: false, updated_at: at }, was.called_at ?? was.idle_at)
  tx.put(catalogItems, row)
  await indexItem(tx, row, await itemWords(tx, was))
  await recordItemEvent(tx, row, { type: archived ? 'catalog.archived' : 'catalog.restored', actor, at })
  return showOwnItem(tx, row)
}

export async function recordParameterChange(tx: Writer, row: CatalogItemRow, at: number): Promise<void> {
  tx.put(catalogItems, { ...row, updated_at: at })
  await recordItemEvent(tx, row, { type: 'catalog.updated', at, data: { changed: ['parameters'] } })
}

/** Returns an item as everyone sees it, or as its own account does. Throws `not_found`, also for one private to others. */
export async function readCatalogItem(tx: Reader, id: number, accountId: number | undefined): Promise<ShownItem> {
  const row = await visibleItem(tx, id, accountId)
  return row.account_id === accountId ? showOwnItem(tx, row) : showItem(tx, row)
}

/** Returns every item of an account, newest first. Throws `cursor_invalid`. */
export async function listOwnCatalogItems(tx: Reader, accountId: number, place: PageBounds) {
  const { rows, next } = await newestFirst(tx, catalogItems, { index: 'byAccount', prefix: [accountId], ...place })
  const page = await readItemsTogether(tx, rows)
  return { items: await mapInOrder(rows, (row) => showOwnItem(page, row)), next }
}

/** Returns a reader that has already read what `showItem` needs: commodities, digital quantities and sellers. */
export async function readItemsTogether(tx: Reader, rows: readonly CatalogItemRow[]): Promise<ReadOnce> {
  const page = new ReadOnce(tx)
  await readSellers(page, await readCommodities(page, rows))
  return page
}

export async function showItem(tx: Reader, row: CatalogItemRow): Promise<ShownItem> {
  const commodity = await commodityOf(tx, row.hash)
  const { dq, descriptor, hostname } = commodity
  const price = toAmount(commodity.cost, (await quantityOf(tx, dq)).decimals)
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    price,
    dq,
    commodity_hash: row.hash,
    commodity_name: row.name,
    commodity_description: row.description,
    commodity_cost: price,
    descriptor,
    hostname,
    seller: await sellerOf(tx, commodity),
    service_method: row.service_method,
    service_schema: row.service_schema,
    active: row.active,
    private: row.private,
    featured: row.featured,
    archived: row.archived,
    created_at: seconds(row.created_at),
    updated_at: seconds(row.updated_at),
  }
}

const showOwnItem = async (tx: Reader, row: CatalogItemRow): Promise<ShownItem> => ({
  ...(await showItem(tx, row)),
  external_endpoint: row.external_endpoint,
})

export interface ShownItem {
  id: number
  name: string
  description: string
  price: number
  dq: string
  commodity_hash: string
  commodity_name: string
  commodity_description: string
  commodity_cost: number
  descriptor: string
  hostname: string
  seller: string
  service_method: CatalogItemRow['service_method']
  service_schema: SellerSchema
  active: boolean
  private: boolean
  featured: boolean
  archived: boolean
  /** Only for its own account. */
  external_endpoint?: string
  created_at: number
  updated_at: number
}

/** Names of the tools that every MCP server of the service has. No item can have one of them. */
export const reservedToolNames: ReadonlySet<string> = new Set([
  ...['agent_wallet_info', 'check_wallet_balance', 'fund_primary_wallet', 'transfer_to_agent'],
  ...['catalog_search', 'agent_checkout', 'guest_checkout', 'purchase_history'],
  ...['request_approval', 'approval_status', 'choose_account'],
  ...['cart_add', 'cart_view', 'cart_remove', 'cart_pay'],
  ...['twin_status', 'create_twin', 'list_my_tools', 'test_tool'],
  ...['register_tool', 'update_tool', 'deactivate_tool', 'request_account_change', 'apply_account_change'],
])

/** Leaves room for a number within the 64 characters that models accept. */
const MAX_LENGTH = 58

/** Converts a name to snake_case without accents. A name without Latin letters or digits becomes `item`. */
export const snakeCase = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, MAX_LENGTH)
    .replace(/^_|_$/g, '') || 'item'

/** Yields the tool names that an item may have: its name in snake_case, then with `_2`, `_3`. Skips reserved names. */
export function* toolNamesOf(name: string): Generator<string> {
  const own = snakeCase(name)
  if (!reservedToolNames.has(own)) yield own
  for (let n = 2; ; n++) if (!reservedToolNames.has(`${own}_${n}`)) yield `${own}_${n}`
}

export function fitsToolName(toolName: string, name: string): boolean {
  const own = snakeCase(name)
  return toolName === own || (toolName.startsWith(`${own}_`) && /^[1-9]\d*$/.test(toolName.slice(own.length + 1)))
}
