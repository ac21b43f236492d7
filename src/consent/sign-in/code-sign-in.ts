import { Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
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
  authenticationRequests,
  requireSecondFactor,
  showRequest,
  spendSecondFactor,
} from '../second-factor/request.js'

/** Who signs in, and where that is a session of which nobody knows more than that a code was mailed for it. */
export interface SigningIn {
  readonly sessionId: string
  /** Shown on the device beside the address: what the sign-in is for. */
  readonly detail?: Detail | undefined
  readonly at: number
}

export interface FilledCode extends SigningIn {
  readonly email: string
  readonly code: string
  /** Of the request that was answered with, where the code was sent before. */
  readonly requestId?: number | undefined
}

type SignedIn = Awaited<ReturnType<typeof signIn>>

/** A request that the user has yet to approve on their device. */
interface WaitingSignIn {
  readonly waits: ReturnType<typeof showRequest>
}

/** The session that goes on, what is waited for, or why neither. */
export type SignInOutcome = SignedIn | WaitingSignIn | Problem

/**
 * Signs in by a mailed code. A user with a device approves it there too, once, unless the session is theirs already: the code then
 * belongs to that request and to no other. Gives `code_wrong`, `code_expired`, `too_many_tries`, `rejected`, rather than throwing
 * them; throws `field_invalid` for another request, `too_many_pending`, `too_many_mails`.
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

/** Goes on with a sign-in of this session that waited for the device; undefined where none does. Gives and throws as `signInByCode`. */
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

/** The request that the user is asked by, where they have a device and this session is not theirs. */
async function requestDeviceApproval(
  tx: Writer,
  code: SignInCodeRow,
  { sessionId, detail, at }: SigningIn,
  service: ServiceContext,
): Promise<AuthenticationRequestRow | undefined> {
  const user = await userByEmail(tx, code.email)
  // A device of whoever made a user for an address says nothing of the one who reads its mail.
  if (
    !user ||
    !isProven(user) ||
    !(await hasDevice(tx, user.id)) ||
    (await isSessionOfUser(tx, sessionId, user.id, at))
  )
    return undefined
  // Whoever reads the user's mail must not use up what the user may ask for.
  const order = { userId: user.id, action: 'sign_in', asker: 'sign_in', sessionId, at }
  const request = await requireSecondFactor(tx, { ...order, detail: { email: code.email, ...detail } }, service)
  bindCode(tx, code, request.id)
  return request
}

const isSessionOfUser = async (tx: Reader, sessionId: string, userId: number, at: number): Promise<boolean> =>
  (await findSession(tx, sessionId, at))?.user_id === userId

/** What became of the request, which is spent once it was approved: undefined then. */
async function spendAnswer(
  tx: Writer,
  id: number,
  { sessionId, at }: SigningIn,
): Promise<WaitingSignIn | Problem | undefined> {
  const request = await tx.get(authenticationRequests, id)
  if (!request) return problem('code_expired')
  const { user_id: userId, action, detail } = request
  const result = await spendSecondFactor(tx, { id, userId, action, detail, sessionId, at })
  if (result === 'approved') return undefined
  if (result === 'pending') return { waits: showRequest(request, at) }
  return problem(result === 'rejected' ? 'rejected' : 'code_expired')
}

const otherRequest = (): Problem =>
  problem('field_invalid', {
    detail: '"request_id" must be the id of the request that this code was answered with.',
    fields: { field: 'request_id' },
  })
