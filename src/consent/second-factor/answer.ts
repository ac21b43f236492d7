import { type Problem, problem } from '../../base/problem.js'
import { digest, sameSecret } from '../../base/secrets.js'
import type { TimerJob } from '../../jobs/schedule/timer.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { deviceByToken } from '../devices/device.js'
import {
  type AuthenticationRequestRow,
  authenticationRequests,
  expireIfDue,
  recordAnswer,
  requestOf,
  requestStatus,
} from './request.js'

const answers = ['approved', 'rejected'] as const
export type SecondFactorAnswer = (typeof answers)[number]

/** Refusals that come with a request found expired are given, not thrown: that it has expired is written down. */
type Answered = AuthenticationRequestRow | Problem

export interface DeviceAnswer {
  readonly id: number
  readonly userId: number
  readonly answer: SecondFactorAnswer
  /** `X-Device-Token`. */
  readonly deviceToken: string | null
  /** Of the caller, where a session calls. */
  readonly sessionId: string | undefined
  readonly at: number
}

/**
 * The user's answer from a device that was asked.
 * Throws `not_found`, `self_approval`, `device_refused`; gives `not_pending`.
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

/** The id of the device that a token belongs to, where the request went to that device. */
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
  /** Of the browser that opened it. */
  readonly sessionId: string
}

/** The request that a mailed link asks about. Throws `not_found` for a wrong token too, and `self_approval`. */
export async function requestOfLink(
  tx: Reader,
  { id, token, sessionId }: MailedLink,
): Promise<AuthenticationRequestRow> {
  const request = await tx.get(authenticationRequests, id)
  if (!request || request.link_digest === null || !sameSecret(request.link_digest, digest(token)))
    throw problem('not_found')
  refuseSameSession(request, sessionId)
  return request
}

/** The user's answer by the mailed link, once. Throws as `requestOfLink`; gives `link_expired`. */
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

/** Answers what still waits; gives `not_pending` where nothing does. */
export async function answerPending(
  tx: Writer,
  request: AuthenticationRequestRow,
  { answer, by, at }: { answer: SecondFactorAnswer; by: string; at: number },
): Promise<Answered> {
  const seen = await expireIfDue(tx, request, at)
  return seen.status === 'pending' ? recordAnswer(tx, seen, { status: answer, by, at }) : problem('not_pending')
}

/** A sandbox's phone answers after the time that its user takes. */
export const answerAsPhone: TimerJob = async (tx, subject, { sandbox, clock }) => {
  const [said, id] = subject.split(':')
  const answer = answers.find((each) => each === said)
  const request = await tx.get(authenticationRequests, Number(id))
  const at = clock.now()
  // A state that a sandbox left behind does not answer for people.
  if (sandbox && answer && request && requestStatus(request, at) === 'pending')
    await recordAnswer(tx, request, { status: answer, by: 'phone', at })
}
