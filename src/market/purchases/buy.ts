import type { Owner } from '../../base/owner.js'
import { type Problem, problem } from '../../base/problem.js'
import { checkHops } from '../../base/via.js'
import { permittedTwin } from '../../consent/approvals/permit.js'
import { actorOf, type Party, spendAuthority } from '../../consent/personas/spending.js'
import type { ServiceContext } from '../../http/context.js'
import { type StoreAnswer, storeNothing } from '../../http/stored-answer.js'
import { type FlowRun, runFlow } from '../../jobs/flows/flow.js'
import type { PriceQuote } from '../../money/commodities/price-quote.js'
import { payingTwin, type TwinRow } from '../../money/twins/twin.js'
import { type HeldPayment, reversePayment } from '../../payments/payments/held-payment.js'
import type { Writer } from '../../storage/storage.js'
import type { Arguments } from '../catalog/schema.js'
import { purchaseTerms } from './approval.js'
import { callOf, spendCalls } from './call-limits.js'
import { callInFlow, settlePurchase } from './fulfilment.js'
import { type Admission, beginPurchase, checkPrice, type Quote, quoteItem } from './purchase.js'
import type { ShownReceipt } from './receipt.js'

export interface PurchaseOrder {
  readonly itemId: number
  readonly args: Arguments
  readonly party: Party
  /** One of the payer's twins. Default: the primary one. */
  readonly hostname?: string | undefined
  /** The approval of an agent's user. */
  readonly approvalId?: string | undefined
  /** The account whose own server sells the item, so that its private items are for sale. */
  readonly within?: number | undefined
  /** Called before anything is held. Throwing refuses the purchase; writes are part of its transaction. */
  readonly admit?: Admission | undefined
  /** Hash of a delegate with a spending authority for the caller. */
  readonly delegate?: string | undefined
  readonly seen?: PriceQuote | undefined
  /** Hops of the request, as `hopsIn` counts them. */
  readonly hops: number
}

/**
 * Buys an item and returns its receipt.
 * Throws `too_many_hops`, `too_many_calls` and what `quoteItem`, `checkPrice`, `payerOf` and `beginPurchase` throw, before anything is
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
  const payer = await payerOf(tx, order, quote, at)
  const bearer = bearerOf(party, payer)
  await spendCalls(tx, [callOf(quote)], { bearer, at }, service)
  const by = { payer, buyer: buyerOf(party), bearer, actor: actorOf(party), delegate, hops }
  return beginPurchase(tx, { quote, args, ...by, at, token }, service)
}

/** Returns the owner of a purchase. Pages and embeds buy for their account. */
export const buyerOf = (party: Party): Owner => {
  if (party.kind === 'user' || party.kind === 'agent') return party.owner
  return `account:${party.kind === 'embed' ? party.account_id : party.id}`
}

/**
 * The owner whose limits count what a purchase causes. Anybody can send the publishable secret of an embed, so there it
 * is whoever granted the delegate.
 */
export const bearerOf = (party: Party, payer: TwinRow): Owner => (party.kind === 'embed' ? payer.owner : buyerOf(party))

/**
 * Returns the twin that pays: the persona's, if there is a delegate, which is spent; otherwise the approved twin of an
 * agent's user, or one of the user's.
 * Throws `delegate_refused`, `delegate_required`, `not_found`, `not_owner`, `insufficient_funds`, and what
 * `permittedTwin` throws.
 */
async function payerOf(
  tx: Writer,
  { itemId, args, party, hostname, delegate, approvalId }: PurchaseOrder,
  quote: Quote,
  at: number,
): Promise<TwinRow> {
  const { amount } = quote
  const dq = quote.quantity.id
  if (delegate !== undefined) return spendAuthority(tx, { delegate, party, dq, amount, at })
  if (party.kind === 'account' || party.kind === 'embed') throw problem('delegate_required')
  if (party.kind === 'user') return payingTwin(tx, party.owner, hostname)
  const wish = { kind: 'purchase', catalog_item_id: itemId, arguments: args }
  const terms = purchaseTerms(quote, args)
  return permittedTwin(tx, party, { terms, wish, sums: new Map([[dq, amount]]), hostname, approvalId, at })
}
