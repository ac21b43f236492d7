import type { ServiceContext } from '../context.js'
import { Email, z } from '../http/schema.js'
import { Problem, problem } from '../problem.js'
import { digest } from '../secrets.js'
import type { Reader, Writer } from '../storage/storage.js'
import { signIn } from './session.js'
import { type SignInCodeRow, sendCode, signInCodes, spendCode } from './sign-in-code.js'

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

/**
 * Signs in by the code that was mailed in this session: to `email`, or, where none is named, last.
 * Gives the session that goes on, or why not: `code_wrong`, `code_expired`, `too_many_tries`.
 */
export async function verifyCode(
  tx: Writer,
  { email, code, sessionId }: { readonly email?: string; readonly code: string; readonly sessionId: string },
  service: ServiceContext,
): Promise<string | Problem> {
  const at = service.clock.now()
  const address = email ?? (await lastCode(tx, sessionId))?.email
  if (address === undefined) return noCodeHere()
  const refused = await spendCode(tx, { email: address, code, sessionId, at }, service)
  if (refused) return refused.code === 'session_required' ? noCodeHere() : refused
  return (await signIn(tx, { email: address, previousSessionId: sessionId, at }, service)).session_id
}

/** People are told of cookies where programs are told of headers. */
const noCodeHere = () =>
  problem('code_wrong', { detail: 'Ask for a new one. If this happens again, allow cookies for this site.' })

/** The address whose code can still be filled in, in this session. */
async function awaitedEmail(tx: Reader, sessionId: string, at: number): Promise<string | undefined> {
  const code = await lastCode(tx, sessionId)
  return code && !code.used && code.expires_at > at ? code.email : undefined
}

/** More codes than a session can ask for while they live. */
const MOST_CODES = 100

/** The last code that this session asked for. */
async function lastCode(tx: Reader, sessionId: string): Promise<SignInCodeRow | undefined> {
  const codes = await tx.find(signInCodes, { index: 'bySession', prefix: [digest(sessionId)], limit: MOST_CODES })
  return codes.toSorted((a, b) => b.id - a.id)[0]
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
): Promise<{ readonly step?: 'email' | 'code'; readonly session?: string } | Problem> {
  if (answer === 'continue') {
    const mailed = await mailCode(tx, { email, sessionId }, service)
    return mailed instanceof Problem ? mailed : { step: 'code' }
  }
  if (answer !== 'verify') return { step: 'email' }
  const verified = await verifyCode(tx, { code, sessionId }, service)
  return verified instanceof Problem ? verified : { session: verified }
}

export const isSignInAnswer = (answer: string): answer is FilledSignIn['answer'] =>
  (signInAnswers as readonly string[]).includes(answer)

/** Where somebody is on the way of signing in on a page. */
export type SignInStep =
  /** What stands in the field at first. */
  { readonly step: 'email'; readonly email: string } | { readonly step: 'code'; readonly email: string }

/** The step that a page's own links lead to: `code` once one was mailed and can still be filled in. */
export async function signInStep(
  tx: Reader,
  {
    sessionId,
    step,
    email = '',
  }: { readonly sessionId: string; readonly step?: string | undefined; email?: string | undefined },
  at: number,
): Promise<SignInStep> {
  const awaited = step === 'code' ? await awaitedEmail(tx, sessionId, at) : undefined
  return awaited === undefined ? { step: 'email', email: email.slice(0, 254) } : { step: 'code', email: awaited }
}
