import { Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { Email, z } from '../../http/fields/schema.js'
import { lastCode, sendCode, waitingCode } from '../../identity/sessions/sign-in-code.js'
import type { Reader, Writer } from '../../storage/storage.js'
import type { Detail } from '../second-factor/detail.js'
import { continueSignIn, type SignInOutcome, signInByCode } from './code-sign-in.js'

/** Sign-in by a mailed code, as pages without a script take it: what is refused is given, not thrown, as there is a page for that. */

/** Mails a code to what was filled in. Gives the address, or why not: `field_invalid`, `too_many_codes`. */
export async function mailCode(
  tx: Writer,
  { email, sessionId }: { readonly email: string; readonly sessionId: string },
  service: ServiceContext,
): Promise<string | Problem> {
  const checked = z.safeParse(Email, email)
  if (!checked.success)
    return problem('field_invalid', { detail: '"email" must be an email address.', fields: { field: 'email' } })
  try {
    await sendCode(tx, { email: checked.data, sessionId, at: service.clock.now() }, service)
    return checked.data
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

/** The session that goes on, or that the user has to approve it on their device first. */
export type Verified = { readonly session: string } | 'waits'

interface Filled {
  /** Where none is named, that to which a code was mailed last. */
  readonly email?: string | undefined
  readonly code: string
  readonly sessionId: string
  /** Shown on the device beside the address. */
  readonly detail?: Detail | undefined
}

/**
 * Signs in by the code that was mailed in this session.
 * Gives why not: `code_wrong`, `code_expired`, `too_many_tries`, `too_many_pending`, `too_many_mails`.
 */
export async function verifyCode(
  tx: Writer,
  { email, ...filled }: Filled,
  service: ServiceContext,
): Promise<Verified | Problem> {
  // It was entered before: the page that waits says what becomes of it.
  if (await waitingCode(tx, filled.sessionId)) return 'waits'
  const address = email ?? (await lastCode(tx, filled.sessionId))?.email
  if (address === undefined) return noCodeHere()
  const outcome = await verified(() =>
    signInByCode(tx, { ...filled, email: address, at: service.clock.now() }, service),
  )
  return outcome instanceof Problem && outcome.code === 'session_required' ? noCodeHere() : outcome
}

/** A page that waits for a device, once that was approved: it goes on from the same address as this session. */
export interface SignedInSince {
  readonly step: 'signed_in'
  readonly session: string
}

/**
 * What a page at its step `device` finds of the request there: that it was approved, or that not, `rejected` or `code_expired`;
 * undefined while it is pending, and where no sign-in waits.
 */
export async function signedInSince(
  tx: Writer,
  { sessionId, step }: { readonly sessionId: string; readonly step?: string | undefined },
  service: ServiceContext,
): Promise<SignedInSince | Problem | undefined> {
  const since = step === 'device' ? await verifiedSince(tx, sessionId, service) : undefined
  if (since === undefined || since === 'waits' || since instanceof Problem) return since === 'waits' ? undefined : since
  return { step: 'signed_in', session: since.session }
}

/** Looks whether the device has answered for this session since; undefined where no sign-in waits. Gives `rejected`, `code_expired`. */
export async function verifiedSince(
  tx: Writer,
  sessionId: string,
  service: ServiceContext,
): Promise<Verified | Problem | undefined> {
  if (!(await waitingCode(tx, sessionId))) return undefined
  return verified(async () => {
    const outcome = await continueSignIn(tx, { sessionId, at: service.clock.now() }, service)
    return outcome ?? problem('code_expired')
  })
}

async function verified(sign: () => Promise<SignInOutcome>): Promise<Verified | Problem> {
  try {
    const outcome = await sign()
    if (outcome instanceof Problem) return outcome
    return 'waits' in outcome ? 'waits' : { session: outcome.session_id }
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

/** People are told of cookies where programs are told of headers. */
const noCodeHere = () =>
  problem('code_wrong', { detail: 'Ask for a new one. If this happens again, allow cookies for this site.' })

/** The address whose code can still be filled in, in this session. */
async function awaitedEmail(tx: Reader, sessionId: string, at: number): Promise<string | undefined> {
  const code = await lastCode(tx, sessionId)
  return code && !code.used && code.expires_at > at ? code.email : undefined
}

/** The buttons of the forms that sign people in. */
export const signInAnswers = ['continue', 'verify', 'other_email', 'switch'] as const

export interface FilledSignIn {
  readonly answer: (typeof signInAnswers)[number]
  readonly email?: string | undefined
  readonly code?: string | undefined
}

/** Takes such an answer. Gives the step that it leads to and the session that goes on, or why it was not taken. */
export async function answerSignIn(
  tx: Writer,
  { answer, email = '', code = '' }: FilledSignIn,
  sessionId: string,
  service: ServiceContext,
): Promise<{ readonly step?: SignInStep['step']; readonly session?: string } | Problem> {
  if (answer === 'continue') {
    const mailed = await mailCode(tx, { email, sessionId }, service)
    return mailed instanceof Problem ? mailed : { step: 'code' }
  }
  if (answer !== 'verify') return { step: 'email' }
  const verified = await verifyCode(tx, { code, sessionId }, service)
  return verified === 'waits' ? { step: 'device' } : verified
}

export const isSignInAnswer = (answer: string): answer is FilledSignIn['answer'] =>
  signInAnswers.some((each) => each === answer)

/** Where somebody is on the way of signing in on a page. */
export type SignInStep =
  /** What stands in the field at first. */
  | { readonly step: 'email'; readonly email: string }
  | { readonly step: 'code'; readonly email: string }
  /** The code was right: the user's device is asked. */
  | { readonly step: 'device'; readonly email: string }

/** The step that a page's own links lead to: `code` once one was mailed and can still be filled in, `device` while that is asked. */
export async function signInStep(
  tx: Reader,
  {
    sessionId,
    step,
    email = '',
  }: { readonly sessionId: string; readonly step?: string | undefined; email?: string | undefined },
  at: number,
): Promise<SignInStep> {
  const waiting = step === 'device' ? await waitingCode(tx, sessionId) : undefined
  if (waiting) return { step: 'device', email: waiting.email }
  const awaited = step === 'code' ? await awaitedEmail(tx, sessionId, at) : undefined
  return awaited === undefined ? { step: 'email', email: email.slice(0, 254) } : { step: 'code', email: awaited }
}
