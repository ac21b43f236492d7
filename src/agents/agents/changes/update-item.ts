import { problem } from '../../../base/problem.js'
import { quoted } from '../../../base/text/quotation.js'
import { Descriptor, itemFields, z } from '../../../http/fields/schema.js'
import { ownItem, setArchived, showItem, updateCatalogItem } from '../../../market/catalog/item.js'
import { commodityOf, showCommodity } from '../../../money/commodities/commodity.js'
import { quantityOf } from '../../../money/digital-quantities/digital-quantity.js'
import type { Reader } from '../../../storage/storage.js'
import { type ChangeKind, type ChangeStep, fieldsOf } from './kind.js'
import { listed, priceWords } from './wording.js'

const schema = z.strictObject({
  kind: z.literal('update_item'),
  catalog_item_id: z.int(),
  name: z.optional(itemFields.name),
  description: z.optional(itemFields.description),
  descriptor: z.optional(Descriptor),
  price: z.optional(z.number()),
  service_method: z.optional(itemFields.service_method),
  external_endpoint: z.optional(z.string()),
  service_schema: z.optional(itemFields.service_schema),
  active: z.optional(z.boolean()),
  archived: z.optional(z.boolean()),
  private: z.optional(z.boolean()),
  featured: z.optional(z.boolean()),
})

export type UpdateItem = z.output<typeof schema>

const NOT_CHANGED = ['catalog_item_id', 'archived']

const setArchive = (name: string, archived: boolean): ChangeStep<UpdateItem> => ({
  name,
  async make(tx, { accountId, change, actor, at }) {
    const id = change.catalog_item_id
    if (change.archived === archived) await setArchived(tx, { accountId, id, archived, actor, at })
    return undefined
  },
})

export const updateItemKind: ChangeKind<UpdateItem> = {
  schema,
  isWhole: true,
  // An archived item cannot be changed, so it is restored first or archived last.
  steps: [
    setArchive('restore', false),
    {
      name: 'update',
      async make(tx, { accountId, change, actor, at }, service) {
        const { catalog_item_id: id, kind: _, archived: __, ...fields } = change
        if (fieldsOf(change, NOT_CHANGED).length > 0)
          await updateCatalogItem(tx, { ...fields, accountId, id, actor, at }, service)
        return undefined
      },
    },
    setArchive('archive', true),
  ],

  check(change) {
    const isEmpty = fieldsOf(change, ['catalog_item_id']).length === 0
    if (isEmpty)
      throw problem('field_invalid', {
        detail: '"change" needs at least one field to change.',
        fields: { field: 'change' },
      })
    if (change.archived === undefined || change.active !== true) return
    const detail = change.archived
      ? 'An archived item is inactive. Leave "active" out.'
      : 'A restored item is inactive. Activate it with a second change.'
    throw problem('field_invalid', { detail, fields: { field: 'change.active' } })
  },

  async view(tx, { accountId, change }) {
    const row = await ownItem(tx, accountId, change.catalog_item_id)
    const shown: Record<string, unknown> = { ...(await showItem(tx, row)), external_endpoint: row.external_endpoint }
    const fields = fieldsOf(change, ['catalog_item_id'])
    const now = Object.fromEntries(fields.map(([name]) => [name, shown[name]]))
    const { id, name } = row
    const told = { now, summary: `Change the item ${quoted(name)}: ${listed(fields.map(([field]) => field))}` }
    const { price } = change
    if (price === undefined) return { ...told, about: { item: { id, name } } }
    const { cost, dq } = await commodityOf(tx, row.hash)
    const quantity = await quantityOf(tx, dq)
    const [before, after] = [priceWords(quantity, cost), priceWords(quantity, price)]
    return {
      about: { item: { id, name }, dq, new_price: after },
      now: { ...now, price: before, dq },
      summary: `${told.summary} (to ${after})`,
    }
  },

  result: (tx, { accountId, change }) => itemResult(tx, accountId, change.catalog_item_id),
}

/** Returns an item as an agent sees it, without its endpoint. */
export async function itemResult(tx: Reader, accountId: number, id: number) {
  const row = await ownItem(tx, accountId, id)
  return { item: await showItem(tx, row), commodity: await showCommodity(tx, await commodityOf(tx, row.hash)) }
}
