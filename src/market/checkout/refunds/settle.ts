import { problem } from '../../../base/problem.js'
import type { ServiceContext } from '../../../http/context.js'
import { quantityOf, readQuantities } from '../../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../../money/ledger/amount.js'
import { post, postHold } from '../../../money/ledger/movement.js'
import { primaryTwin } from '../../../money/twins/twin.js'
import { getExisting } from '../../../storage/existing.js'
import { allRows, type PageBounds } from '../../../storage/page.js'
import { ReadOnce } from '../../../storage/read-once.js'
import type { Reader, Writer } from '../../../storage/storage.js'
import { type CheckoutChargeRow, checkoutCharges, putCharge } from '../charge.js'
import { recordCheckoutEvent, twinIdOf } from '../checkout.js'
import { type CheckoutRow, checkoutSeller, checkouts, isUser, sellerIdOf } from '../checkout-row.js'
import { mailSettled, refundCharge, requestRefund } from '../refund.js'

interface Found {
  readonly charge: CheckoutChargeRow
  readonly checkout: CheckoutRow
}

/** Returns the failed refunds of a seller, newest first. */
export async function listCheckoutRefunds(tx: Reader, accountId: number, { limit = 20, after }: PageBounds) {
  const waiting: CheckoutChargeRow[] = []
  // There are few of these rows: processors rarely refuse a refund, and settling removes it from the list.
  for (const status of ['unrefunded', 'refund_lost'] as const)
    for await (const charge of allRows(tx, checkoutCharges, { index: 'byStatus', prefix: [status] }))
      waiting.push(charge)
  const past = waiting.filter(({ id }) => after === undefined || id < after).sort((a, b) => b.id - a.id)
  const page = new ReadOnce(tx)
  await readCheckouts(page, past)
  const found: Found[] = []
  for (const charge of past) {
    const checkout = await getExisting(page, checkouts, charge.checkout_id)
    if (charge.seller_id === accountId) found.push({ charge, checkout })
    if (found.length > limit) break
  }
  const shown = found.slice(0, limit)
  const refunds = await Promise.all(shown.map((each) => readShownRefund(page, each)))
  return { refunds, next: found.length > limit ? (refunds.at(-1)?.id ?? null) : null }
}

/** Reads what `show` needs for these charges: checkouts and digital quantities. */
async function readCheckouts(page: ReadOnce, charges: readonly CheckoutChargeRow[]): Promise<void> {
  const read = await page.getMany(
    checkouts,
    charges.map(({ checkout_id }) => checkout_id),
  )
  await readQuantities(
    page,
    read.filter((row) => row !== undefined),
  )
}

/** `unknown`: the processor never said how it ended. `email`: the one that the link was made for. */
async function readShownRefund(tx: Reader, { charge, checkout }: Found) {
  const { id, amount, status, refusal = null, charge_id, refund_id = null, payer } = charge
  const { id: checkout_id, catalog_item_id, name, dq, email } = checkout
  return {
    id,
    checkout_id,
    catalog_item_id,
    name,
    amount: toAmount(amount, (await quantityOf(tx, dq)).decimals),
    dq,
    status: status === 'unrefunded' ? ('refused' as const) : ('unknown' as const),
    reason: refusal,
    charge_id,
    refund_id,
    payer: isUser(payer) ? ('user' as const) : ('guest' as const),
    email,
  }
}

/**
 * `returned`: the payer has the money, and the value goes to the issuer. `wallet`: the value goes to the payer's
 * wallet. `again`: farthing asks the card processor again.
 */
export const outcomes = ['returned', 'wallet', 'again'] as const
export type RefundOutcome = (typeof outcomes)[number]

/**
 * Settles a failed refund once. The value goes to its issuer or to the payer, never to the seller.
 * Throws `not_found`, `refund_settled`, `refund_outcome_refused`.
 */
export async function settleCheckoutRefund(
  tx: Writer,
  { accountId, id, outcome }: { accountId: number; id: number; outcome: RefundOutcome },
  service: Pick<ServiceContext, 'clock' | 'random'>,
): Promise<{ id: number; outcome: RefundOutcome }> {
  const found = await waitingRefund(tx, accountId, id)
  const at = service.clock.now()
  if (outcome === 'again') await retryRefund(tx, found, service)
  else if (outcome === 'wallet') await credit(tx, found, at)
  else await giveToIssuer(tx, found, at)
  const { charge, checkout } = found
  const actor = `account:${accountId}` as const
  const event = {
    actor,
    to: await checkoutSeller(tx, checkout),
    payer: charge.payer,
    at,
    data: { refund: id, outcome },
  }
  await recordCheckoutEvent(tx, 'refund_settled', checkout, event)
  if (outcome !== 'again') await mailSettled(tx, charge, checkout, { how: sentences[outcome], at })
  return { id, outcome }
}

const sentences: Readonly<Record<Exclude<RefundOutcome, 'again'>, string>> = {
  returned: 'the seller says that you have your money back. If you do not, contact the seller.',
  wallet: 'the amount is now in your wallet.',
}

async function waitingRefund(tx: Reader, accountId: number, id: number): Promise<Found> {
  const charge = await tx.get(checkoutCharges, id)
  const checkout = charge && (await tx.get(checkouts, charge.checkout_id))
  if (!checkout || (await sellerIdOf(tx, checkout)) !== accountId) throw problem('not_found')
  if (charge.status === 'unrefunded' || charge.status === 'refund_lost') return { charge, checkout }
  throw charge.refund_id === undefined ? problem('not_found') : problem('refund_settled')
}

async function retryRefund(tx: Writer, { charge, checkout }: Found, service: Pick<ServiceContext, 'clock' | 'random'>) {
  if (charge.status === 'unrefunded') return refundCharge(tx, charge, checkout, service)
  const { refund_id } = charge
  // A refund under a new id might pay twice.
  if (refund_id === undefined) throw problem('refund_outcome_refused', { detail: OUTCOME_UNKNOWN })
  await requestRefund(tx, { ...charge, refund_id }, checkout, service.clock.now())
}

const OUTCOME_UNKNOWN =
  'It is unknown whether the card was refunded. Look it up at the card processor, and send `returned` once the payer has the money.'

async function credit(tx: Writer, { charge, checkout }: Found, at: number): Promise<void> {
  if (charge.status !== 'unrefunded') throw problem('refund_outcome_refused', { detail: OUTCOME_UNKNOWN })
  const wallet = isUser(charge.payer) ? await primaryTwin(tx, charge.payer) : undefined
  if (!wallet)
    throw problem('refund_outcome_refused', {
      detail: 'The payer is a guest and has no wallet. Return the money and send `returned`, or send `again`.',
    })
  const parties = { payerTwinId: twinIdOf(checkout), payeeTwinId: wallet.id }
  await post(tx, { kind: 'transfer', dq: checkout.dq, amount: BigInt(charge.amount), ...parties, at })
  putCharge(tx, { ...charge, status: 'credited' })
}

async function giveToIssuer(tx: Writer, { charge, checkout }: Found, at: number): Promise<void> {
  if (charge.movement_id !== null) await postHold(tx, charge.movement_id, at)
  else {
    const { id: dq, issuer_twin_id } = await quantityOf(tx, checkout.dq)
    const parties = { payerTwinId: twinIdOf(checkout), payeeTwinId: issuer_twin_id }
    await post(tx, { kind: 'refund', dq, amount: BigInt(charge.amount), ...parties, at })
  }
  putCharge(tx, { ...charge, status: 'refunded' })
}
