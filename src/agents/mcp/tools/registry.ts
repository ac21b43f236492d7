import { problem } from '../../../base/problem.js'
import type { ServiceContext } from '../../../http/context.js'
import { fieldRefused } from '../../../http/fields/field.js'
import { allDesigned, designed } from '../../../http/fields/graded.js'
import { Amount, itemFields, lineOf, ServiceMethod, ServiceSchema, z } from '../../../http/fields/schema.js'
import { accountOf, updateAccount } from '../../../identity/accounts/account.js'
import {
  createCatalogItem,
  type ItemSeller,
  ownItem,
  readItemsTogether,
  type ShownItem,
  setArchived,
  showItem,
  updateCatalogItem,
} from '../../../market/catalog/item.js'
import { type CatalogItemRow, catalogItems } from '../../../market/catalog/item-row.js'
import { commodityOf } from '../../../money/commodities/commodity.js'
import { ownTwin } from '../../../money/twins/twin.js'
import type { PageBounds } from '../../../storage/page.js'
import type { Reader, Writer } from '../../../storage/storage.js'

const { name, description } = itemFields

const optional = allDesigned({
  /** Name for an account that has none yet. Otherwise buyers see the account's own name. */
  provider: z.optional(lineOf(255)),
  /** Default: POST. */
  service_method: z.optional(ServiceMethod),
  /** One of the account's twins. Default: a new one. */
  twin_id: z.optional(z.Id),
  external_twin_hostname: z.optional(z.Hostname),
  /** Default: no arguments. */
  input_schema: z.optional(ServiceSchema),
})

/** A tool as a seller describes it: a featured catalog item with other field names. */
export const NewTool = z.object({ ...optional, name, description, price_per_call: Amount, service_url: z.string() })

export const ToolChange = z.object({
  ...optional,
  name: z.optional(name),
  description: z.optional(description),
  price_per_call: designed(z.optional(Amount)),
  service_url: designed(z.optional(z.string())),
  active: designed(z.optional(z.boolean())),
})

type Seller = Omit<ItemSeller, 'actor'>
type ToolFields = z.output<typeof NewTool>

/** Throws what `createCatalogItem` throws, and `not_found`, `not_owner` for a hostname of a different account. */
export async function createTool(
  tx: Writer,
  { accountId, at, provider, ...fields }: ToolFields & Seller,
  service: ServiceContext,
): Promise<ShownTool> {
  await nameAccount(tx, { accountId, provider, at })
  const { name, description, price_per_call: price, service_url, service_method = 'POST', input_schema } = fields
  const item = await createCatalogItem(
    tx,
    {
      ...{ accountId, at, name, description, price, service_method },
      twin_id: await twinIdOf(tx, accountId, fields),
      external_endpoint: service_url,
      service_schema: input_schema ?? { type: 'object', properties: {} },
      featured: true,
    },
    service,
  )
  return showTool(tx, item)
}

async function nameAccount(tx: Writer, { accountId, provider, at }: Seller & Pick<ToolFields, 'provider'>) {
  const { name, business_name } = await accountOf(tx, accountId)
  if (provider !== undefined && name === null && business_name === null)
    await updateAccount(tx, accountId, { name: provider, at })
}

async function twinIdOf(
  tx: Reader,
  accountId: number,
  { twin_id, external_twin_hostname: hostname }: Pick<ToolFields, 'twin_id' | 'external_twin_hostname'>,
): Promise<number | undefined> {
  if (hostname === undefined) return twin_id
  const { id } = await ownTwin(tx, `account:${accountId}`, hostname)
  if (twin_id === undefined || twin_id === id) return id
  throw fieldRefused('external_twin_hostname', 'must be that of the twin that "twin_id" names')
}

async function ownTool(tx: Reader, accountId: number, id: number): Promise<CatalogItemRow> {
  const row = await ownItem(tx, accountId, id)
  if (!isTool(row)) throw problem('not_found')
  return row
}

const isTool = ({ featured, archived }: CatalogItemRow): boolean => featured && !archived

/** Changes a tool. Throws what `updateCatalogItem` and `createTool` throw. */
export async function updateTool(
  tx: Writer,
  { accountId, at, id, provider, ...fields }: z.output<typeof ToolChange> & Seller & { id: number },
  service: ServiceContext,
): Promise<ShownTool> {
  await ownTool(tx, accountId, id)
  await nameAccount(tx, { accountId, provider, at })
  const { name, description, price_per_call: price, service_url, service_method, input_schema, active } = fields
  const change = {
    ...{ name, description, price, service_method, active },
    twin_id: await twinIdOf(tx, accountId, fields),
    external_endpoint: service_url,
    service_schema: input_schema,
  }
  return showTool(tx, await updateCatalogItem(tx, { accountId, at, id, ...change }, service))
}

/** Archives the item of a tool. It can be restored as an item. Throws `not_found`. */
export async function deleteTool(tx: Writer, { accountId, at, id }: Seller & { id: number }): Promise<void> {
  await ownTool(tx, accountId, id)
  await setArchived(tx, { accountId, id, archived: true, at })
}

const MOST_READ = 1000

/** Returns an account's tools, newest first. A page may have fewer before the last. Throws `cursor_invalid`. */
export async function listTools(tx: Reader, accountId: number, { limit = 20, ...place }: PageBounds) {
  const found: CatalogItemRow[] = []
  let [read, last]: [number, number | null] = [0, null]
  for await (const row of newestOwn(tx, accountId, place)) {
    // The next page looks at this one.
    if (read++ === MOST_READ) break
    if (isTool(row)) found.push(row)
    if (found.length > limit) break
    last = row.id
  }
  const rows = found.slice(0, limit)
  const page = await readItemsTogether(tx, rows)
  const tools: ShownTool[] = []
  for (const row of rows)
    tools.push(await showTool(page, { ...(await showItem(page, row)), external_endpoint: row.external_endpoint }))
  if (found.length > limit) return { tools, next: tools.at(-1)?.id ?? null }
  // The next page goes on where this one has read to.
  return { tools, next: read > MOST_READ ? last : null }
}

async function* newestOwn(tx: Reader, accountId: number, { after: past, goesOn = false }: PageBounds) {
  const last = past === undefined || goesOn ? undefined : await tx.get(catalogItems, past)
  if (past !== undefined && !goesOn && last?.account_id !== accountId) throw problem('cursor_invalid')
  let after = past === undefined ? undefined : [accountId, past]
  for (;;) {
    const query = { index: 'byAccount', prefix: [accountId], limit: 100, reverse: true } as const
    const rows = await tx.find(catalogItems, { ...query, ...(after && { after }) })
    yield* rows
    const oldest = rows.at(-1)
    if (!oldest || rows.length < 100) return
    after = [accountId, oldest.id]
  }
}

export type ShownTool = Awaited<ReturnType<typeof showTool>>

async function showTool(tx: Reader, item: ShownItem) {
  const { id, name, description, seller, price, dq, hostname, service_method, service_schema } = item
  const { twin_id } = await commodityOf(tx, item.commodity_hash)
  const { active, created_at, updated_at, external_endpoint } = item
  return {
    ...{ id, name, description, provider: seller, price_per_call: price, dq },
    ...{ service_url: external_endpoint ?? '', service_method, twin_id, twin_hostname: hostname },
    ...{ input_schema: service_schema, active, created_at, updated_at },
  }
}
