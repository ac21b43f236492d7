import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { quantityOf, readQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import type { Reader } from '../../storage/storage.js'
import { type PurchaseStatus, readReceipts, type ShownReceipt, showReceipt } from '../purchases/receipt.js'
import { type CartLineRow, type CartRow, linesOf } from './cart.js'

/** `paying`: the endpoint is being called. `partly_paid`, `reversed`: some, or all, of its purchases failed. */
type LineStatus = 'open' | 'paying' | 'paid' | 'partly_paid' | 'reversed'

type CartStatus = 'open' | 'paying' | 'paid' | 'partly_paid' | 'failed'
type ShownLine = Awaited<ReturnType<typeof showLine>>
export type ShownCart = Awaited<ReturnType<typeof showCart>>

/** The most characters of delivered content that a cart shows. Receipts show the rest. */
const MAX_DELIVERED = 1_048_576

/** Shows a cart with its receipts. Its status is computed from its purchases, whoever settles them. */
export async function showCart(tx: Reader, cart: CartRow, { keys }: Pick<ServiceContext, 'keys'>) {
  const items: ShownLine[] = []
  const sums = new Map<string, bigint>()
  let left = MAX_DELIVERED
  const lines = await linesOf(tx, cart)
  const page = await readReceipts(
    tx,
    lines.flatMap(({ receipts }) => receipts),
  )
  await readQuantities(page, lines)
  for (const row of lines) {
    const receipts: ShownReceipt[] = []
    for (const id of row.receipts) {
      const receipt = await showReceipt(page, id, { keys, for: left > 0 ? 'buyer' : 'others' })
      left -= receipt.response?.body?.length ?? 0
      receipts.push(receipt)
    }
    items.push(await showLine(page, row, receipts))
    sums.set(row.dq, (sums.get(row.dq) ?? 0n) + BigInt(row.price) * BigInt(row.quantity))
  }
  const totals: Record<string, number> = {}
  for (const [dq, sum] of sums) totals[dq] = toAmount(sum, (await quantityOf(page, dq)).decimals)
  return { id: cart.id, status: cartStatus(cart, items), items, totals, created_at: seconds(cart.created_at) }
}

async function showLine(tx: Reader, row: CartLineRow, receipts: ShownReceipt[]) {
  const { line, catalog_item_id, name, seller, dq, quantity } = row
  const price = toAmount(row.price, (await quantityOf(tx, dq)).decimals)
  const status = lineStatus(receipts.map((receipt) => receipt.status))
  return { line, catalog_item_id, name, seller, price, dq, quantity, arguments: row.arguments, status, receipts }
}

function lineStatus(purchases: readonly PurchaseStatus[]): LineStatus {
  if (purchases.length === 0) return 'open'
  if (purchases.includes('held')) return 'paying'
  if (!purchases.includes('reversed')) return 'paid'
  return purchases.includes('paid') ? 'partly_paid' : 'reversed'
}

function cartStatus({ ordered_at }: CartRow, items: readonly ShownLine[]): CartStatus {
  if (ordered_at === null) return 'open'
  const statuses = new Set(items.map(({ status }) => status))
  if (statuses.has('paying')) return 'paying'
  if (statuses.size > 1) return 'partly_paid'
  if (statuses.has('paid')) return 'paid'
  return statuses.has('reversed') ? 'failed' : 'partly_paid'
}
