import { Problem, problem, problemOr } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { fieldRefused } from '../../http/fields/field.js'
import { Email, z } from '../../http/fields/schema.js'
import { Next, type Visitor } from '../../http/pages/form-flow.js'
import { findSession, isSignedInByPerson, signIn } from '../../identity/sessions/session.js'
import {
  bindCode,
  checkCode,
  endCode,
  isCodeCurrent,
  lastCode,
  type SignInCodeRow,
  sendSessionCode,
  spendCode,
  waitingCode,
} from '../../identity/sessions/sign-in-code.js'
import { isProven, userByEmail } from '../../identity/users/user.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { hasDevice } from '../devices/device.js'
import {
  type AuthenticationRequestRow,
  findRequest,
  requireSecondFactor,
  showRequest,
  spendSecondFactor,
} from '../second-factor/request.js'
import type { Detail } from '../second-factor/wording.js'

interface SigningIn {
  readonly sessionId: string
  /** What the sign-in is for. The device shows it next to the address. */
  readonly detail?: Detail | undefined
  readonly at: number
}

interface FilledCode extends SigningIn {
  readonly email: string
  readonly code: string
  /** Id of the authentication request from the first call with this code. */
  readonly requestId?: number | undefined
}

type SignedIn = Awaited<ReturnType<typeof signIn>>

/** The user has not approved this request on their device yet. */
type WaitingSignIn = { readonly waits: ReturnType<typeof showRequest> }
type SignInOutcome = SignedIn | WaitingSignIn | Problem

/**
 * Signs in with a mailed code. A user with a device also approves the sign-in there, unless this is already their session.
 * From then on the code works with that request only.
 * Returns `code_wrong`, `code_expired`, `too_many_tries` and `rejected`, so that the transaction keeps the failed try.
 * Throws `field_invalid` for a wrong `requestId`, `too_many_pending`, `too_many_mails`.
 */
export async function signInByCode(tx: Writer, { requestId, ...filled }: FilledCode, service: ServiceContext) {
  const code = await checkCode(tx, filled, service)
  if (code instanceof Problem) return code
  if (requestId !== undefined && requestId !== code.request_id) throw otherRequest()
  return finishSignIn(tx, code, filled, service)
}

/** Continues a sign-in that waits for the user's device. Returns undefined if none does, else the same as `signInByCode`. */
async function continueSignIn(tx: Writer, signingIn: SigningIn, service: ServiceContext) {
  const code = await waitingCode(tx, signingIn.sessionId)
  return code && finishSignIn(tx, code, signingIn, service)
}

async function finishSignIn(tx: Writer, code: SignInCodeRow, signingIn: SigningIn, service: ServiceContext) {
  const { sessionId: previousSessionId, at } = signingIn
  const { email, request_id } = code
  const waits = request_id === undefined ? await requestDeviceApproval(tx, code, signingIn, service) : undefined
  if (waits) return { waits: showRequest(waits, at) }
  const answered = request_id === undefined ? undefined : await spendAnswer(tx, request_id, signingIn)
  if (answered && 'waits' in answered) return answered
  if (answered instanceof Problem) {
    endCode(tx, code)
    return answered
  }
  await spendCode(tx, code, service)
  return signIn(tx, { email, previousSessionId, at }, service)
}

/** Sends a request to the user's devices. Returns undefined if the user has none, or this is already their session. */
async function requestDeviceApproval(
  tx: Writer,
  code: SignInCodeRow,
  { sessionId, detail, at }: SigningIn,
  service: ServiceContext,
): Promise<AuthenticationRequestRow | undefined> {
  const user = await userByEmail(tx, code.email)
  // Until the address is proven, the device may belong to someone who does not read its mail.
  if (!user || !isProven(user) || !(await hasDevice(tx, user.id))) return undefined
  const session = await findSession(tx, sessionId, at)
  if (session?.user_id === user.id && isSignedInByPerson(session)) return undefined
  // Counts separately, so that someone who reads the user's mail cannot use up the user's own requests.
  const order = { userId: user.id, action: 'sign_in', asker: 'sign_in', sessionId, at }
  const request = await requireSecondFactor(tx, { ...order, detail: { email: code.email, ...detail } }, service)
  bindCode(tx, code, request.id)
  return request
}

/** Spends an approved request and returns undefined. Otherwise says why it cannot be spent. */
async function spendAnswer(tx: Writer, id: number, { sessionId, at }: SigningIn) {
  const request = await findRequest(tx, id)
  if (!request) return problem('code_expired')
  const { user_id: userId, action, detail } = request
  const result = await spendSecondFactor(tx, { id, userId, action, detail, sessionId, at })
  if (result === 'approved') return undefined
  if (result === 'pending') return { waits: showRequest(request, at) }
  return problem(result === 'rejected' ? 'rejected' : 'code_expired')
}

const otherRequest = (): Problem =>
  fieldRefused('request_id', 'must be the id of the request that the first call with this code returned')

