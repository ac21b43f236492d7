import type { Problem } from '../../base/problem.js'
import type { At, Pages, View } from '../../http/pages/form-flow.js'
import type { FormPage } from '../../http/pages/form-page.js'
import { AmountText, Form, GoOn, Quotation, SignInForms } from '../../http/pages/parts.js'
import type { ShownInvitation } from './invitation-flow.js'
import type { Invitation } from './wording.js'

const openPage = ({ step, invitation }: At<ShownInvitation, 'offer'>, { isRefused, outbox, poll }: View): FormPage => ({
  title: `${invitation.amount} for you`,
  kicker: (
    <>
      For <bdi>{invitation.email}</bdi>
    </>
  ),
  refresh: step === 'device' ? poll : undefined,
  about: (
    <>
      <p>
        From <strong dir="auto">{invitation.sender}</strong>
        <br />
        <span class="muted">{invitation.hostname}</span>
      </p>
      {invitation.memo !== null && <Quotation by="Their message">{invitation.memo}</Quotation>}
    </>
  ),
  body:
    step === 'offer' ? (
      <Offer {...invitation} />
    ) : (
      <SignInForms at={{ step, email: invitation.email }} isRefused={isRefused} outbox={outbox} another={null} />
    ),
})

const Offer = ({ email, until }: Invitation) => (
  <>
    <p>You can claim it until {until}. If you do not want it, do nothing, and it goes back.</p>
    <Form>
      <p>
        We mail a code to <strong>{email}</strong>. Sign in with it, and the amount is in your wallet.
      </p>
      <GoOn answer="continue">Continue</GoOn>
    </Form>
  </>
)

export const invitationPages: Pages<ShownInvitation> = {
  offer: openPage,
  code: openPage,
  device: openPage,
  claimed: ({ amount, balance }) => ({
    title: 'It is in your wallet',
    kicker: `You got ${amount}`,
    tone: 'good',
    about: <AmountText>BALANCE {balance}</AmountText>,
    body: <p>You can close this page.</p>,
  }),
}

export const invitationSentence = ({ code }: Problem): string | undefined =>
  code === 'not_found' ? 'This link is wrong. Open it exactly as it is in the mail.' : undefined
