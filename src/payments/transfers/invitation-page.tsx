import { type Problem, problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { digest } from '../../base/secrets.js'
import { resumePageSignIn, sendPageCode, verifyCode } from '../../consent/sign-in/sign-in-flow.js'
import type { ServiceContext } from '../../http/context.js'
import { type At, formFlow, Next, type Pages, type View, type Visit } from '../../http/pages/form-flow.js'
import type { FormPage } from '../../http/pages/form-page.js'
import { AmountText, Form, GoOn, Quotation, SignInForms } from '../../http/pages/parts.js'
import { findSession } from '../../identity/sessions/session.js'
import { waitingCode } from '../../identity/sessions/sign-in-code.js'
import { amountText } from '../../money/digital-quantities/digital-quantity.js'
import { balanceOf, spendable } from '../../money/ledger/movement.js'
import { firstTwinOf } from '../../money/twins/twin.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { type Invitation, invitationOf, type TransferRow, transferStatus, transfers } from './transfer.js'

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

const invitationPages: Pages<ShownInvitation> = {
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

const invitationSentence = ({ code }: Problem): string | undefined =>
  code === 'not_found' ? 'This link is wrong. Open it exactly as it is in the mail.' : undefined

type ShownInvitation =
  /** `code`: a code was mailed. `device`: the user must approve the sign-in on their device. */
  | { readonly step: 'offer' | 'code' | 'device'; readonly invitation: Invitation }
  /** The recipient sees this. Both are texts with the shortcode. */
  | { readonly step: 'claimed'; readonly amount: string; readonly balance: string }

type InvitationVisit = Visit<{ readonly token: string }>

async function look(
  tx: Reader,
  { token, sessionId, step, refused }: InvitationVisit,
  { clock }: ServiceContext,
): Promise<ShownInvitation | Next> {
  const at = clock.now()
  const transfer = await transferOf(tx, token)
  const session = transfer.status === 'completed' ? await findSession(tx, sessionId, at) : undefined
  if (session && transfer.recipient_owner === `user:${session.user_id}`)
    return refused ? new Next() : claimed(tx, transfer)
  checkOpen(transfer, at)
  // The device may have answered already.
  const isWaiting = step === 'device' && (await waitingCode(tx, sessionId)) !== undefined
  const invitation = await invitationOf(tx, transfer)
  return { step: isWaiting ? 'device' : step === 'code' ? 'code' : 'offer', invitation }
}

async function transferOf(tx: Reader, token: string): Promise<TransferRow> {
  const [transfer] = await tx.find(transfers, { index: 'byLink', prefix: [digest(token)], limit: 1 })
  if (!transfer) throw problem('not_found')
  return transfer
}

function checkOpen(transfer: TransferRow, at: number): void {
  const status = transferStatus(transfer, at)
  if (status === 'expired') throw problem('transfer_expired')
  if (status === 'cancelled') throw problem('link_expired', { detail: 'The sender took the amount back.' })
  if (status === 'completed') throw problem('link_expired', { detail: 'The amount was claimed already.' })
}

async function claimed(tx: Reader, transfer: TransferRow): Promise<ShownInvitation> {
  const { dq } = transfer
  const twin = await firstTwinOf(tx, required(transfer.recipient_owner, `the recipient of transfer ${transfer.id}`))
  const balance = spendable(await balanceOf(tx, twin.id, dq))
  const amount = await amountText(tx, transfer)
  return { step: 'claimed', amount, balance: await amountText(tx, { dq, amount: balance }) }
}

async function invitedEmail(tx: Reader, { token }: InvitationVisit, { clock }: ServiceContext): Promise<string> {
  const transfer = await transferOf(tx, token)
  checkOpen(transfer, clock.now())
  return transfer.address
}

export const invitationFlow = formFlow({
  path: '/transfers/:token',
  signedIn: resumePageSignIn,
  look,
  pages: invitationPages,
  sentence: invitationSentence,
  refusedTitle: () => 'This invitation is not available',
  refusedAt: () => 'code',
  answers: {
    continue: async (tx: Writer, visit: InvitationVisit, _: object, service: ServiceContext) => {
      const { sessionId, source } = visit
      return sendPageCode(tx, { email: await invitedEmail(tx, visit, service), sessionId, source }, service)
    },
    // Signing in with a mailed code claims everything that was sent to the email.
    verify: async (
      tx: Writer,
      visit: InvitationVisit,
      { code = '' }: { readonly code?: string | undefined },
      service: ServiceContext,
    ) => {
      const email = await invitedEmail(tx, visit, service)
      return verifyCode(tx, { email, code, sessionId: visit.sessionId }, service)
    },
  },
})
