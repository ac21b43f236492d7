import type { VNode } from 'preact'
import type { Problem } from '../../base/problem.js'
import { nameHidden } from '../../base/text/invisible-characters.js'
import { Actions, Alert, Button, POLL, QuoteFields, SignedInAs, SignInForms } from '../../http/pages/card.js'
import { type CardPage, cardPage } from '../../http/pages/card-page.js'
import type { Reply } from '../../http/reply.js'
import { isObject } from '../../storage/unknown.js'
import { Change, Facts } from './facts.js'
import { pageStyle } from './page-style.js'
import type { Asked, Shown } from './visit.js'

const show = (parts: Omit<CardPage, 'style'>): Reply => cardPage({ ...parts, style: pageStyle })

const kindTitles: Record<Asked['kind'], string> = {
  purchase: 'Approve a purchase',
  paywall: 'Approve a payment',
  transfer: 'Approve a transfer',
  cart: 'Approve a purchase',
  account_change: 'Approve a change',
}

/** What people are told in place of the sentence for programs. */
function sentenceOf({ code, message }: Problem): string {
  if (code === 'field_invalid') return 'Enter an email address, such as ada@example.test.'
  if (code === 'rejected') return 'You rejected the request on your device: nothing was approved.'
  if (code === 'approval_timeout') return 'The request for your second factor was not answered in time. Approve again.'
  if (code === 'sign_in_required') return 'Sign in first: your session is over.'
  return message
}

/** The page at which a user answers an agent. It needs no script. */
export function approvalPage(shown: Exclude<Shown, { step: 'signed_in' }>, sandbox: boolean): Reply {
  switch (shown.step) {
    case 'email':
    case 'code':
    case 'device':
      return signInPage(shown, sandbox)
    case 'nothing':
      return nothingPage(shown)
    case 'asked':
      return askedPage(shown)
    case 'wait':
      return waitPage(shown)
    case 'over':
      return overPage(shown)
  }
}

const signInTitles = { email: 'Sign in to answer', code: 'Enter your code', device: 'Approve on your device' } as const

function signInPage(shown: Extract<Shown, { step: 'email' | 'code' | 'device' }>, sandbox: boolean): Reply {
  const { step, refused } = shown
  const title = signInTitles[step]
  return show({
    title,
    refused,
    refresh: step === 'device' && !refused ? POLL : undefined,
    body: (
      <>
        <h1>{title}</h1>
        <p class="muted">An app that you connected asks you to approve something.</p>
        {refused && <Alert>{sentenceOf(refused)}</Alert>}
        <SignInForms at={shown} isRefused={refused !== undefined} outbox={sandbox ? '../_sandbox/outbox' : undefined} />
      </>
    ),
  })
}

const nothingPage = ({ email, refused }: Extract<Shown, { step: 'nothing' }>): Reply =>
  show({
    title: 'Nothing waits for you here',
    refused,
    body: (
      <>
        <h1>Nothing waits for you here</h1>
        <p role="alert">What apps ask is shown to the user whom they ask, and to nobody else.</p>
        <SignedInAs email={email} />
      </>
    ),
  })

/** Who asks, for what. */
const Head = ({ title, asked }: { title: string; asked: Asked }) => (
  <>
    <p class="kicker">
      <bdi>{asked.app}</bdi> asks you
    </p>
    <h1>{title}</h1>
    <p class="summary" dir="auto">
      {nameHidden(asked.summary)}
    </p>
  </>
)

function askedPage({ asked, refused }: Extract<Shown, { step: 'asked' }>): Reply {
  const title = kindTitles[asked.kind]
  const { price, total } = asked.detail
  const sum = price ?? total
  return show({
    title,
    refused,
    body: (
      <>
        <Head title={title} asked={asked} />
        {typeof sum === 'string' && <p class="price">{nameHidden(sum)}</p>}
        {refused && <Alert>{sentenceOf(refused)}</Alert>}
        <Detail asked={asked} />
        <p class="muted">Answer until {asked.until}. Approved, it can be done once, within the hour, and exactly so.</p>
        <form method="post">
          {asked.quote && <QuoteFields {...asked.quote} />}
          <Actions>
            <Button answer="approve" go>
              Approve
            </Button>
            <Button answer="reject">Reject</Button>
          </Actions>
        </form>
        <SignedInAs email={asked.email} />
      </>
    ),
  })
}

/** All that is approved. */
function Detail({ asked: { kind, detail, now } }: { asked: Asked }): VNode {
  if (kind !== 'account_change') return <Facts facts={detail} />
  const { change, new_price, ...about } = detail
  // What is changed stands above already, and a price reads better with its shortcode.
  const { kind: _, catalog_item_id: __, hostname: ___, ...fields } = isObject(change) ? change : {}
  return (
    <>
      <Facts facts={about} />
      <Change change={new_price === undefined ? fields : { ...fields, price: new_price }} now={now ?? {}} />
    </>
  )
}

const waitPage = ({ asked, by, refused }: Extract<Shown, { step: 'wait' }>): Reply =>
  show({
    title: by === 'device' ? 'Approve on your device' : 'Approve by mail',
    refused,
    refresh: refused ? undefined : POLL,
    body: (
      <>
        <Head title={by === 'device' ? 'Approve on your device' : 'Approve by mail'} asked={asked} />
        {refused && <Alert>{sentenceOf(refused)}</Alert>}
        <p role="status">
          {by === 'device'
            ? 'We sent a request to your device. This page goes on by itself once you approved it there.'
            : 'We mailed you a link. Open it in another browser or on another device, and approve it there: this page goes on by itself.'}
        </p>
        <form method="post">
          <Actions>
            <Button answer="reject">Reject</Button>
          </Actions>
        </form>
      </>
    ),
  })

type Over = Extract<Shown, { step: 'over' }>

const ends: Record<Over['status'], readonly [title: string, what: string]> = {
  approved: ['Approved', 'Approved: go back to your app.'],
  rejected: ['Rejected', 'You rejected this. Nothing was moved or changed.'],
  expired: ['Expired', 'This has expired, and can no longer be approved or used. The app can ask again.'],
  spent: ['Done', 'You approved this, and the app has used it: it cannot be used again.'],
}

function overPage({ asked, status, refused }: Over): Reply {
  const [title, what] = ends[status]
  return show({
    title,
    refused,
    body: (
      <div class={status === 'approved' || status === 'spent' ? 'done' : undefined}>
        <Head title={title} asked={asked} />
        {refused && <Alert>{sentenceOf(refused)}</Alert>}
        <p role="status">{what}</p>
      </div>
    ),
  })
}

/** In place of the page, to people. */
export const refusedPage = (refused: Problem): Reply =>
  show({
    title: 'This cannot go on',
    refused,
    body: (
      <>
        <h1>This cannot go on</h1>
        <Alert>{sentenceOf(refused)}</Alert>
      </>
    ),
  })
