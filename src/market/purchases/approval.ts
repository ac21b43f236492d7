import { quoted } from '../../base/text/quotation.js'
import type { ApprovalTerms } from '../../consent/approvals/approval.js'
import { priceDetail } from '../../consent/approvals/price-detail.js'
import type { Arguments } from '../catalog/schema.js'
import type { Quote } from './purchase.js'

/** Returns what an agent's user approves: the item, its arguments, its price and the payee. */
export function purchaseTerms({ item, seller, payee, quantity, amount }: Quote, args: Arguments): ApprovalTerms {
  const value = priceDetail(quantity, amount)
  return {
    kind: 'purchase',
    detail: { catalog_item_id: item.id, name: item.name, seller, payee: payee.hostname, ...value, arguments: args },
    summary: `Buy ${quoted(item.name)} from ${quoted(seller)} for ${value.price}`,
  }
}