type AskedCode = Pick<Visitor, 'sessionId' | 'source'> & { readonly email: string }

/** Mails a code to an address. Returns the address, or a problem that the page shows: `field_invalid`, `too_many_codes`. */
export async function mailCode(tx: Writer, { email, sessionId, source }: AskedCode, service: ServiceContext) {
  const checked = z.safeParse(Email, email)
  if (!checked.success) return fieldRefused('email', 'must be an email address')
  const code = { email: checked.data, sessionId, source, at: service.clock.now() }
  const sent = await problemOr(sendSessionCode(tx, code, service))
  return sent instanceof Problem ? sent : checked.data
}

/** Mails a code and leads to the step `code`. Returns the same problems as `mailCode`. */
export async function sendPageCode(tx: Writer, filled: AskedCode, service: ServiceContext): Promise<Next | Problem> {
  const mailed = await mailCode(tx, filled, service)
  return mailed instanceof Problem ? mailed : new Next({ step: 'code' })
}

interface FilledPageCode {
  /** Default: the address of the last mailed code. */
  readonly email?: string | undefined
  readonly code: string
  readonly sessionId: string
  readonly detail?: Detail | undefined
}

/**
 * Signs in with the code that was mailed in this session. Leads on with the new session, or to the step `device` if the user
 * must approve there. Returns `code_wrong`, `code_expired`, `too_many_tries`, `too_many_pending`, `too_many_mails`.
 */
export async function verifyCode(tx: Writer, { email, ...filled }: FilledPageCode, service: ServiceContext) {
  // The code was entered already. The step `device` shows what happens next.
  if (await waitingCode(tx, filled.sessionId)) return new Next({ step: 'device' })
  const address = email ?? (await lastCode(tx, filled.sessionId))?.email
  if (address === undefined) return noCodeProblem()
  const outcome = await nextOf(() => signInByCode(tx, { ...filled, email: address, at: service.clock.now() }, service))
  return outcome instanceof Problem && outcome.code === 'session_required' ? noCodeProblem() : outcome
}

/** Continues a sign-in that waits for a device: like `verifyCode`, or `rejected`, `code_expired`. Undefined if none waits. */
export async function resumeCodeSignIn(tx: Writer, sessionId: string, service: ServiceContext) {
  if (!(await waitingCode(tx, sessionId))) return undefined
  return nextOf(async () => {
    const outcome = await continueSignIn(tx, { sessionId, at: service.clock.now() }, service)
    return outcome ?? problem('code_expired')
  })
}

/** Continues the sign-in of a page at its step `device`. Returns undefined while the device has not answered. */
export async function resumePageSignIn(tx: Writer, { sessionId, step }: Visitor, service: ServiceContext) {
  const since = step === 'device' ? await resumeCodeSignIn(tx, sessionId, service) : undefined
  return since instanceof Next && since.session === undefined ? undefined : since
}

async function nextOf(sign: () => Promise<SignInOutcome>): Promise<Next | Problem> {
  const outcome = await problemOr(sign())
  if (outcome instanceof Problem) return outcome
  return new Next('waits' in outcome ? { step: 'device' } : { session: outcome.session_id })
}

/** Without a session there is no code: programs read about headers elsewhere, people about cookies. */
const noCodeProblem = () =>
  problem('code_wrong', { detail: 'Request a new code. If this happens again, allow cookies for this site.' })

async function awaitedEmail(tx: Reader, sessionId: string, at: number): Promise<string | undefined> {
  const code = await lastCode(tx, sessionId)
  return code && !code.used && isCodeCurrent(code, at) ? code.email : undefined
}

export type FilledSignIn = { readonly email?: string | undefined; readonly code?: string | undefined }

/** What the buttons of the sign-in forms do. A flow adds them to its `answers`. */
export const signInAnswers = {
  continue: (tx: Writer, { sessionId, source }: Visitor, { email = '' }: FilledSignIn, service: ServiceContext) =>
    sendPageCode(tx, { email, sessionId, source }, service),
  verify: (tx: Writer, { sessionId }: Visitor, { code = '' }: FilledSignIn, service: ServiceContext) =>
    verifyCode(tx, { code, sessionId }, service),
  other_email: async () => new Next({ step: 'email' }),
  switch: async () => new Next({ step: 'email' }),
}

export const signInRefusedAt = (answer: string): SignInStep['step'] | undefined =>
  answer === 'verify' ? 'code' : answer === 'continue' ? 'email' : undefined

/** A step of the sign-in on a page. */
export type SignInStep =
  /** `email` fills the field in advance. */
  | { readonly step: 'email'; readonly email: string }
  | { readonly step: 'code'; readonly email: string }
  /** The code was right, and the user must approve on their device. */
  | { readonly step: 'device'; readonly email: string }

/** The sign-in step of a page: `code` while a mailed code still works, `device` while a request is pending, else `email`. */
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
