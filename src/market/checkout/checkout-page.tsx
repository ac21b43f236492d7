import type { VNode } from 'preact'
import { type Problem, type ProblemCode, problemSentence } from '../../base/problem.js'
import type { At, Pages, View } from '../../http/pages/form-flow.js'
import { ANY_SITE, type FormPage } from '../../http/pages/form-page.js'
import {
  Actions,
  AmountText,
  Button,
  Choices,
  Facts,
  Form,
  GoOn,
  Onward,
  QuoteFields,
  SignedInAs,
  SignInForms,
} from '../../http/pages/parts.js'
import type { CheckoutStep, Offer, PaymentStep } from './checkout-flow.js'

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
            ...[['Seller', receipt.seller] as const, ['On your receipt', receipt.descriptor] as const],
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

export const checkoutTitle = ({ code }: Problem): string => titles[code] ?? 'This payment cannot continue'

function PaymentForm({ payment, offer, ...view }: { payment: PaymentStep; offer: Offer } & Omit<View, 'poll'>): VNode {
  switch (payment.step) {
    case 'email':
    case 'code':
    case 'device':
      return (
        <SignInForms
          at={payment}
          {...view}
          note="Pay from your wallet: we mail you a code, so there is no password."
          another={<a href="?step=email">Use another email</a>}
          cancel={offer.canCancel}
          autofocus={false}
        />
      )
    case 'wallet':
      return <WalletForm {...payment} {...offer} />
    case 'card':
      return <CardForm {...payment} {...offer} />
  }
}

const WalletForm = ({ email, balance, isEnough, quote, canCancel }: At<PaymentStep, 'wallet'> & Offer) => (
  <>
    <SignedInAs email={email} another={<a href="?step=email">Not you?</a>} />
    <Form>
      <QuoteFields {...quote} />
      <p class="balance">BALANCE {balance}</p>
      {!isEnough && <p class="muted">Your wallet does not have enough for this yet.</p>}
      <GoOn answer="pay" cancel={canCancel}>
        Pay
      </GoOn>
    </Form>
  </>
)

const CardForm = ({ methods, charged, price, quote, canCancel }: At<PaymentStep, 'card'> & Offer) => (
  <Form>
    <QuoteFields {...quote} />
    {charged ? (
      <>
        <input type="hidden" name="payment_method_id" value="charged" />
        <p>Your card was already charged {price}. It is not charged again.</p>
      </>
    ) : (
      <Choices
        field="payment_method_id"
        legend="Test cards"
        note="This is a sandbox: these cards are never charged. Do not type a real card number."
        options={methods.map(({ value, does }) => ({ value, label: value, note: does }))}
      />
    )}
    <GoOn answer="card" cancel={canCancel}>
      Pay
    </GoOn>
  </Form>
)

const OtherPaymentMethod = ({ payment, byCard, testMethods }: { payment: PaymentStep } & Offer) => {
  if (payment.step === 'card')
    return (
      <p class="more">
        <a href="?step=wallet">Pay from a wallet</a>
      </p>
    )
  if (!byCard) return null
  return testMethods.length > 0 ? (
    <p class="more">
      <a href="?step=card">Pay by card</a>
    </p>
  ) : (
    <p class="muted">To pay by card, go back to the site that sent you here. This page never asks for a card number.</p>
  )
}
