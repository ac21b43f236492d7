import { type Problem, problem } from '../../base/problem.js'
import { digest, sameSecret } from '../../base/secrets.js'
import type { TimerJob } from '../../jobs/schedule/timer.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { deviceByToken } from '../devices/device.js'
import {
  type AuthenticationRequestRow,
  expireIfDue,
  findRequest,
  recordAnswer,
  requestOf,
  requestStatus,
} from './request.js'

const answers = ['approved', 'rejected'] as const
export type SecondFactorAnswer = (typeof answers)[number]

/** Problems are returned, not thrown, so that the transaction stores that the request has expired. */
type Answered = AuthenticationRequestRow | Problem

export interface DeviceAnswer {
  readonly id: number
  readonly userId: number
  readonly answer: SecondFactorAnswer
  /** `X-Device-Token`. */
  readonly deviceToken: string | null
  /** The caller's session, if there is one. */
  readonly sessionId: string | undefined
  readonly at: number
}

/**
 * Stores the answer from a device that got the request.
 * Throws `not_found`, `self_approval`, `device_refused`. Returns `not_pending`.
 */
export async function answerFromDevice(
  tx: Writer,
  { id, userId, answer, deviceToken, sessionId, at }: DeviceAnswer,
): Promise<Answered> {
  const request = await requestOf(tx, userId, id)
  refuseSameSession(request, sessionId)
  const device = await findAskedDevice(tx, request, deviceToken)
  if (device === undefined) throw problem('device_refused')
  return answerPending(tx, request, { answer, by: `device:${device}`, at })
}

/** The id of the device with this token, if the request went to that device. */
export async function findAskedDevice(
  tx: Reader,
  { user_id, device_ids }: AuthenticationRequestRow,
  deviceToken: string | null,
): Promise<number | undefined> {
  const device = deviceToken ? await deviceByToken(tx, user_id, deviceToken) : undefined
  return device && device_ids.includes(device.id) ? device.id : undefined
}

export interface MailedLink {
  readonly id: number
  readonly token: string
  /** The session of the browser that opened the link. */
  readonly sessionId: string
}

/** The request of a mailed link. Throws `not_found`, also for a wrong token, and `self_approval`. */
export async function requestOfLink(
  tx: Reader,
  { id, token, sessionId }: MailedLink,
): Promise<AuthenticationRequestRow> {
  const request = await findRequest(tx, id)
  if (!request || request.link_digest === null || !sameSecret(request.link_digest, digest(token)))
    throw problem('not_found')
  refuseSameSession(request, sessionId)
  return request
}

/** Stores the answer from a mailed link, which works once. Throws like `requestOfLink`. Returns `link_expired`. */
export async function answerMailedRequest(
  tx: Writer,
  { answer, at, ...link }: MailedLink & { readonly answer: SecondFactorAnswer; readonly at: number },
): Promise<Answered> {
  const answered = await answerPending(tx, await requestOfLink(tx, link), { answer, by: 'link', at })
  return 'id' in answered ? answered : problem('link_expired')
}

/** Throws `self_approval`. */
function refuseSameSession({ session_digest }: AuthenticationRequestRow, sessionId: string | undefined): void {
  if (session_digest !== null && sessionId !== undefined && sameSecret(session_digest, digest(sessionId)))
    throw problem('self_approval')
}

/** Answers a pending request. Returns `not_pending` for any other. */
export async function answerPending(
  tx: Writer,
  request: AuthenticationRequestRow,
  { answer, by, at }: { answer: SecondFactorAnswer; by: string; at: number },
): Promise<Answered> {
  const seen = await expireIfDue(tx, request, at)
  return seen.status === 'pending' ? recordAnswer(tx, seen, { status: answer, by, at }) : problem('not_pending')
}

/** Answers a request as the phone that a sandbox plays. */
export const answerAsPhone: TimerJob = async (tx, subject, { sandbox, clock }) => {
  const [said, id] = subject.split(':')
  const answer = answers.find((each) => each === said)
  const request = await findRequest(tx, Number(id))
  const at = clock.now()
  // A state that moved out of a sandbox must not answer for people.
  if (sandbox && answer && request && requestStatus(request, at) === 'pending')
    await recordAnswer(tx, request, { status: answer, by: 'phone', at })
}
