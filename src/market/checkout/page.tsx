import { type Problem, type ProblemCode, problemSentence } from '../../base/problem.js'
import { Actions, Alert, Button, POLL, SandboxMail } from '../../http/pages/card.js'
import { type CardPage, cardPage } from '../../http/pages/card-page.js'
import type { Reply } from '../../http/reply.js'
import { OtherWay, WayForm } from './forms.js'
import { pageStyle } from './page-style.js'
import type { Shown, Way } from './visit.js'

const show = (parts: Omit<CardPage, 'style'>): Reply => cardPage({ ...parts, style: pageStyle })

/** What people are told in place of the sentence for programs. */
const toPeople: Partial<Record<ProblemCode, string>> = {
  field_invalid: 'Enter an email address, such as ada@example.test.',
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

function sentenceOf({ code, message, fields }: Problem, step?: Way['step']): string {
  if (fields.field === 'payment_method_id') return 'Pick a card.'
  if (code === 'upstream_failed' && step === 'card')
    return 'The seller did not deliver. What your card was charged waits here: try again, and it is not charged again.'
  if (code === 'price_changed')
    return `The price has changed since this link was made.${message.slice(problemSentence(code).length)}`
  return toPeople[code] ?? message
}

/** The page by which a checkout is paid, with why the last answer was not taken. It needs no script. */
export function checkoutPage(shown: Shown, refused?: Problem): Reply {
  switch (shown.step) {
    case 'offer':
      return offerPage(shown, refused)
    case 'over':
      return overPage(shown, refused)
    case 'paying':
      return payingPage(shown, refused)
    case 'paid':
      return paidPage(shown)
  }
}

function offerPage({ offer, way }: Extract<Shown, { step: 'offer' }>, refused: Problem | undefined): Reply {
  return show({
    title: `Pay for ${offer.name}`,
    refused,
    refresh: way.step === 'device' && !refused ? POLL : undefined,
    leaves: offer.canCancel,
    body: (
      <>
        <p class="kicker">
          Sold by <bdi>{offer.seller}</bdi>
        </p>
        <h1 dir="auto">{offer.name}</h1>
        {offer.description !== '' && <p dir="auto">{offer.description}</p>}
        <p class="price">{offer.price}</p>
        <Facts facts={[['On your receipt', offer.descriptor], ...offer.arguments]} />
        {refused && <Alert>{sentenceOf(refused, way.step)}</Alert>}
        <WayForm way={way} offer={offer} isRefused={refused !== undefined} />
        {way.step === 'code' && offer.sandbox && <SandboxMail outbox="../_sandbox/outbox" />}
        <OtherWay way={way} {...offer} />
      </>
    ),
  })
}

const Facts = ({ facts }: { facts: readonly (readonly [string, string])[] }) => (
  <dl>
    {facts.map(([name, value]) => (
      <div>
        <dt dir="auto">{name}</dt>
        <dd dir="auto">{value}</dd>
      </div>
    ))}
  </dl>
)

const overPage = ({ name, why, canCancel }: Extract<Shown, { step: 'over' }>, refused: Problem | undefined): Reply =>
  show({
    title: 'This link cannot be paid any more',
    refused,
    leaves: canCancel,
    body: (
      <>
        <p class="kicker" dir="auto">
          {name}
        </p>
        <h1>This link cannot be paid any more</h1>
        <Alert>{sentenceOf(why)}</Alert>
        {canCancel && (
          <form method="post">
            <Actions>
              <Button answer="cancel">Cancel</Button>
            </Actions>
          </form>
        )}
      </>
    ),
  })

const payingPage = ({ name, unknown }: Extract<Shown, { step: 'paying' }>, refused: Problem | undefined): Reply =>
  show({
    title: 'This is being paid',
    refused,
    refresh: unknown ? 15 : 3,
    body: (
      <>
        <p class="kicker" dir="auto">
          {name}
        </p>
        <h1>This is being paid</h1>
        <p role="status">
          {unknown
            ? 'The card processor has not said yet whether a card was charged. Nobody is charged twice for it. This page looks again by itself.'
            : 'Somebody is paying at this moment. This page goes on by itself.'}
        </p>
      </>
    ),
  })

/** Longer answers are for programs. */
const MOST_CHARACTERS = 4000

function paidPage({ receipt, amount, successUrl }: Extract<Shown, { step: 'paid' }>): Reply {
  const { body } = receipt.response ?? {}
  const isShort = typeof body === 'string' && body !== '' && body.length <= MOST_CHARACTERS
  const isText = receipt.response?.body_encoding === undefined
  return show({
    title: 'Paid',
    done: true,
    body: (
      <>
        <p class="kicker" dir="auto">
          {receipt.name}
        </p>
        <h1>Paid</h1>
        <p class="price">{amount}</p>
        <Facts
          facts={[
            ['Transaction', String(receipt.transaction_id)],
            ['Seller', receipt.seller],
            ['On your receipt', receipt.descriptor],
          ]}
        />
        {isShort && isText && (
          <>
            <h2>What you got</h2>
            <pre dir="auto">{body}</pre>
          </>
        )}
        {successUrl !== null && (
          <p>
            <a class="onward" href={successUrl} rel="noopener noreferrer">
              Go on to {new URL(successUrl).host}
            </a>
          </p>
        )}
      </>
    ),
  })
}

const titles: Partial<Record<ProblemCode, string>> = {
  checkout_paid: 'This is paid',
  checkout_expired: 'This link has expired',
  not_found: 'Nothing to pay here',
}

/** In place of what cannot be paid, to people. */
export function refusedPage(refused: Problem): Reply {
  const title = titles[refused.code] ?? 'This cannot go on'
  return show({
    title,
    refused,
    body: (
      <>
        <h1>{title}</h1>
        <Alert>{sentenceOf(refused)}</Alert>
      </>
    ),
  })
}
