import type { VNode } from 'preact'
import { Actions, Button, CodeField, EmailField, QuoteFields, WaitsForDevice } from '../../http/pages/card.js'
import type { Offer, Way } from './visit.js'

/** What is filled in, or pressed, on the way that whoever looks is on. */
export function WayForm({ way, offer, isRefused }: { way: Way; offer: Offer; isRefused: boolean }): VNode {
  switch (way.step) {
    case 'email':
      return <EmailForm email={way.email} isRefused={isRefused} canCancel={offer.canCancel} />
    case 'device':
      return <DeviceForm canCancel={offer.canCancel} />
    case 'code':
      return <CodeForm email={way.email} isRefused={isRefused} canCancel={offer.canCancel} />
    case 'wallet':
      return <WalletForm {...way} {...offer} />
    case 'card':
      return <CardForm {...way} {...offer} />
  }
}

const GoOn = ({ answer, canCancel, children }: { answer: string; canCancel: boolean; children: string }) => (
  <Actions>
    <Button answer={answer} go>
      {children}
    </Button>
    {canCancel && <Button answer="cancel">Cancel</Button>}
  </Actions>
)

interface FormParts {
  readonly email: string
  readonly isRefused: boolean
  readonly canCancel: boolean
}

const EmailForm = ({ email, isRefused, canCancel }: FormParts) => (
  <form method="post" novalidate>
    <EmailField email={email} isRefused={isRefused} />
    <p class="muted">Pay from your wallet: you get a code by mail, there is no password.</p>
    <GoOn answer="continue" canCancel={canCancel}>
      Continue
    </GoOn>
  </form>
)

const CodeForm = ({ email, isRefused, canCancel }: FormParts) => (
  <>
    <form method="post" novalidate>
      <CodeField email={email} isRefused={isRefused} />
      <GoOn answer="verify" canCancel={canCancel}>
        Verify
      </GoOn>
    </form>
    <form method="post" class="more">
      <input type="hidden" name="email" value={email} />
      <Button answer="continue">Send a new code</Button>
      <a href="?step=email">Use another email</a>
    </form>
  </>
)

const DeviceForm = ({ canCancel }: Pick<FormParts, 'canCancel'>) => (
  <form method="post">
    <WaitsForDevice />
    <p class="more">
      <a href="?step=email">Use another email</a>
    </p>
    {canCancel && (
      <Actions>
        <Button answer="cancel">Cancel</Button>
      </Actions>
    )}
  </form>
)

const WalletForm = ({
  email,
  balance,
  isEnough,
  quote,
  canCancel,
}: Extract<Way, { step: 'wallet' }> & Pick<Offer, 'quote' | 'canCancel'>) => (
  <>
    <p class="more">
      <span class="muted">Signed in as {email}</span>
      <a href="?step=email">Not you?</a>
    </p>
    <form method="post">
      <QuoteFields {...quote} />
      <p class="balance">BALANCE {balance}</p>
      {!isEnough && <p class="muted">Your wallet does not hold enough for this yet.</p>}
      <GoOn answer="pay" canCancel={canCancel}>
        Pay
      </GoOn>
    </form>
  </>
)

const CardForm = ({
  methods,
  charged,
  price,
  quote,
  canCancel,
}: Extract<Way, { step: 'card' }> & Pick<Offer, 'price' | 'quote' | 'canCancel'>) => (
  <form method="post">
    <QuoteFields {...quote} />
    {charged ? (
      <>
        <input type="hidden" name="payment_method_id" value="charged" />
        <p>Your card was charged {price} before: that pays, and your card is not charged again.</p>
      </>
    ) : (
      <fieldset>
        <legend>Test cards</legend>
        <p class="muted">This is a sandbox: these charge nobody. Card numbers are never typed here.</p>
        {methods.map(({ value, does }, place) => (
          <label class="choice">
            <input type="radio" name="payment_method_id" value={value} checked={place === 0} />
            <span>{value}</span>
            <span class="muted">{does}</span>
          </label>
        ))}
      </fieldset>
    )}
    <GoOn answer="card" canCancel={canCancel}>
      Pay
    </GoOn>
  </form>
)

/** The link to the other way: from a wallet or by card. */
export const OtherWay = ({ way, byCard, testMethods }: { way: Way } & Pick<Offer, 'byCard' | 'testMethods'>) => {
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
