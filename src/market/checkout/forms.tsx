import type { VNode } from 'preact'
import type { View } from '../../http/pages/form-flow.js'
import { Choices, Form, GoOn, QuoteFields } from '../../http/pages/parts.js'
import { SignedInAs, SignInForms } from '../../http/pages/sign-in-forms.js'
import type { Offer, PaymentStep } from './visit.js'

interface PaymentFormProps extends Omit<View, 'poll'> {
  readonly payment: PaymentStep
  readonly offer: Offer
}

/** The form of the current step. */
export function PaymentForm({ payment, offer, ...view }: PaymentFormProps): VNode {
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

const WalletForm = ({
  email,
  balance,
  isEnough,
  quote,
  canCancel,
}: Extract<PaymentStep, { step: 'wallet' }> & Pick<Offer, 'quote' | 'canCancel'>) => (
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

const CardForm = ({
  methods,
  charged,
  price,
  quote,
  canCancel,
}: Extract<PaymentStep, { step: 'card' }> & Pick<Offer, 'price' | 'quote' | 'canCancel'>) => (
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

/** Link to the other payment method. */
export const OtherPaymentMethod = ({
  payment,
  byCard,
  testMethods,
}: { payment: PaymentStep } & Pick<Offer, 'byCard' | 'testMethods'>) => {
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
