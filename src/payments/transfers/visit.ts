import { Problem, problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { digest } from '../../base/secrets.js'
import { mailCode, type SignedInSince, signedInSince, verifyCode } from '../../consent/sign-in/page-sign-in.js'
import type { ServiceContext } from '../../http/context.js'
import { findSession } from '../../identity/sessions/session.js'
import { waitingCode } from '../../identity/sessions/sign-in-code.js'
import { balanceOf, spendable } from '../../money/ledger/balance.js'
import { firstTwinOf } from '../../money/twins/twin.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { statusOf, type TransferRow, transfers } from './transfer.js'
import { amountText, type Invitation, invitationOf } from './wording.js'

/** `device`: while whoever signs in is asked on theirs. */
export const steps = ['offer', 'code', 'device'] as const
export type InvitationStep = (typeof steps)[number]

/** What somebody who opened the mailed link is shown. */
export type Shown =
  /** `code`: once one was mailed. */
  | { readonly step: InvitationStep; readonly invitation: Invitation; readonly refused?: Problem }
  /** To the user who has it now. Both are texts with the shortcode. */
  | { readonly step: 'claimed'; readonly amount: string; readonly balance: string }

export interface Visit {
  /** Of the link. */
  readonly token: string
  readonly sessionId: string
}

/** Throws `not_found`, `transfer_expired`; `link_expired` where it was cancelled, or claimed by another than who looks. */
export async function visit(
  tx: Reader,
  { token, sessionId }: Visit,
  { step, at }: { step: InvitationStep; at: number },
): Promise<Shown> {
  const transfer = await transferOf(tx, token)
  const session = transfer.status === 'completed' ? await findSession(tx, sessionId, at) : undefined
  if (session && transfer.recipient_owner === `user:${session.user_id}`) return claimed(tx, transfer)
  checkOpen(transfer, at)
  return { step, invitation: await invitationOf(tx, transfer) }
}

async function transferOf(tx: Reader, token: string): Promise<TransferRow> {
  const [transfer] = await tx.find(transfers, { index: 'byLink', prefix: [digest(token)], limit: 1 })
  if (!transfer) throw problem('not_found')
  return transfer
}

function checkOpen(transfer: TransferRow, at: number): void {
  const status = statusOf(transfer, at)
  if (status === 'expired') throw problem('transfer_expired')
  if (status === 'cancelled') throw problem('link_expired', { detail: 'The sender took the amount back.' })
  if (status === 'completed') throw problem('link_expired', { detail: 'The amount was claimed.' })
}

async function claimed(tx: Reader, transfer: TransferRow): Promise<Shown> {
  const { dq } = transfer
  const twin = await firstTwinOf(tx, required(transfer.recipient_owner, `the recipient of transfer ${transfer.id}`))
  const balance = spendable(await balanceOf(tx, twin.id, dq))
  return {
    step: 'claimed',
    amount: await amountText(tx, transfer),
    balance: await amountText(tx, { dq, amount: balance }),
  }
}

/** Whether the device of whoever signs in has approved that since. Gives why not. */
export const signedInBy = (
  tx: Writer,
  at: { readonly sessionId: string; readonly step: InvitationStep },
  service: ServiceContext,
): Promise<SignedInSince | Problem | undefined> => signedInSince(tx, at, service)

/** The step that an address names, where it is not over: nothing waits for a device twice. */
export const stepNow = async (
  tx: Reader,
  { sessionId, step }: { readonly sessionId: string; readonly step: InvitationStep },
): Promise<InvitationStep> => (step === 'device' && !(await waitingCode(tx, sessionId)) ? 'offer' : step)

/** `continue` mails a code, `verify` takes it. */
export const answers = ['continue', 'verify'] as const

/** Where an answer leads: to a page, or, once it was taken, to the next step by the session that goes on. */
export type Answered =
  | Shown
  | { readonly step: 'next'; readonly next: 'code' | 'device' | 'claimed'; readonly session?: string }

/** Takes an answer. Throws as `visit`; what else is wrong is told in `refused`. */
export async function answer(
  tx: Writer,
  { token, sessionId }: Visit,
  filled: { readonly answer: (typeof answers)[number]; readonly code?: string | undefined },
  service: ServiceContext,
): Promise<Answered> {
  const at = service.clock.now()
  const transfer = await transferOf(tx, token)
  checkOpen(transfer, at)
  const reader = { email: transfer.address, sessionId }
  // Whoever signs in by a mailed code is given all that waits for that email.
  const taken =
    filled.answer === 'continue'
      ? await mailCode(tx, reader, service)
      : await verifyCode(tx, { ...reader, code: filled.code ?? '' }, service)
  if (taken instanceof Problem) return { step: 'code', invitation: await invitationOf(tx, transfer), refused: taken }
  if (typeof taken === 'object') return { step: 'next', next: 'claimed', ...taken }
  return { step: 'next', next: taken === 'waits' ? 'device' : 'code' }
}
