import type { ApprovalTerms } from '../../consent/approvals/approval.js'
import { priceDetail } from '../../consent/approvals/price-detail.js'
import type { QuotedLine } from './quote.js'

/** Returns what an agent's user approves: every line of the cart at its current price. */
export function cartTerms(cartId: number, lines: readonly QuotedLine[]): ApprovalTerms {
  const shown = lines.map(({ row, quote }) => ({
    line: row.line,
    catalog_item_id: row.catalog_item_id,
    name: quote.item.name,
    seller: quote.seller,
    payee: quote.payee.hostname,
    quantity: row.quantity,
    ...priceDetail(quote.quantity, quote.amount),
    arguments: row.arguments,
  }))
  const total = totalText(lines)
  const purchases = lines.reduce((sum, { row }) => sum + row.quantity, 0)
  return {
    kind: 'cart',
    detail: { cart_id: cartId, total, lines: shown },
    summary: `Pay for a cart of ${purchases} ${purchases === 1 ? 'purchase' : 'purchases'}: ${total}`,
  }
}

/** One amount for each digital quantity. */
function totalText(lines: readonly QuotedLine[]): string {
  const totals = new Map<string, { quote: QuotedLine['quote']; sum: bigint }>()
  for (const { row, quote } of lines) {
    const { sum = 0n } = totals.get(quote.quantity.id) ?? {}
    totals.set(quote.quantity.id, { quote, sum: sum + quote.amount * BigInt(row.quantity) })
  }
  return [...totals.values()].map(({ quote, sum }) => priceDetail(quote.quantity, sum).price).join(' + ')
}
