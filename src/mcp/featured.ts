import { type CatalogItemRow, catalogItems, showItem } from '../catalog/item.js'
import type { ServiceSchema } from '../catalog/schema.js'
import { type DigitalQuantityRow, quantityOf } from '../digital-quantities/digital-quantity.js'
import { removeHidden } from '../hidden.js'
import { ReceiptShape } from '../http/schema.js'
import { formatAmount, toUnits } from '../ledger/amount.js'
import { problem } from '../problem.js'
import { buy } from '../purchases/buy.js'
import { allRows } from '../storage/page.js'
import type { Reader } from '../storage/storage.js'
import { givenApproval } from './given-approval.js'
import { plainLine, plainSchema } from './plain.js'
import { countSales } from './sales.js'
import { annotationsOf, answersOf, type Json, type Tool } from './tool.js'

/** Leaves room for a number among the 64 characters that models take. */
const LONGEST = 58

/** A name in snake_case, of the letters that tools are named with: accents go; what is left without any is an `item`. */
export const snakeCase = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .slice(0, LONGEST)
    .replace(/^_+|_+$/g, '') || 'item'

/**
 * What an account's items are called as tools, by their ids: the oldest keeps a name, later ones get `_2`, `_3`. All that it
 * ever had count, so that none is called otherwise when another comes off the list.
 */
export function toolNames(
  items: Iterable<Pick<CatalogItemRow, 'id' | 'name'>>,
  reserved: Iterable<string>,
): ReadonlyMap<number, string> {
  const taken = new Set(reserved)
  const names = new Map<number, string>()
  for (const { id, name } of items) {
    const own = snakeCase(name)
    let free = own
    for (let n = 2; taken.has(free); n++) free = `${own}_${n}`
    taken.add(free)
    names.set(id, free)
  }
  return names
}

export const isFeatured = ({ active, featured, archived }: CatalogItemRow): boolean => active && featured && !archived

/** An account's featured items as tools, in the order that they were made in. */
export async function featuredTools(tx: Reader, accountId: number, reserved: Iterable<string>): Promise<Tool[]> {
  const items: CatalogItemRow[] = []
  for await (const row of allRows(tx, catalogItems, { index: 'byAccount', prefix: [accountId] })) items.push(row)
  const names = toolNames(items, reserved)
  const tools: Tool[] = []
  for (const row of items) if (isFeatured(row)) tools.push(await itemTool(tx, row, names.get(row.id) as string))
  return tools
}

const outputSchema = answersOf(ReceiptShape)

async function itemTool(tx: Reader, row: CatalogItemRow, name: string): Promise<Tool> {
  const { id, price, dq, seller, description } = await showItem(tx, row)
  const title = plainLine(row.name)
  const tail = priceTail(plainLine(seller), price, await quantityOf(tx, dq))
  const { schema, approval } = withApproval(row.service_schema)
  return {
    name,
    title,
    description: [removeHidden(description).replace(/\[(?=\s*provider\s*:)/gi, '('), tail].filter(Boolean).join('\n'),
    inputSchema: schema,
    outputSchema,
    annotations: annotationsOf(title, { spends: true, reachesOut: true }),
    _meta: { 'farthing/catalog_item_id': id },
    async call(given, visit) {
      const { agent, within, service } = visit
      const { [approval]: named, ...args } = given
      const approvalId = await givenApproval(visit, approvalIn(approval, named))
      const order = {
        itemId: id,
        args,
        party: agent,
        approvalId,
        within,
        admit: countSales(visit),
      }
      return buy(order, service, async (_tx, answer) => answer)
    },
  }
}

/** Many clients send null for what is left out. Throws `field_invalid`. */
function approvalIn(field: string, named: unknown): string | undefined {
  if (named === undefined || named === null) return undefined
  if (typeof named === 'string') return named
  throw problem('field_invalid', { detail: `"${field}" must be the id of an approval, or absent.`, fields: { field } })
}

/** As clients read it back (clients.md 15): `[Provider: NAME | Price: 0.010 USD TDN/call]`, three decimals at least. */
function priceTail(provider: string, price: number, { name, decimals }: DigitalQuantityRow): string {
  const units = toUnits(price, decimals) * 10n ** BigInt(Math.max(0, 3 - decimals))
  const shown = formatAmount(units, Math.max(3, decimals))
  return `[Provider: ${provider.replace(/[[\]|]/g, ' ')} | Price: ${shown} ${plainLine(name)}/call]`
}

/**
 * An item's schema with one more argument, for the approval: `approval_id`, or, where the item has an argument of that name
 * itself, `purchase_approval_id`, with underscores before it until that is free.
 */
export function withApproval(own: ServiceSchema): { schema: Json; approval: string } {
  const schema = plainSchema(own) as Json
  const properties = (schema.properties ?? {}) as Json
  let approval = 'approval_id'
  if (Object.hasOwn(properties, approval)) approval = 'purchase_approval_id'
  while (Object.hasOwn(properties, approval)) approval = `_${approval}`
  const description =
    'No argument of the service: the id of an approval that the user gave for exactly this call, as request_approval gave it.'
  return { schema: { ...schema, properties: { ...properties, [approval]: { type: 'string', description } } }, approval }
}
