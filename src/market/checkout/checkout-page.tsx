import { type Problem, type ProblemCode, problemSentence } from '../../base/problem.js'
import type { At, Pages, View } from '../../http/pages/form-flow.js'
import { ANY_SITE, type FormPage } from '../../http/pages/form-page.js'
import { Actions, AmountText, Button, Facts, Form, Onward } from '../../http/pages/parts.js'
import { OtherWay, WayForm } from './forms.js'
import type { CheckoutStep } from './visit.js'

/** What people are told in place of the sentence for programs. */
const toPeople: Partial<Record<ProblemCode, string>> = {
  insufficient_funds: 'Your wallet does not hold enough for this. Nothing was charged.',
  item_inactive: 'This is not sold any more. Nothing was charged.',
  parameter_unreadable: 'The seller cannot deliver this at the moment. Nothing was charged.',
  schema_refused: 'The seller cannot deliver this at the moment. Nothing was charged.',
  arguments_refused: 'The seller does not take this order any more as it was made. Nothing was charged.',
  not_found: 'This is no link to pay by: open it as you were given it.',
  checkout_paid: 'This is paid. Whoever paid it sees the receipt here, signed in or in the same browser.',
  too_many_declines: 'Too many cards were declined here. Nothing was charged: try again in a quarter of an hour.',
  rejected: 'You rejected the sign-in on your device. Nothing was charged.',
  sign_in_required: 'Sign in first: your session is over.',
  upstream_failed: 'The seller did not deliver, so nothing was charged. Try again.',
}

export function checkoutSentence({ code, message }: Problem, shown?: CheckoutStep): string | undefined {
  if (code === 'upstream_failed' && shown?.step === 'offer' && shown.way.step === 'card')
    return 'The seller did not deliver. What your card was charged waits here: try again, and it is not charged again.'
  if (code === 'price_changed')
    return `The price has changed since this link was made.${message.slice(problemSentence(code).length)}`
  return toPeople[code]
}

const offerPage = ({ offer, way }: At<CheckoutStep, 'offer'>, { poll, ...view }: View): FormPage => ({
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
  refresh: way.step === 'device' ? poll : undefined,
  leadsTo: offer.canCancel ? ANY_SITE : undefined,
  body: (
    <>
      <WayForm way={way} offer={offer} {...view} />
      <OtherWay way={way} {...offer} />
    </>
  ),
})

/** Longer answers are for programs. */
const MOST_CHARACTERS = 4000

function paidPage({ receipt, amount, successUrl }: At<CheckoutStep, 'paid'>): FormPage {
  const { body } = receipt.response ?? {}
  const isShort = typeof body === 'string' && body !== '' && body.length <= MOST_CHARACTERS
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

/** The page by which a checkout is paid. */
export const checkoutPages: Pages<CheckoutStep> = {
  offer: offerPage,
  over: ({ name, why, canCancel }) => ({
    title: 'This link cannot be paid any more',
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
          ? 'The card processor has not said yet whether a card was charged. Nobody is charged twice for it. This page looks again by itself.'
          : 'Somebody is paying at this moment. This page goes on by itself.'}
      </p>
    ),
  }),
  paid: paidPage,
}

const titles: Partial<Record<ProblemCode, string>> = {
  checkout_paid: 'This is paid',
  checkout_expired: 'This link has expired',
  not_found: 'Nothing to pay here',
}

/** Of the page in place of what cannot be paid. */
export const checkoutTitle = ({ code }: Problem): string => titles[code] ?? 'This cannot go on'
