import type { VNode } from 'preact'
import type { View } from '../../http/pages/form-flow.js'
import { Choices, Form, GoOn, QuoteFields } from '../../http/pages/parts.js'
import { SignedInAs, SignInForms } from '../../http/pages/sign-in-forms.js'
import type { Offer, PayingBy } from './visit.js'

interface WayParts extends Omit<View, 'poll'> {
  readonly way: PayingBy
  readonly offer: Offer
}

/** What is filled in, or pressed, on the way that whoever looks is on. */
export function WayForm({ way, offer, ...view }: WayParts): VNode {
  switch (way.step) {
    case 'email':
    case 'code':
    case 'device':
      return (
        <SignInForms
          at={way}
          {...view}
          note="Pay from your wallet: you get a code by mail, there is no password."
          another={<a href="?step=email">Use another email</a>}
          cancel={offer.canCancel}
          autofocus={false}
        />
      )
    case 'wallet':
      return <WalletForm {...way} {...offer} />
    case 'card':
      return <CardForm {...way} {...offer} />
  }
}

const WalletForm = ({
  email,
  balance,
  isEnough,
  quote,
  canCancel,
}: Extract<PayingBy, { step: 'wallet' }> & Pick<Offer, 'quote' | 'canCancel'>) => (
  <>
    <SignedInAs email={email} another={<a href="?step=email">Not you?</a>} />
    <Form>
      <QuoteFields {...quote} />
      <p class="balance">BALANCE {balance}</p>
      {!isEnough && <p class="muted">Your wallet does not hold enough for this yet.</p>}
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
}: Extract<PayingBy, { step: 'card' }> & Pick<Offer, 'price' | 'quote' | 'canCancel'>) => (
  <Form>
    <QuoteFields {...quote} />
    {charged ? (
      <>
        <input type="hidden" name="payment_method_id" value="charged" />
        <p>Your card was charged {price} before: that pays, and your card is not charged again.</p>
      </>
    ) : (
      <Choices
        field="payment_method_id"
        legend="Test cards"
        note="This is a sandbox: these charge nobody. Card numbers are never typed here."
        options={methods.map(({ value, does }) => ({ value, label: value, note: does }))}
      />
    )}
    <GoOn answer="card" cancel={canCancel}>
      Pay
    </GoOn>
  </Form>
)

/** The link to the other way: from a wallet or by card. */
export const OtherWay = ({ way, byCard, testMethods }: { way: PayingBy } & Pick<Offer, 'byCard' | 'testMethods'>) => {
  if (way.step === 'card')
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
    <p class="muted">Cards are paid with where the site that sent you here takes them: no card number is typed here.</p>
  )
}
