import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { digest } from '../../base/secrets.js'
import { resumePageSignIn, sendPageCode, verifyCode } from '../../consent/sign-in/sign-in-flow.js'
import type { ServiceContext } from '../../http/context.js'
import { formFlow, Next, type Visit } from '../../http/pages/form-flow.js'
import { findSession } from '../../identity/sessions/session.js'
import { waitingCode } from '../../identity/sessions/sign-in-code.js'
import { amountText } from '../../money/digital-quantities/digital-quantity.js'
import { balanceOf, spendable } from '../../money/ledger/balance.js'
import { firstTwinOf } from '../../money/twins/twin.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { invitationPages, invitationSentence } from './invitation-page.js'
import { type TransferRow, transferStatus, transfers } from './transfer.js'
import { type Invitation, invitationOf } from './wording.js'

/** What the page of a mailed link shows. */
export type ShownInvitation =
  /** `code`: a code was mailed. `device`: the user must approve the sign-in on their device. */
  | { readonly step: 'offer' | 'code' | 'device'; readonly invitation: Invitation }
  /** The recipient sees this. Both are texts with the shortcode. */
  | { readonly step: 'claimed'; readonly amount: string; readonly balance: string }

type InvitationVisit = Visit<{ readonly token: string }>

/** Throws `not_found`, `transfer_expired`, and `link_expired` if it was cancelled, or claimed by someone else. */
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
  return {
    step: 'claimed',
    amount: await amountText(tx, transfer),
    balance: await amountText(tx, { dq, amount: balance }),
  }
}

/** The invited email. Throws like `look`. */
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
