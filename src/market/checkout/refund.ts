import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { randomHex } from '../../base/secrets.js'
import { quoted } from '../../base/text/quotation.js'
import type { ServiceContext } from '../../http/context.js'
import { sendMail } from '../../identity/mail/send-mail.js'
import { emailOf } from '../../identity/users/user.js'
import { postRefund } from '../../jobs/outbox/outbox.js'
import type { GiveUpRefund, SettleRefund } from '../../money/cards/charge.js'
import { amountText, quantityOf, readQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { moneyText, toAmount } from '../../money/ledger/amount.js'
import { hold, post, postHold, reverseHold } from '../../money/ledger/movement.js'
import { primaryTwin } from '../../money/twins/twin.js'
import { allRows, getExisting, type PageBounds, ReadOnce } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { billingEmails } from '../billing/invoice.js'
import { recordCheckoutEvent, twinIdOf } from './checkout.js'
import {
  type CheckoutChargeRow,
  type CheckoutRow,
  checkoutCharges,
  checkoutSeller,
  checkouts,
  isUser,
  openCharges,
  putCharge,
  sellerIdOf,
} from './checkout-row.js'

export type Refunding = Pick<ServiceContext, 'clock' | 'random'>

export async function refundCharges(tx: Writer, checkout: CheckoutRow, service: Refunding): Promise<void> {
  for (const charge of await openCharges(tx, checkout))
    if (charge.status === 'charged') await refundCharge(tx, charge, checkout, service)
}

/** Holds the value of a charge in the checkout's twin and requests its refund. */
export async function refundCharge(
  tx: Writer,
  charge: CheckoutChargeRow,
  checkout: CheckoutRow,
  { clock, random }: Refunding,
): Promise<void> {
  const at = clock.now()
  const { id: dq, issuer_twin_id } = await quantityOf(tx, checkout.dq)
  const amount = BigInt(charge.amount)
  const parties = { payerTwinId: twinIdOf(checkout), payeeTwinId: issuer_twin_id }
  const movement = await hold(tx, { kind: 'refund', dq, amount, ...parties, at })
  const refund_id = `refund_${randomHex(random, 16)}`
  await requestRefund(tx, { ...charge, movement_id: movement.id, refund_id }, checkout, at)
}

async function requestRefund(
  tx: Writer,
  charge: CheckoutChargeRow & { readonly refund_id: string },
  checkout: CheckoutRow,
  at: number,
): Promise<void> {
  const quantity = await quantityOf(tx, checkout.dq)
  const { decimals, shortcode: currency } = quantity
  putCharge(tx, { ...charge, status: 'refunding' })
  const shown = moneyText(charge.amount, quantity)
  const charge_id = required(charge.charge_id, `the processor's name for charge ${charge.id}`)
  await postRefund(tx, {
    to: charge.to,
    subject: `Refund ${shown}`,
    text: `${checkout.name}: ${shown} is refunded to the card.`,
    refund: { id: charge.refund_id, charge_id, amount: charge.amount, decimals, currency },
    purpose: 'checkout',
    purposeId: charge.id,
    at,
  })
}

/** Ends a refund: gives the value to the issuer, or keeps it in the checkout's twin if the processor refused. */
export const endCheckoutRefund: SettleRefund = async (tx, { id, result }, service) => {
  const charge = await tx.get(checkoutCharges, id)
  if (charge?.status !== 'refunding' || charge.movement_id === null) return
  const at = service.clock.now()
  const checkout = await getExisting(tx, checkouts, charge.checkout_id)
  if (result.status === 'refunded') {
    await postHold(tx, charge.movement_id, at)
    putCharge(tx, { ...charge, status: 'refunded' })
    return recordCheckoutEvent(tx, 'refunded', checkout, { actor: 'service', payer: charge.payer, at })
  }
  await reverseHold(tx, charge.movement_id, at)
  const { reason } = result
  const refused: CheckoutChargeRow = { ...charge, status: 'unrefunded', movement_id: null, refusal: reason }
  putCharge(tx, refused)
  const data = { reason, charge_id: charge.charge_id, refund: charge.id }
  const event = { actor: 'service', to: await checkoutSeller(tx, checkout), payer: charge.payer } as const
  await recordCheckoutEvent(tx, 'refund_refused', checkout, { ...event, at, data })
  const why = `The card processor's reason: ${reason}.`
  await mailUnrefunded(tx, refused, checkout, { why, at, baseUrl: service.baseUrl })
}

/** Records that the outcome of a refund stays unknown. The value stays held, because a second refund might pay twice. */
export const loseCheckoutRefund: GiveUpRefund = async (tx, { id, refundId }, { clock, baseUrl }) => {
  const charge = await tx.get(checkoutCharges, id)
  if (charge?.status !== 'refunding') return
  const lost: CheckoutChargeRow = { ...charge, status: 'refund_lost', refund_id: refundId }
  putCharge(tx, lost)
  const at = clock.now()
  const checkout = await getExisting(tx, checkouts, charge.checkout_id)
  const data = { unknown_refund: refundId, charge_id: charge.charge_id, refund: charge.id }
  const event = { actor: 'service', to: await checkoutSeller(tx, checkout), payer: charge.payer } as const
  await recordCheckoutEvent(tx, 'refund_lost', checkout, { ...event, at, data })
  const why = 'The card processor did not confirm the refund.'
  await mailUnrefunded(tx, lost, checkout, { why, at, baseUrl })
}

const payersEmail = async (tx: Reader, { payer }: CheckoutChargeRow, { email }: CheckoutRow): Promise<string | null> =>
  (await emailOf(tx, payer)) ?? email

/** Whose address a payer's email is, if it is proven. A guest's was named by whoever made the link. */
const ownerOfEmail = ({ payer }: CheckoutChargeRow): Owner | null => (isUser(payer) ? payer : null)

async function mailUnrefunded(
  tx: Writer,
  charge: CheckoutChargeRow,
  checkout: CheckoutRow,
  { why, at, baseUrl }: { why: string; at: number; baseUrl: string },
): Promise<void> {
  const shown = await amountText(tx, { dq: checkout.dq, amount: charge.amount })
  const what = `${quoted(checkout.name)}: ${shown}`
  const mail = { kind: 'refund', subject: `Refund of ${shown} failed`, ownLinks: baseUrl, at } as const
  const to = await payersEmail(tx, charge, checkout)
  const waits = 'farthing keeps the amount for you and has asked the seller to settle it.'
  const text = `${what} could not be refunded to your card. ${why} ${waits}`
  if (to !== null) await sendMail(tx, { ...mail, to, owner: ownerOfEmail(charge), text })
  const settle = `To settle it, call POST ${baseUrl}/v4/checkout/refunds/${charge.id}/settle. GET ${baseUrl}/v4/checkout/refunds lists all failed refunds.`
  const forSeller = `${what} could not be refunded to the payer's card. ${why} ${settle}`
  const sellerId = await sellerIdOf(tx, checkout)
  for (const each of await billingEmails(tx, sellerId))
    await sendMail(tx, { ...mail, to: each, owner: `account:${sellerId}`, text: forSeller })
}

async function mailSettled(
  tx: Writer,
  charge: CheckoutChargeRow,
  checkout: CheckoutRow,
  { how, at }: { readonly how: string; readonly at: number },
): Promise<void> {
  const to = await payersEmail(tx, charge, checkout)
  if (to === null) return
  const subject = `Refund of ${await amountText(tx, { dq: checkout.dq, amount: charge.amount })}`
  const text = `${quoted(checkout.name)}: ${how}`
  await sendMail(tx, { kind: 'refund', to, owner: ownerOfEmail(charge), subject, text, at })
}

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
      if (charge.seller_id === accountId && (after === undefined || charge.id < after)) waiting.push(charge)
  const shown = waiting.sort((a, b) => b.id - a.id).slice(0, limit)
  const page = new ReadOnce(tx)
  const ids = shown.map(({ checkout_id }) => checkout_id)
  const sold = (await page.getMany(checkouts, ids)).filter((row) => row !== undefined)
  await readQuantities(page, sold)
  const refunds = []
  for (const charge of shown)
    refunds.push(
      await readShownRefund(page, { charge, checkout: await getExisting(page, checkouts, charge.checkout_id) }),
    )
  return { refunds, next: waiting.length > limit ? (shown.at(-1)?.id ?? null) : null }
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

/** `returned`: the payer has the money. `wallet`: the value goes to the payer's wallet. `again`: farthing tries again. */
export const outcomes = ['returned', 'wallet', 'again'] as const
type RefundOutcome = (typeof outcomes)[number]
/** Settles a failed refund once. The value goes to its issuer or to the payer, never to the seller. */
export async function settleCheckoutRefund(
  tx: Writer,
  { accountId, id, outcome }: { accountId: number; id: number; outcome: RefundOutcome },
  service: Refunding,
): Promise<{ id: number; outcome: RefundOutcome }> {
  const found = await waitingRefund(tx, accountId, id)
  const at = service.clock.now()
  if (outcome === 'again') await retryRefund(tx, found, service)
  else if (outcome === 'wallet') await credit(tx, found, at)
  else await giveToIssuer(tx, found, at)
  const { charge, checkout } = found
  const seller = `account:${accountId}` as const
  const event = { actor: seller, to: seller, payer: charge.payer, at, data: { refund: id, outcome } }
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

async function retryRefund(tx: Writer, { charge, checkout }: Found, service: Refunding): Promise<void> {
  if (charge.status === 'unrefunded') return refundCharge(tx, charge, checkout, service)
  const { refund_id } = charge
  // A refund under a new id might pay twice.
  if (refund_id === undefined) throw problem('refund_outcome_refused', { detail: REFUND_UNKNOWN })
  await requestRefund(tx, { ...charge, refund_id }, checkout, service.clock.now())
}

const REFUND_UNKNOWN =
  'It is unknown whether the card was refunded. Look it up at the card processor, and send `returned` once the payer has the money.'

async function credit(tx: Writer, { charge, checkout }: Found, at: number): Promise<void> {
  if (charge.status !== 'unrefunded') throw problem('refund_outcome_refused', { detail: REFUND_UNKNOWN })
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
