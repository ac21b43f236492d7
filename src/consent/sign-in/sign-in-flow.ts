import { Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { Email, z } from '../../http/fields/schema.js'
import { Next, type Visitor } from '../../http/pages/form-flow.js'
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

/** Mails a code. Leads to the step `code`, or gives why not, as `mailCode`. */
export async function sendPageCode(
  tx: Writer,
  filled: { readonly email: string; readonly sessionId: string },
  service: ServiceContext,
): Promise<Next | Problem> {
  const mailed = await mailCode(tx, filled, service)
  return mailed instanceof Problem ? mailed : new Next({ step: 'code' })
}

interface FilledPageCode {
  /** Where none is named, that to which a code was mailed last. */
  readonly email?: string | undefined
  readonly code: string
  readonly sessionId: string
  /** Shown on the device beside the address. */
  readonly detail?: Detail | undefined
}

/**
 * Signs in by the code that was mailed in this session. Leads on as the session that is signed in, or to the step `device` where the
 * user has to approve it there. Gives why not: `code_wrong`, `code_expired`, `too_many_tries`, `too_many_pending`, `too_many_mails`.
 */
export async function verifyCode(
  tx: Writer,
  { email, ...filled }: FilledPageCode,
  service: ServiceContext,
): Promise<Next | Problem> {
  // It was entered before: the page that waits says what becomes of it.
  if (await waitingCode(tx, filled.sessionId)) return new Next({ step: 'device' })
  const address = email ?? (await lastCode(tx, filled.sessionId))?.email
  if (address === undefined) return noCodeProblem()
  const outcome = await nextOf(() => signInByCode(tx, { ...filled, email: address, at: service.clock.now() }, service))
  return outcome instanceof Problem && outcome.code === 'session_required' ? noCodeProblem() : outcome
}

/**
 * Whether the device has approved a sign-in that waits in this session: leads on as `verifyCode` does, or gives why not, `rejected` or
 * `code_expired`. Undefined where no sign-in waits.
 */
export async function resumeCodeSignIn(
  tx: Writer,
  sessionId: string,
  service: ServiceContext,
): Promise<Next | Problem | undefined> {
  if (!(await waitingCode(tx, sessionId))) return undefined
  return nextOf(async () => {
    const outcome = await continueSignIn(tx, { sessionId, at: service.clock.now() }, service)
    return outcome ?? problem('code_expired')
  })
}

/** The same for a page at its step `device`; undefined also while the device has not answered. */
export async function resumePageSignIn(
  tx: Writer,
  { sessionId, step }: Visitor,
  service: ServiceContext,
): Promise<Next | Problem | undefined> {
  const since = step === 'device' ? await resumeCodeSignIn(tx, sessionId, service) : undefined
  return since instanceof Next && since.session === undefined ? undefined : since
}

async function nextOf(sign: () => Promise<SignInOutcome>): Promise<Next | Problem> {
  try {
    const outcome = await sign()
    if (outcome instanceof Problem) return outcome
    return new Next('waits' in outcome ? { step: 'device' } : { session: outcome.session_id })
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}

/** People are told of cookies where programs are told of headers. */
const noCodeProblem = () =>
  problem('code_wrong', { detail: 'Ask for a new one. If this happens again, allow cookies for this site.' })

/** The address whose code can still be filled in, in this session. */
async function awaitedEmail(tx: Reader, sessionId: string, at: number): Promise<string | undefined> {
  const code = await lastCode(tx, sessionId)
  return code && !code.used && code.expires_at > at ? code.email : undefined
}

export interface FilledSignIn {
  readonly email?: string | undefined
  readonly code?: string | undefined
}

/** What the buttons of the sign-in forms do: parts of a flow's `answers`. */
export const signInAnswers = {
  continue: (tx: Writer, { sessionId }: Visitor, { email = '' }: FilledSignIn, service: ServiceContext) =>
    sendPageCode(tx, { email, sessionId }, service),
  verify: (tx: Writer, { sessionId }: Visitor, { code = '' }: FilledSignIn, service: ServiceContext) =>
    verifyCode(tx, { code, sessionId }, service),
  other_email: async () => new Next({ step: 'email' }),
  switch: async () => new Next({ step: 'email' }),
}

/** The step at which an answer of theirs was filled in. */
export const signInRefusedAt = (answer: string): SignInStep['step'] | undefined =>
  answer === 'verify' ? 'code' : answer === 'continue' ? 'email' : undefined

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
  { sessionId, step, email = '' }: Pick<Visitor, 'sessionId' | 'step' | 'email'>,
  at: number,
): Promise<SignInStep> {
  const waiting = step === 'device' ? await waitingCode(tx, sessionId) : undefined
  if (waiting) return { step: 'device', email: waiting.email }
  const awaited = step === 'code' ? await awaitedEmail(tx, sessionId, at) : undefined
  return awaited === undefined ? { step: 'email', email: email.slice(0, 254) } : { step: 'code', email: awaited }
}
