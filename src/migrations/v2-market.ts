import { parsedUrl } from '../base/text/foreign-url.js'
import { allRows } from '../storage/page.js'
import type { Writer } from '../storage/storage.js'
import { changeRows, olderRows, withMissing } from '../storage/tables/migration.js'
import { reindex, wordIndex, wordsOf } from '../storage/word-index.js'
import type { MigrationStep } from './step.js'

export const marketToV2: readonly MigrationStep[] = [
  { what: 'Says which endpoint each inactive catalog item has.', migrate: fillItems },
  { what: 'Says when each cart ends.', migrate: endCarts },
  { what: 'Indexes the words of each account name and listed item.', migrate: indexWords },
  { what: 'Says who sells what each card of a checkout was charged for.', migrate: nameSellers },
]

const items = olderRows('catalog_items')

function fillItems(tx: Writer): Promise<void> {
  return changeRows(tx, items, (item) =>
    withMissing(item, { idle_at: item.active && !item.archived ? null : fixedUrl(item.external_endpoint) }),
  )
}

/** The normalized URL of an endpoint without placeholders. */
function fixedUrl(endpoint: unknown): string | null {
  return (typeof endpoint === 'string' && !endpoint.includes('{') && parsedUrl(endpoint)?.href) || null
}

/** As accounts and items of this release are indexed. */
async function indexWords(tx: Writer): Promise<void> {
  for await (const { id, business_name, name } of allRows(tx, olderRows('accounts'), { index: 'id', prefix: [] }))
    if (typeof id === 'number')
      await reindex(tx, sellerWords, { id, before: [], after: wordsOf(String(business_name ?? name ?? '')) })
  let listed = 0
  for await (const item of allRows(tx, items, { index: 'id', prefix: [] })) {
    if (typeof item.id !== 'number' || typeof item.listed_at !== 'number' || typeof item.hash !== 'string') continue
    const hostname = (await tx.get(olderRows('commodities'), item.hash))?.hostname
    const words = [...wordsOf(`${item.name}\n${item.description}`), String(hostname)]
    await reindex(tx, catalogWords, { id: item.id, before: [], after: [...new Set(words)] })
    listed++
  }
  if (listed > 0) tx.put(olderRows('catalog_counts'), { id: 'listed', items: listed })
}

const sellerWords = wordIndex('seller_words', '')
const catalogWords = wordIndex('catalog_words', '')

const DAY = 24 * 3_600_000

/** As carts of this release end: 90 days after they were paid, a token's after 30 days, others after one. */
function endCarts(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('carts'), (cart) => {
    if (typeof cart.ordered_at === 'number') return withMissing(cart, { expires_at: cart.ordered_at + 90 * DAY })
    const days = String(cart.holder).startsWith('token:') ? 30 : 1
    return withMissing(cart, { expires_at: Number(cart.created_at) + days * DAY })
  })
}

function nameSellers(tx: Writer): Promise<void> {
  return changeRows(tx, olderRows('checkout_charges'), async (charge) => {
    if (typeof charge.checkout_id !== 'number' || charge.seller_id !== undefined) return charge
    const checkout = await tx.get(olderRows('checkouts'), charge.checkout_id)
    const sold = checkout?.catalog_item_id
    const item = typeof sold === 'number' ? await tx.get(items, sold) : undefined
    return item ? { ...charge, seller_id: item.account_id } : charge
  })
}
