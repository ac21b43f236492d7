import type { Owner } from '../../base/owner.js'
import { quoted } from '../../base/text/quotation.js'
import { sendMail } from '../../identity/mail/send-mail.js'
import { emailOf } from '../../identity/users/user.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { formatAmount } from '../../money/ledger/amount.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { billingEmails } from '../billing/profile.js'
import type { CheckoutChargeRow } from './charge.js'
import type { CheckoutRow } from './checkout-row.js'
import { isUser, sellerIdOf } from './checkout-row.js'

interface RefundMail {
  readonly why: string
  readonly at: number
  readonly baseUrl: string
}

/** The email of the paying user. Default: the email that the link was made for. */
const payersEmail = async (tx: Reader, { payer }: CheckoutChargeRow, { email }: CheckoutRow): Promise<string | null> =>
  (await emailOf(tx, payer)) ?? email

async function shownAmount(tx: Reader, { amount }: CheckoutChargeRow, { dq }: CheckoutRow): Promise<string> {
  const { decimals, shortcode } = await quantityOf(tx, dq)
  return `${formatAmount(amount, decimals)} ${shortcode}`
}

/** Whose address a payer's email is, if it is proven. A guest's was named by whoever made the link. */
const ownerOfEmail = ({ payer }: CheckoutChargeRow): Owner | null => (isUser(payer) ? payer : null)

/** Mails the payer, if their email is known, and the seller that a refund failed. */
export async function mailUnrefunded(
  tx: Writer,
  charge: CheckoutChargeRow,
  checkout: CheckoutRow,
  { why, at, baseUrl }: RefundMail,
): Promise<void> {
  const shown = await shownAmount(tx, charge, checkout)
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

/** Mails the payer, if their email is known, how the seller settled a refund. */
export async function mailSettled(
  tx: Writer,
  charge: CheckoutChargeRow,
  checkout: CheckoutRow,
  { how, at }: { readonly how: string; readonly at: number },
): Promise<void> {
  const to = await payersEmail(tx, charge, checkout)
  if (to === null) return
  const subject = `Refund of ${await shownAmount(tx, charge, checkout)}`
  const text = `${quoted(checkout.name)}: ${how}`
  await sendMail(tx, { kind: 'refund', to, owner: ownerOfEmail(charge), subject, text, at })
}
