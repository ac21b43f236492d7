import { type Problem, problem } from '../../base/problem.js'
import { checkHops } from '../../base/via.js'
import { actorOf, ownerOfParty } from '../../consent/personas/spending.js'
import type { ServiceContext } from '../../http/context.js'
import { type StoreAnswer, storeNothing } from '../../http/stored-answer.js'
import { type FlowRun, runFlow } from '../../jobs/flows/flow.js'
import type { PriceQuote } from '../../money/commodities/price-quote.js'
import { type HeldPayment, reversePayment } from '../../payments/payments/held-payment.js'
import { bearerOf, type Cost, type PayingCaller, spendPayer } from '../../payments/payments/payer.js'
import type { Writer } from '../../storage/storage.js'
import type { Arguments } from '../catalog/schema.js'
import { callOf, spendCalls } from './call-limits.js'
import { callInFlow, settlePurchase } from './fulfilment.js'
import { type Admission, beginPurchase, checkPrice, purchaseTerms, type Quote, quoteItem } from './purchase.js'
import type { ShownReceipt } from './receipt.js'

export interface PurchaseOrder extends PayingCaller {
  readonly itemId: number
  readonly args: Arguments
  /** The account whose own server sells the item, so that its private items are for sale. */
  readonly within?: number | undefined
  /** Called before anything is held. Throwing refuses the purchase; writes are part of its transaction. */
  readonly admit?: Admission | undefined
  readonly seen?: PriceQuote | undefined
  readonly hops: number
}

/**
 * Buys an item and returns its receipt.
 * Throws `too_many_hops`, `too_many_calls` and what `quoteItem`, `checkPrice`, `spendPayer` and `beginPurchase` throw, before anything is
 * held. Throws `upstream_failed` afterwards.
 */
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
  const { twin: payer } = await spendPayer(tx, order, at, () => costOf(quote, args))
  const bearer = bearerOf(party, payer)
  await spendCalls(tx, [callOf(quote)], { bearer, at }, service)
  const by = { payer, buyer: ownerOfParty(party), bearer, actor: actorOf(party), delegate, hops }
  return beginPurchase(tx, { quote, args, ...by, at, token }, service)
}

function costOf(quote: Quote, args: Arguments): Cost {
  const wish = { kind: 'purchase', catalog_item_id: quote.item.id, arguments: args }
  return {
    sums: new Map([[quote.quantity.id, quote.amount]]),
    approval: () => ({ terms: purchaseTerms(quote, args), wish }),
  }
}
