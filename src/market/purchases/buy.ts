import { type Problem, problem } from '../../base/problem.js'
import { checkHops } from '../../base/via.js'
import { actorOf, ownerOfParty } from '../../consent/personas/spending.js'
import type { ServiceContext } from '../../http/context.js'
import { type StoreAnswer, storeNothing } from '../../http/stored-answer.js'
import { type FlowRun, runFlow } from '../../jobs/flows/flow.js'
import type { PriceQuote } from '../../money/commodities/price-quote.js'
import { type HeldPayment, reversePayment } from '../../payments/payments/held-payment.js'
import { bearerOf, type PayingCaller, spendPayer } from '../../payments/payments/payer.js'
import type { Writer } from '../../storage/storage.js'
import { callInFlow, settlePurchase } from './fulfilment.js'
import {
  type Admission,
  beginPurchase,
  callOf,
  checkPrice,
  purchaseTerms,
  type QuoteRequest,
  quoteItem,
  spendCalls,
} from './purchase.js'
import type { ShownReceipt } from './receipt.js'

export interface PurchaseOrder extends PayingCaller, QuoteRequest {
  /** Called before anything is held. Throwing refuses the purchase; writes are part of its transaction. */
  readonly admit?: Admission | undefined
  readonly seen?: PriceQuote | undefined
  readonly hops: number
}

/** Buys an item and returns its receipt. Throws `upstream_failed` once the price was held, everything else before. */
export async function createPurchase(
  order: PurchaseOrder,
  service: ServiceContext,
  storeAnswer: StoreAnswer<ShownReceipt | Problem> = storeNothing,
): Promise<ShownReceipt> {
  checkHops(order.hops)
  return runFlow('purchase', service, async (run) => {
    const held = await run.transaction(
      'hold the price',
      async (tx) => {
        const held = await holdPrice(tx, order, run, service)
        await storeAnswer(tx, failed(held, 'The call was interrupted.'), { provisional: true })
        return held
      },
      (tx, held) => reversePayment(tx, held, service),
    )
    const answer = await callInFlow(run, held, service)
    return run.transaction('settle', async (tx) => {
      const { receipt, failure } = await settlePurchase(tx, held, answer, service)
      return storeAnswer(tx, receipt.status === 'reversed' ? failed(held, failure) : receipt)
    })
  })
}

const failed = ({ id: transaction_id }: HeldPayment, reason = ''): Problem =>
  problem('upstream_failed', { detail: reason, fields: { transaction_id } })

async function holdPrice(tx: Writer, order: PurchaseOrder, { token }: FlowRun, service: ServiceContext) {
  const { itemId, args, party, seen = {}, admit, delegate = null, hops } = order
  const at = service.clock.now()
  const { within = party.kind === 'account' ? party.id : undefined } = order
  const quote = await quoteItem(tx, { itemId, args, within })
  checkPrice(quote, seen)
  await admit?.(tx, [quote])
  const wish = { kind: 'purchase', catalog_item_id: itemId, arguments: args }
  const sums = new Map([[quote.quantity.id, quote.amount]])
  const approval = () => ({ terms: purchaseTerms(quote, args), wish })
  const { twin: payer } = await spendPayer(tx, order, at, () => ({ sums, approval }))
  const bearer = bearerOf(party, payer)
  await spendCalls(tx, [callOf(quote)], { bearer, at }, service)
  const by = { payer, buyer: ownerOfParty(party), bearer, actor: actorOf(party), delegate, hops }
  return beginPurchase(tx, { quote, args, ...by, at, token }, service)
}
