import { Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { findSession, type SessionRow } from '../../identity/sessions/session.js'
import { emailOf } from '../../identity/users/user.js'
import type { SeenPrice } from '../../money/commodities/seen-price.js'
import { toAmount } from '../../money/ledger/amount.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { hasDevice } from '../devices/device.js'
import { lastAsked } from '../second-factor/asked.js'
import { requireSecondFactor, spendSecondFactor } from '../second-factor/request.js'
import {
  answerSignIn,
  isSignInAnswer,
  type SignedInSince,
  type SignInStep,
  signedInSince,
  signInAnswers,
  signInStep,
} from '../sign-in/page-sign-in.js'
import { type ApprovalRow, type ApprovalStatus, approvals, decide, statusOf } from './approval.js'
import { approvedPrice, checkApprovedPrice } from './price.js'
import { appOf, secondFactorDetail } from './second-factor.js'

/** What an agent asks, as its user reads it. */
export interface Asked {
  readonly app: string
  readonly kind: ApprovalRow['kind']
  readonly summary: string
  readonly detail: Readonly<Record<string, unknown>>
  /** What an account change replaces. */
  readonly now: Readonly<Record<string, unknown>> | undefined
  /** What it pays, in the digital quantity; undefined where it pays nothing. */
  readonly quote: { readonly price: number; readonly dq: string } | undefined
  /** Of the user. */
  readonly email: string
  /** In UTC, to the minute. */
  readonly until: string
}

/** What whoever opened the page is shown. */
export type Shown = { readonly refused?: Problem | undefined } & (
  | SignInStep
  | SignedInSince
  /** To everybody but the user whom it asks, whether it exists or not. */
  | { readonly step: 'nothing'; readonly email: string }
  | { readonly step: 'asked'; readonly asked: Asked }
  /** `by`: what the request was sent to. */
  | { readonly step: 'wait'; readonly asked: Asked; readonly by: 'device' | 'mail' }
  | { readonly step: 'over'; readonly asked: Asked; readonly status: Exclude<ApprovalStatus, 'pending'> }
)

export interface Visit {
  readonly id: string
  readonly sessionId: string
  /** Where the page's own links lead. */
  readonly step?: string | undefined
  /** That was filled in, and not taken. */
  readonly email?: string | undefined
}

/** Where a visitor stands; approves what their second factor has approved since. */
export async function visit(tx: Writer, at: Visit, service: ServiceContext): Promise<Shown> {
  const now = service.clock.now()
  const since = await signedInSince(tx, at, service)
  if (since && !(since instanceof Problem)) return since
  const session = await findSession(tx, at.sessionId, now)
  const signIn = await signInStep(tx, at, now)
  if (since) return { ...signIn, refused: since }
  if (!session || signIn.step !== 'email' || at.step === 'email') return signIn
  const row = await ownRow(tx, at.id, session)
  const email = (await emailOf(tx, `user:${session.user_id}`)) ?? ''
  if (!row) return { step: 'nothing', email, refused: problem('not_found') }
  const asked = await askedOf(tx, row, email)
  const status = statusOf(row, now)
  if (status !== 'pending') return { step: 'over', asked, status }
  const result = await secondFactor(tx, { row, sessionId: at.sessionId }, now)
  if (result === 'approved') {
    await decide(tx, row, { decision: 'approved', at: now })
    return { step: 'over', asked, status: 'approved' }
  }
  if (result === 'device' || result === 'mail') return { step: 'wait', asked, by: result }
  const refused =
    at.step === 'wait' && result ? problem(result === 'rejected' ? 'rejected' : 'approval_timeout') : undefined
  return { step: 'asked', asked, refused }
}

async function ownRow(tx: Reader, id: string, session: SessionRow): Promise<ApprovalRow | undefined> {
  const row = await tx.get(approvals, id)
  return row?.user_id === session.user_id ? row : undefined
}

async function askedOf(tx: Reader, row: ApprovalRow, email: string): Promise<Asked> {
  const { kind, summary, detail, now, expires_at } = row
  const price = await approvedPrice(tx, row)
  const quote = price && { price: toAmount(price.amount, price.quantity.decimals), dq: price.quantity.id }
  return { ...{ app: await appOf(tx, row), kind, summary, detail, now, email, quote }, until: minuteText(expires_at) }
}

const minuteText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`

interface Asking {
  readonly row: ApprovalRow
  readonly sessionId: string
}

const orderOf = async (tx: Reader, { row, sessionId }: Asking) => ({
  userId: row.user_id,
  action: 'approval',
  detail: await secondFactorDetail(tx, row),
  sessionId,
})

/** What became of the last request of this session's: `approved` once, which spends it; undefined where there is none. */
async function secondFactor(
  tx: Writer,
  asking: Asking,
  at: number,
): Promise<'device' | 'mail' | 'approved' | 'rejected' | 'expired' | undefined> {
  const order = { ...(await orderOf(tx, asking)), at }
  const asked = await lastAsked(tx, order)
  if (!asked) return undefined
  const { request, status } = asked
  if (status === 'pending') return request.link_digest === null ? 'device' : 'mail'
  if (status === 'approved') await spendSecondFactor(tx, { ...order, id: request.id })
  return status
}

export const answers = [...signInAnswers, 'approve', 'reject'] as const

/** What somebody filled in, and the button that they pressed. */
export interface Filled {
  readonly answer: (typeof answers)[number]
  readonly email?: string | undefined
  readonly code?: string | undefined
  /** The quote that the page showed. */
  readonly price?: number | string | undefined
  readonly dq?: string | undefined
}

/** Where an answer leads, and the session that goes on. */
export interface Taken {
  readonly step?: SignInStep['step'] | 'wait'
  readonly session?: string
}

/** Takes an answer. Gives why it was not taken. */
export async function answer(tx: Writer, at: Visit, filled: Filled, service: ServiceContext): Promise<Taken | Problem> {
  const { sessionId } = at
  const { answer } = filled
  if (isSignInAnswer(answer)) return answerSignIn(tx, { ...filled, answer }, sessionId, service)
  return decideBy(tx, at, { verb: answer, seen: filled }, service)
}

async function decideBy(
  tx: Writer,
  { id, sessionId }: Visit,
  { verb, seen }: { verb: 'approve' | 'reject'; seen: SeenPrice },
  service: ServiceContext,
): Promise<Taken | Problem> {
  const at = service.clock.now()
  const session = await findSession(tx, sessionId, at)
  if (!session) return problem('sign_in_required')
  const row = await ownRow(tx, id, session)
  if (!row) return problem('not_found')
  if (statusOf(row, at) !== 'pending') return problem('not_pending')
  if (verb === 'reject') return settled(await decide(tx, row, { decision: 'rejected', at }))
  const changed = await problemOf(checkApprovedPrice(tx, row, seen))
  if (changed) return changed
  const known = await secondFactor(tx, { row, sessionId }, at)
  if (known === 'device' || known === 'mail') return { step: 'wait' }
  const isShown = known === 'approved' || (await isJustSignedIn(tx, session, at))
  if (isShown) return settled(await decide(tx, row, { decision: 'approved', at }))
  const order = { ...(await orderOf(tx, { row, sessionId })), at }
  return (await problemOf(requireSecondFactor(tx, order, service))) ?? { step: 'wait' }
}

async function problemOf(step: Promise<unknown>): Promise<Problem | undefined> {
  try {
    await step
    return undefined
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

const settled = (decided: ApprovalRow | Problem): Taken | Problem => (decided instanceof Problem ? decided : {})

/** How long a code counts. */
const JUST_NOW = 5 * 60_000

/**
 * Whoever has no device is asked by a link in their mail, which shows that they read it: a code from there that they filled
 * in a moment ago, in this very session, shows the same.
 */
const isJustSignedIn = async (tx: Reader, { user_id, by, created_at }: SessionRow, at: number): Promise<boolean> =>
  by === 'code' && at - created_at < JUST_NOW && !(await hasDevice(tx, user_id))
