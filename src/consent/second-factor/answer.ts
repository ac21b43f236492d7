import { type Problem, problem } from '../../base/problem.js'
import { digest, sameSecret } from '../../base/secrets.js'
import { seconds } from '../../base/time.js'
import type { TimerJob } from '../../jobs/schedule/timer.js'
import { quantityOf } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { newestFirst, type PageBounds } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { deviceByToken } from '../devices/device.js'
import {
  type AuthenticationRequestRow,
  answeredAt,
  authenticationRequests,
  expireIfDue,
  findRequest,
  type RequestStatus,
  recordAnswer,
  requestOf,
  requestStatus,
  requestsNow,
} from './request.js'
import { revokeStandingApproval, standingOf } from './standing-approval.js'
import type { Detail } from './wording.js'

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
  readonly sessionId: string | undefined
  readonly at: number
}

/** Stores the answer from a device that got the request. Throws `not_found`, `self_approval`, `device_refused`. Returns `not_pending`. */
export async function answerFromDevice(tx: Writer, { id, userId, answer, deviceToken, sessionId, at }: DeviceAnswer) {
  const request = await requestOf(tx, userId, id)
  refuseSameSession(request, sessionId)
  const device = await findAskedDevice(tx, request, deviceToken)
  if (device === undefined) throw problem('device_refused')
  return answerPending(tx, request, { answer, by: `device:${device}`, at })
}

/** The id of the device with this token, if the request went to that device. */
export async function findAskedDevice(tx: Reader, request: AuthenticationRequestRow, deviceToken: string | null) {
  const device = deviceToken ? await deviceByToken(tx, request.user_id, deviceToken) : undefined
  return device && request.device_ids.includes(device.id) ? device.id : undefined
}

export type MailedLink = { readonly id: number; readonly token: string; readonly sessionId: string }

/** The request of a mailed link. Throws `not_found`, also for a wrong token, and `self_approval`. */
export async function requestOfLink(tx: Reader, { id, token, sessionId }: MailedLink) {
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

/** Existing clients answer the requests of a paywall with only the user's token. */
const ACTION = 'paywall'

export async function listAuthorizations(tx: Reader, userId: number, { at, ...page }: PageBounds & { at: number }) {
  const query = { index: 'byUser' as const, prefix: [userId, ACTION], ...page }
  const { rows, next } = await newestFirst(tx, authenticationRequests, query)
  const authorizations = []
  for (const request of await requestsNow(tx, userId, rows))
    authorizations.push(await showAuthorization(tx, request, at))
  return { authorizations, next }
}

interface AuthorizationOrder {
  readonly userId: number
  /** Existing clients send a number or its digits. */
  readonly id: number | string
  readonly at: number
}

/** Stores the user's answer. Throws `not_found`. Returns `authorization_answered`, `authorization_expired`. */
export async function answerAuthorization(
  tx: Writer,
  { userId, id, answer, at }: AuthorizationOrder & { readonly answer: SecondFactorAnswer },
): Promise<Answered> {
  const request = await expireIfDue(tx, await paywallRequest(tx, userId, id), at)
  return request.status === 'pending' ? answerPending(tx, request, { answer, by: 'token', at }) : closed(request)
}

/** Denies a pending authorization, takes back an approved one, and ends what it approved for later. Throws and returns the same. */
export async function deleteAuthorization(tx: Writer, { userId, id, at }: AuthorizationOrder): Promise<Answered> {
  const request = await expireIfDue(tx, await paywallRequest(tx, userId, id), at)
  const standing = await standingOf(tx, request, at)
  if (standing) revokeStandingApproval(tx, standing)
  const isUnused = request.status === 'approved' && request.spent_at === null
  const isOpen = standing !== undefined || isUnused || request.status === 'pending'
  return isOpen ? recordAnswer(tx, request, { status: 'rejected', by: 'token', at }) : closed(request)
}

const closed = ({ status }: AuthenticationRequestRow): Problem =>
  problem(status === 'expired' ? 'authorization_expired' : 'authorization_answered')

async function paywallRequest(tx: Reader, userId: number, id: number | string): Promise<AuthenticationRequestRow> {
  if (!/^\d{1,15}$/.test(String(id))) throw problem('not_found')
  const request = await requestOf(tx, userId, Number(id))
  if (request.action !== ACTION) throw problem('not_found')
  return request
}

type AuthorizationStatus = Exclude<RequestStatus, 'rejected'> | 'denied'

const authorizationStatus = (request: AuthenticationRequestRow, at: number): AuthorizationStatus => {
  const status = requestStatus(request, at)
  return status === 'rejected' ? 'denied' : status
}

async function showAuthorization(tx: Reader, request: AuthenticationRequestRow, at: number) {
  const standing = await standingOf(tx, request, at)
  const status = authorizationStatus(request, at)
  // A used approval with later payments lasts until they end.
  const isOver = request.standing !== undefined && request.spent_at !== null && !standing && status === 'approved'
  return {
    id: request.id,
    merchant_url: textIn(request.detail, 'merchant_url'),
    merchant_name: textIn(request.detail, 'merchant_name'),
    payment_type_hash: textIn(request.detail, 'dq'),
    status: isOver ? ('expired' as const) : status,
    authorized_at: request.status === 'approved' ? seconds(answeredAt(request)) : null,
    expires_at: seconds(standing?.expires_at ?? request.expires_at),
    created_at: seconds(request.created_at),
    metadata: { ...request.detail, ...(await amountOf(tx, request)), requestedAt: request.created_at },
  }
}

/** The amount as a number, if it is not text for people. */
async function amountOf(tx: Reader, { standing }: AuthenticationRequestRow) {
  return standing && { amount: toAmount(standing.amount, (await quantityOf(tx, standing.dq)).decimals) }
}

function textIn(detail: Detail, name: string): string | null {
  const value = detail[name]
  return typeof value === 'string' ? value : null
}

/** `sent`: the id in the caller's own spelling. */
export const showAnsweredAuthorization = (request: AuthenticationRequestRow, sent: number | string, at: number) => {
  const status = authorizationStatus(request, at)
  return {
    success: true as const,
    authorizationId: sent,
    status,
    message: status === 'approved' ? 'The payment is approved.' : 'The payment is denied.',
  }
}
