import { required } from '../../../base/required.js'
import { quoted } from '../../../base/text/quotation.js'
import { Descriptor, itemFields, z } from '../../../http/fields/schema.js'
import { createCatalogItem } from '../../../market/catalog/item.js'
import { firstQuantity, quantityOf } from '../../../money/digital-quantities/digital-quantity.js'
import { createTwin } from '../../../money/twins/twin.js'
import type { ChangeKind } from './kind.js'
import { itemResult } from './update-item.js'
import { priceWords } from './wording.js'

const schema = z.strictObject({
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

export type CreateItem = z.output<typeof schema>

/** The digital quantity, which `settle` fills in. */
const dqOf = ({ dq }: CreateItem): string => required(dq, 'the digital quantity of the new item')

/** Has no dispatch parameters: their values are secret, and approvals are shown to people. */
export const createItemKind: ChangeKind<CreateItem> = {
  schema,
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
