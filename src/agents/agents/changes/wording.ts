import { approvalAmountText } from '../../../consent/approvals/price-detail.js'
import type { DigitalQuantityRow } from '../../../money/digital-quantities/digital-quantity.js'
import { toUnits } from '../../../money/ledger/amount.js'

const labels: Readonly<Record<string, string>> = {
  businessName: 'business name',
  descriptor: 'receipt line',
  service_method: 'method',
  external_endpoint: 'endpoint',
  service_schema: 'inputs',
}

/** Names fields for people: `name, price and receipt line`. */
export function listed(fields: readonly string[]): string {
  const names = fields.map((field) => labels[field] ?? field.replaceAll('_', ' '))
  const last = names.pop() ?? ''
  return names.length > 0 ? `${names.join(', ')} and ${last}` : last
}

/**
 * Writes a price for people. A string is in smallest units, a number in the digital quantity. Throws `amount_invalid`.
 */
export const priceWords = (quantity: DigitalQuantityRow, price: string | number): string =>
  approvalAmountText(quantity, typeof price === 'string' ? BigInt(price) : toUnits(price, quantity.decimals))
