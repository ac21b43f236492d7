import { Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { fieldRefused } from '../../http/fields/field.js'
import { findSession, signIn } from '../../identity/sessions/session.js'
import {
  bindCode,
  checkCode,
  endCode,
  type SignInCodeRow,
  spendCode,
  waitingCode,
} from '../../identity/sessions/sign-in-code.js'
import { isProven, userByEmail } from '../../identity/users/user.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { hasDevice } from '../devices/device.js'
import type { Detail } from '../second-factor/detail.js'
import {
  type AuthenticationRequestRow,
  findRequest,
  requireSecondFactor,
  showRequest,
  spendSecondFactor,
} from '../second-factor/request.js'

/** A sign-in in a session. */
export interface SigningIn {
  readonly sessionId: string
  /** What the sign-in is for. The device shows it next to the address. */
  readonly detail?: Detail | undefined
  readonly at: number
}

export interface FilledCode extends SigningIn {
  readonly email: string
  readonly code: string
  /** Id of the authentication request from the first call with this code. */
  readonly requestId?: number | undefined
}

type SignedIn = Awaited<ReturnType<typeof signIn>>

/** The user has not approved this request on their device yet. */
interface WaitingSignIn {
  readonly waits: ReturnType<typeof showRequest>
}

/** The new session, the request that is pending, or why the sign-in failed. */
export type SignInOutcome = SignedIn | WaitingSignIn | Problem

/**
 * Signs in with a mailed code. A user with a device also approves the sign-in there, unless this is already their session.
 * From then on the code works with that request only.
 * Returns `code_wrong`, `code_expired`, `too_many_tries` and `rejected`, so that the transaction keeps the failed try.
 * Throws `field_invalid` for a wrong `requestId`, `too_many_pending`, `too_many_mails`.
 */
export async function signInByCode(
  tx: Writer,
  { requestId, ...filled }: FilledCode,
  service: ServiceContext,
): Promise<SignInOutcome> {
  const code = await checkCode(tx, filled, service)
  if (code instanceof Problem) return code
  if (requestId !== undefined && requestId !== code.request_id) throw otherRequest()
  return finishSignIn(tx, code, filled, service)
}

/** Continues a sign-in that waits for the user's device. Returns undefined if none does, else the same as `signInByCode`. */
export async function continueSignIn(
  tx: Writer,
  signingIn: SigningIn,
  service: ServiceContext,
): Promise<SignInOutcome | undefined> {
  const code = await waitingCode(tx, signingIn.sessionId)
  return code && finishSignIn(tx, code, signingIn, service)
}

async function finishSignIn(
  tx: Writer,
  code: SignInCodeRow,
  { sessionId, detail, at }: SigningIn,
  service: ServiceContext,
): Promise<SignInOutcome> {
  const { email } = code
  const waits =
    code.request_id === undefined
      ? await requestDeviceApproval(tx, code, { sessionId, detail, at }, service)
      : undefined
  if (waits) return { waits: showRequest(waits, at) }
  const answered = code.request_id === undefined ? undefined : await spendAnswer(tx, code.request_id, { sessionId, at })
  if (answered && 'waits' in answered) return answered
  if (answered instanceof Problem) {
    endCode(tx, code)
    return answered
  }
  await spendCode(tx, code, service)
  return signIn(tx, { email, previousSessionId: sessionId, at }, service)
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
  if (
    !user ||
    !isProven(user) ||
    !(await hasDevice(tx, user.id)) ||
    (await isSessionOfUser(tx, sessionId, user.id, at))
  )
    return undefined
  // Counts separately, so that someone who reads the user's mail cannot use up the user's own requests.
  const order = { userId: user.id, action: 'sign_in', asker: 'sign_in', sessionId, at }
  const request = await requireSecondFactor(tx, { ...order, detail: { email: code.email, ...detail } }, service)
  bindCode(tx, code, request.id)
  return request
}

const isSessionOfUser = async (tx: Reader, sessionId: string, userId: number, at: number): Promise<boolean> =>
  (await findSession(tx, sessionId, at))?.user_id === userId

/** Spends an approved request and returns undefined. Otherwise says why it cannot be spent. */
async function spendAnswer(
  tx: Writer,
  id: number,
  { sessionId, at }: SigningIn,
): Promise<WaitingSignIn | Problem | undefined> {
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
