import { fieldRefused } from '../../../http/fields/field.js'
import { QuotedAmount, ReceiptShape, z } from '../../../http/fields/schema.js'
import { readItemsTogether, showItem } from '../../../market/catalog/item.js'
import { type CatalogItemRow, catalogItems } from '../../../market/catalog/item-row.js'
import type { SellerSchema } from '../../../market/catalog/schema.js'
import { createPurchase } from '../../../market/purchases/fulfilment.js'
import type { PriceQuote } from '../../../money/commodities/commodity.js'
import { type DigitalQuantityRow, quantityOf } from '../../../money/digital-quantities/digital-quantity.js'
import { formatAmount, toUnits } from '../../../money/ledger/amount.js'
import type { Reader } from '../../../storage/storage.js'
import { isObject } from '../../../storage/unknown.js'
import { plainLine, plainSchema, withoutPriceLookalikes } from './plain.js'
import { sellCall } from './sale.js'
import { annotationsOf, type Json, soldAnswersOf, type Tool } from './tool.js'
import { countSales, givenApproval } from './visit.js'

const isFeatured = ({ active, featured, archived }: CatalogItemRow): boolean => active && featured && !archived

/** How many of an account's items are looked at for its tools, from the newest on. */
const MOST_LOOKED_AT = 1000

export async function featuredTools(tx: Reader, accountId: number): Promise<Tool[]> {
  const newest = { index: 'byAccount', prefix: [accountId], limit: MOST_LOOKED_AT, reverse: true } as const
  const featured = (await tx.find(catalogItems, newest)).filter(isFeatured).reverse()
  const page = await readItemsTogether(tx, featured)
  const tools: Tool[] = []
  for (const row of featured) tools.push(await itemTool(page, row))
  return tools
}

export async function featuredTool(tx: Reader, accountId: number, name: string): Promise<Tool | undefined> {
  const [row] = await tx.find(catalogItems, { index: 'byToolName', prefix: [accountId, name], limit: 1 })
  return row && isFeatured(row) ? itemTool(tx, row) : undefined
}

const outputSchema = soldAnswersOf(ReceiptShape)

async function itemTool(tx: Reader, row: CatalogItemRow): Promise<Tool> {
  const { id, price, dq, seller, description } = await showItem(tx, row)
  const title = plainLine(withoutPriceLookalikes(row.name))
  const tail = priceTail(seller, price, await quantityOf(tx, dq))
  const { schema, approval, quote } = withPayment(row.service_schema, { price, dq })
  return {
    name: row.tool_name,
    title,
    description: [withoutPriceLookalikes(description), tail].filter(Boolean).join('\n'),
    inputSchema: schema,
    outputSchema,
    annotations: annotationsOf(title, { spends: true, reachesOut: true }),
    _meta: { 'farthing/catalog_item_id': id },
    async call(given, visit) {
      const { agent, within, service, hops } = visit
      const { [approval]: named, [quote]: seen, ...args } = given
      const approvalId = await givenApproval(visit, approvalIn(approval, named))
      const order = { itemId: id, args, party: agent, approvalId, seen: seenIn(quote, seen) }
      return createPurchase({ ...order, within, hops, admit: countSales(visit) }, service)
    },
    async sell(given, visit, client) {
      const { [approval]: named, [quote]: seen, ...args } = given
      // With an approval, its user's wallet pays.
      if (approvalIn(approval, named) !== undefined) return undefined
      return sellCall({ name: row.tool_name, itemId: id, args, seen: seenIn(quote, seen) ?? {} }, client, visit)
    },
  }
}

/** Null counts as missing, because many clients send it. Throws `field_invalid`. */
function approvalIn(field: string, named: unknown): string | undefined {
  if (named === undefined || named === null) return undefined
  if (typeof named === 'string') return named
  throw fieldRefused(field, 'must be the id of an approval', ' Leave it out if you have none.')
}

function seenIn(field: string, named: unknown): PriceQuote | undefined {
  if (named === undefined || named === null) return undefined
  const { success, data } = Seen.safeParse(named)
  if (success) return data
  throw fieldRefused(field, 'must be the {price, dq} of this tool', ' Leave it out to pay any price.')
}

const Seen = z.object({ price: QuotedAmount, dq: z.string() })

/** Clients parse it: `[Provider: NAME | Price: 0.010 USD TDN/call]`, with at least three decimals. */
function priceTail(provider: string, price: number, { name, decimals }: DigitalQuantityRow): string {
  const units = toUnits(price, decimals) * 10n ** BigInt(Math.max(0, 3 - decimals))
  const shown = formatAmount(units, Math.max(3, decimals))
  return `[Provider: ${inTail(provider)} | Price: ${shown} ${inTail(name)}/call]`
}

const inTail = (name: string): string => withoutPriceLookalikes(plainLine(name).replace(/[[\]|]/g, ' '))

/**
 * Adds two arguments to an item's schema: `approval_id`, and `quote` for the price that the agent saw. If the item has
 * such an argument itself, they are `purchase_approval_id` and `purchase_quote`, with underscores in front until they
 * are free.
 */
export function withPayment(own: SellerSchema, { price, dq }: { readonly price: number; readonly dq: string }) {
  const schema = plainSchema(own)
  const properties = isObject(schema.properties) ? schema.properties : {}
  const approval = freeName('approval_id', properties)
  const quote = freeName('quote', properties)
  const added = {
    [approval]: {
      type: 'string',
      description: 'Not sent to the service. The id of an approval for exactly this call, from request_approval.',
    },
    [quote]: {
      type: 'object',
      description:
        'Not sent to the service. The price you saw. Send these values unchanged: if the price has changed, nothing is bought.',
      properties: { price: { type: 'number', const: price }, dq: { type: 'string', const: dq } },
      required: ['price', 'dq'],
    },
  }
  return { schema: { ...schema, properties: { ...properties, ...added } }, approval, quote }
}

function freeName(name: string, taken: Json): string {
  let free = name
  if (Object.hasOwn(taken, free)) free = `purchase_${name}`
  while (Object.hasOwn(taken, free)) free = `_${free}`
  return free
}
