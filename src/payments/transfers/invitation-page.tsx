import type { Problem } from '../../base/problem.js'
import { Actions, Alert, Button, CodeForm, POLL, SandboxMail, WaitsForDevice } from '../../http/pages/card.js'
import { type CardPage, cardPage } from '../../http/pages/card-page.js'
import type { Reply } from '../../http/reply.js'
import { invitationStyle } from './invitation-style.js'
import type { Shown } from './visit.js'
import type { Invitation } from './wording.js'

const show = (parts: Omit<CardPage, 'style'>): Reply => cardPage({ ...parts, style: invitationStyle })

/** What the mailed link opens: what the mail told, and the way to it. It needs no script. */
export function invitationPage(shown: Shown, sandbox: boolean): Reply {
  if (shown.step === 'claimed') return claimedPage(shown)
  const { step, invitation, refused } = shown
  return show({
    title: `You are sent ${invitation.amount}`,
    refused,
    refresh: step === 'device' && !refused ? POLL : undefined,
    body: (
      <>
        <p class="kicker">
          For <bdi>{invitation.email}</bdi>
        </p>
        <h1>You are sent {invitation.amount}</h1>
        <p>
          From <strong dir="auto">{invitation.sender}</strong>
        </p>
        <p class="muted wallet">{invitation.hostname}</p>
        {invitation.memo !== null && <Memo text={invitation.memo} />}
        {refused && <Alert>{refused.message}</Alert>}
        {step === 'device' && <WaitsForDevice />}
        {step === 'offer' && <Offer {...invitation} />}
        {step === 'code' && <Code {...invitation} isRefused={refused !== undefined} />}
        {step === 'code' && sandbox && <SandboxMail outbox="../_sandbox/outbox" />}
      </>
    ),
  })
}

const Memo = ({ text }: { text: string }) => (
  <figure>
    <figcaption>Their message</figcaption>
    <blockquote dir="auto">{text}</blockquote>
  </figure>
)

const Offer = ({ email, until }: Invitation) => (
  <>
    <p>It waits for you until {until}. If you do not want it, do nothing: it goes back then.</p>
    <form method="post">
      <p>
        We mail a code to <strong>{email}</strong>. With that you sign in, and it is in your wallet.
      </p>
      <Actions>
        <Button answer="continue" go>
          Continue
        </Button>
      </Actions>
    </form>
  </>
)

const Code = ({ email, isRefused }: Invitation & { isRefused: boolean }) => (
  <>
    <CodeForm email={email} isRefused={isRefused} />
    <form method="post" class="more">
      <Button answer="continue">Send a new code</Button>
    </form>
  </>
)

const claimedPage = ({ amount, balance }: Extract<Shown, { step: 'claimed' }>): Reply =>
  show({
    title: 'It is in your wallet',
    done: true,
    body: (
      <>
        <p class="kicker">You got {amount}</p>
        <h1>It is in your wallet</h1>
        <p class="balance">BALANCE {balance}</p>
        <p>You can close this page.</p>
      </>
    ),
  })

/** In place of the offer, to people; what they can do is in the sentence. */
export const refusedPage = (refused: Problem): Reply =>
  show({
    title: 'Nothing waits here',
    refused,
    body: (
      <>
        <h1>Nothing waits here</h1>
        <p role="alert">
          {refused.code === 'not_found'
            ? 'This is no link that we mailed: open it as it is in the mail.'
            : refused.message}
        </p>
      </>
    ),
  })
