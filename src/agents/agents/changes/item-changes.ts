import { problem } from '../../../base/problem.js'
import { required } from '../../../base/required.js'
import { quoted } from '../../../base/text/quotation.js'
import { Descriptor, itemFields, z } from '../../../http/fields/schema.js'
import { createCatalogItem, ownItem, setArchived, showItem, updateCatalogItem } from '../../../market/catalog/item.js'
import { commodityOf, showCommodity } from '../../../money/commodities/commodity.js'
import { firstQuantity, quantityOf } from '../../../money/digital-quantities/digital-quantity.js'
import { createTwin } from '../../../money/twins/twin.js'
import type { Reader } from '../../../storage/storage.js'
import { type ChangeKind, type ChangeStep, fieldsOf, listed, priceWords } from './kind.js'

const updateItemSchema = z.strictObject({
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

export type UpdateItem = z.output<typeof updateItemSchema>

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
  schema: updateItemSchema,
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

const createItemSchema = z.strictObject({
  kind: z.literal('create_item'),
  ...itemFields,
  price: z.number(),
  external_endpoint: z.string(),
  descriptor: z.optional(Descriptor),
  dq: z.optional(z.string()),
  active: z.optional(z.boolean()),
  private: z.optional(z.boolean()),
  featured: z.optional(z.boolean()),
})

export type CreateItem = z.output<typeof createItemSchema>

/** The digital quantity, which `settle` fills in. */
const dqOf = ({ dq }: CreateItem): string => required(dq, 'the digital quantity of the new item')

/** Has no dispatch parameters: their values are secret, and approvals are shown to people. */
export const createItemKind: ChangeKind<CreateItem> = {
  schema: createItemSchema,
  isWhole: false,
  steps: [
    {
      name: 'wallet',
      async make(tx, { accountId, change, at }, service) {
        const owner = `account:${accountId}` as const
        return { twin_id: (await createTwin(tx, { owner, dq: dqOf(change), at }, service)).id }
      },
    },
    {
      name: 'item',
      async make(tx, { accountId, change: { kind: _, ...fields }, made, actor, at }, service) {
        const item = { ...fields, twin_id: made.twin_id, accountId, actor, at }
        return { item_id: (await createCatalogItem(tx, item, service)).id }
      },
    },
  ],

  async settle(tx, { active = true, private: isPrivate = false, featured = false, ...change }) {
    const { id: dq } = change.dq === undefined ? await firstQuantity(tx) : await quantityOf(tx, change.dq)
    return { ...change, dq, active, private: isPrivate, featured }
  },

  async view(tx, { change }) {
    const { name, price } = change
    const new_price = priceWords(await quantityOf(tx, dqOf(change)), price)
    return { about: { new_price }, now: {}, summary: `Sell ${quoted(name)} for ${new_price}, paid into a new wallet` }
  },

  result: (tx, { accountId, made }) => itemResult(tx, accountId, required(made.item_id, 'the item that was made')),
}
