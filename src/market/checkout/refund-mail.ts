import { emailOf } from '../../identity/users/user.js'
import { postMail } from '../../jobs/outbox/outbox.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { formatAmount } from '../../money/ledger/amount.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { billingEmails } from '../billing/profile.js'
import type { CheckoutChargeRow } from './charge.js'
import type { CheckoutRow } from './checkout-row.js'
import { sellerIdOf } from './checkout-row.js'

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

/** Mails the payer, if their email is known, and the seller that a refund failed. */
export async function mailUnrefunded(
  tx: Writer,
  charge: CheckoutChargeRow,
  checkout: CheckoutRow,
  { why, at, baseUrl }: RefundMail,
): Promise<void> {
  const shown = await shownAmount(tx, charge, checkout)
  const what = `“${checkout.name}”: ${shown}`
  const subject = `Refund of ${shown} failed`
  const to = await payersEmail(tx, charge, checkout)
  const waits = 'farthing keeps the amount for you and has asked the seller to settle it.'
  if (to !== null)
    await postMail(tx, { to, subject, text: `${what} could not be refunded to your card. ${why} ${waits}`, at })
  const settle = `To settle it, call POST ${baseUrl}/v4/checkout/refunds/${charge.id}/settle. GET ${baseUrl}/v4/checkout/refunds lists all failed refunds.`
  for (const owner of await billingEmails(tx, await sellerIdOf(tx, checkout)))
    await postMail(tx, {
      to: owner,
      subject,
      text: `${what} could not be refunded to the payer's card. ${why} ${settle}`,
      at,
    })
}

/** Mails the payer, if their email is known, how the seller settled a refund. */
export async function mailSettled(
  tx: Writer,
  charge: CheckoutChargeRow,
  checkout: CheckoutRow,
  { how, at }: { readonly how: string; readonly at: number },
): Promise<void> {
  const to = await payersEmail(tx, charge, checkout)
  const shown = await shownAmount(tx, charge, checkout)
  if (to !== null) await postMail(tx, { to, subject: `Refund of ${shown}`, text: `“${checkout.name}”: ${how}`, at })
}
