import { type Problem, type ProblemCode, problemSentence } from '../../base/problem.js'
import type { At, Pages, View } from '../../http/pages/form-flow.js'
import { ANY_SITE, type FormPage } from '../../http/pages/form-page.js'
import { Actions, AmountText, Button, Facts, Form, Onward } from '../../http/pages/parts.js'
import { OtherPaymentMethod, PaymentForm } from './forms.js'
import type { CheckoutStep } from './visit.js'

/** Sentences for people, instead of those for programs. */
const sentences: Partial<Record<ProblemCode, string>> = {
  insufficient_funds: 'Your wallet does not hold enough for this. Nothing was charged.',
  item_inactive: 'This is no longer for sale. Nothing was charged.',
  parameter_unreadable: 'The seller cannot deliver this right now. Nothing was charged.',
  schema_refused: 'The seller cannot deliver this right now. Nothing was charged.',
  arguments_refused: 'The seller no longer accepts this order. Nothing was charged.',
  not_found: 'This payment link is incomplete or wrong. Open the whole link that you were given.',
  checkout_paid: 'This is already paid. The payer sees the receipt here when signed in, or in the same browser.',
  too_many_charges: 'Too many cards are being charged now. Nothing was charged. Try again in a minute.',
  too_many_declines: 'Too many cards were declined. Nothing was charged. Try again in 15 minutes.',
  rejected: 'You rejected the sign-in on your device. Nothing was charged.',
  sign_in_required: 'Your session has ended. Sign in again.',
  upstream_failed: 'The seller did not deliver, so nothing was charged. Try again.',
}

export function checkoutSentence({ code, message }: Problem, shown?: CheckoutStep): string | undefined {
  if (code === 'upstream_failed' && shown?.step === 'offer' && shown.payment.step === 'card')
    return 'The seller did not deliver. Try again: your card is not charged a second time.'
  if (code === 'price_changed')
    return `The price has changed since this link was created.${message.slice(problemSentence(code).length)}`
  return sentences[code]
}

const offerPage = ({ offer, payment }: At<CheckoutStep, 'offer'>, { poll, ...view }: View): FormPage => ({
  title: `Pay for ${offer.name}`,
  kicker: (
    <>
      Sold by <bdi>{offer.seller}</bdi>
    </>
  ),
  heading: offer.name,
  about: (
    <>
      {offer.description !== '' && <p dir="auto">{offer.description}</p>}
      <AmountText>{offer.price}</AmountText>
      <Facts facts={[['On your receipt', offer.descriptor], ...offer.arguments]} />
    </>
  ),
  refresh: payment.step === 'device' ? poll : undefined,
  leadsTo: offer.canCancel ? ANY_SITE : undefined,
  body: (
    <>
      <PaymentForm payment={payment} offer={offer} {...view} />
      <OtherPaymentMethod payment={payment} {...offer} />
    </>
  ),
})

/** Longer content is meant for programs. */
const MAX_CHARACTERS = 4000

function paidPage({ receipt, amount, successUrl }: At<CheckoutStep, 'paid'>): FormPage {
  const { body } = receipt.response ?? {}
  const isShort = typeof body === 'string' && body !== '' && body.length <= MAX_CHARACTERS
  const isText = receipt.response?.body_encoding === undefined
  return {
    title: 'Paid',
    tone: 'good',
    kicker: receipt.name,
    about: (
      <>
        <AmountText>{amount}</AmountText>
        <Facts
          facts={[
            ['Transaction', String(receipt.transaction_id)],
            ['Seller', receipt.seller],
            ['On your receipt', receipt.descriptor],
          ]}
        />
      </>
    ),
    body: (
      <>
        {isShort && isText && (
          <>
            <h2>What you got</h2>
            <pre dir="auto">{body}</pre>
          </>
        )}
        {successUrl !== null && (
          <Onward to={successUrl} go>
            Go on to {new URL(successUrl).host}
          </Onward>
        )}
      </>
    ),
  }
}

/** The pages of a checkout, by step. */
export const checkoutPages: Pages<CheckoutStep> = {
  offer: offerPage,
  over: ({ name, why, canCancel }) => ({
    title: 'This link can no longer be paid',
    kicker: name,
    alert: checkoutSentence(why) ?? why.message,
    leadsTo: canCancel ? ANY_SITE : undefined,
    body: canCancel && (
      <Form>
        <Actions>
          <Button answer="cancel">Cancel</Button>
        </Actions>
      </Form>
    ),
  }),
  paying: ({ name, unknown }) => ({
    title: 'This is being paid',
    kicker: name,
    alert: null,
    refresh: unknown ? 15 : 3,
    body: (
      <p role="status">
        {unknown
          ? 'The card processor has not confirmed the charge yet. You are not charged twice. This page updates by itself.'
          : 'Someone is paying right now. This page updates by itself.'}
      </p>
    ),
  }),
  paid: paidPage,
}

const titles: Partial<Record<ProblemCode, string>> = {
  checkout_paid: 'This is already paid',
  checkout_expired: 'This link has expired',
  not_found: 'Nothing to pay here',
}

/** Title of a page that says why a checkout cannot be paid. */
export const checkoutTitle = ({ code }: Problem): string => titles[code] ?? 'This payment cannot continue'
