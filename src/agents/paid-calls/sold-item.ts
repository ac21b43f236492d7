import { problem } from '../../base/problem.js'
import { checkHops } from '../../base/via.js'
import type { ServiceContext } from '../../http/context.js'
import type { FlowRun } from '../../jobs/flows/flow.js'
import { fulfilPurchase } from '../../market/purchases/fulfilment.js'
import {
  type Admission,
  beginPurchase,
  callOf,
  purchaseTerms,
  type Quote,
  type QuoteRequest,
  quoteItem,
} from '../../market/purchases/purchase.js'
import { type ShownReceipt, showReceipt } from '../../market/purchases/receipt.js'
import type { Writer } from '../../storage/storage.js'
import type { ThingSold } from './thing-sold.js'

/** A call of an item of the catalog. */
interface ItemOrder extends QuoteRequest {
  readonly hops: number
  readonly admit?: Admission
}

/** The call as something that is sold. Delivering throws `upstream_failed`, quoting what `quoteItem` throws. */
export function soldItem(
  { hops, admit, ...request }: ItemOrder,
  service: ServiceContext,
): ThingSold<Quote, ShownReceipt> {
  const { itemId, args } = request
  const named = { catalog_item_id: itemId, arguments: args }
  return {
    named,
    quote: (tx) => quoteItem(tx, request),
    admit: async (tx, quote) => admit?.(tx, [quote]),
    approval: (_tx, quote) => ({ terms: purchaseTerms(quote, args), wish: { kind: 'purchase', ...named } }),
    calls: (quote) => [callOf(quote)],
    async deliver(pay, { isNamed: readLater }) {
      checkHops(hops)
      const hold = (tx: Writer, { token }: FlowRun) =>
        pay(tx, (paid) => beginPurchase(tx, { ...paid, args, hops, token }, service))
      return fulfilPurchase({ hold, readLater }, service)
    },
    async readAgain(tx, { id }) {
      const receipt = await showReceipt(tx, id, { keys: service.keys, for: 'buyer' })
      if (receipt.response?.body == null) throw problem('idempotency_unreadable')
      return receipt
    },
  }
}
