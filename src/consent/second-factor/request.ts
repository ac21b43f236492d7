import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { base64url, canonicalJson, digest } from '../../base/secrets.js'
import { isAhead, isCurrent, seconds } from '../../base/time.js'
import type { ProvenUser, ServiceContext } from '../../http/context.js'
import { refundMail, sendMail } from '../../identity/mail/send-mail.js'
import { recordUserEvent, type UserRow, users } from '../../identity/users/user.js'
import { postPush } from '../../jobs/outbox/outbox.js'
import { type RateLimit, spendRate, uncountRate } from '../../jobs/rates/rate.js'
import { getExisting, getOrNotFound } from '../../storage/page.js'
import { DAY } from '../../storage/retention.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { activeDevicesOf, devices, settleChange } from '../devices/device.js'
import { type Detail, requestMail, requestPush, type StandingTerms } from './wording.js'

const REQUEST_MS = 2 * 60_000
const PAYWALL_LIFETIME = 30_000
const SPENDABLE_FOR = 5 * 60_000
const MAX_PENDING = 5
const INTERVAL = 2
/** How many milliseconds early a poll may come. Timers and networks are not exact. */
const POLL_TOLERANCE = 250

/**
 * Authentication requests to one user, on a device or by mail, that one page, account or user causes. What is mailed has
 * limits of its own (`identity/mail/send-mail.ts`).
 */
const ASKED: RateLimit = { kind: 'asked', most: 5, windowMs: 15 * 60_000, code: 'too_many_mails' }

const countedOf = ({ asker, userId, at }: { asker: string; userId: number; at: number }) => ({
  subject: `${asker}>user:${userId}`,
  at,
})

export type RequestStatus = 'pending' | 'approved' | 'rejected' | 'expired'

/** An action that needs its user's second factor. `action` and `detail` never change. */
export interface AuthenticationRequestRow {
  readonly id: number
  readonly user_id: number
  /** The user's. An open request of a lower one counts as rejected. See `findRequest`. */
  readonly generation: number
  readonly action: string
  readonly detail: Detail
  /** The stored status. Use `requestStatus`, which knows when a pending request has expired. */
  readonly status: RequestStatus
  /** When a pending request expires. Null once it is answered or marked as expired. */
  readonly pending_until: number | null
  /** Digest of the session that created the request. That session cannot answer it. */
  readonly session_digest: string | null
  readonly device_ids: readonly number[]
  readonly link_digest: string | null
  readonly created_at: number
  readonly expires_at: number
  readonly polled_at: number | null
  readonly answered_at: number | null
  readonly spent_at: number | null
  /** Until when an approval can be spent. Null if there is none, or it is spent. */
  readonly spendable_until: number | null
  /** When a browser repeated the call, right after this request had expired. */
  readonly repeated_at: number | null
  /** A caller wrote `action` and `detail`. Such a request approves no action of farthing itself. */
  readonly by_caller?: true
  /** Id of the device whose addition or removal this request confirms. */
  readonly device_id?: number
  /** Whose limit the request counts against. */
  readonly asker: string
  /** The later payments that the user approves together with this one. */
  readonly standing?: StandingTerms
}

export const authenticationRequests = collection<AuthenticationRequestRow>()(
  'authentication_requests',
  {
    byExpiry: { fields: ['expires_at'] },
    byUser: { fields: ['user_id', 'action'] },
    pending: { fields: ['user_id', 'generation', 'pending_until'] },
    spendable: { fields: ['user_id', 'generation', 'spendable_until'] },
  },
  {
    refs: { user_id: 'users', device_id: 'devices' },
    secrets: ['link_digest', 'session_digest'],
    growth: { by: 'whoever asks a user for approval', most: 5, per: 'user', beyond: 'too_many_pending' },
    retention: { after: 'the time to answer is over', keepMs: 30 * DAY, index: 'byExpiry' },
  },
)

export interface SecondFactorOrder {
  readonly userId: number
  /** In snake_case: `sign_in`, `paywall`, `transfer` and so on. */
  readonly action: string
  readonly detail: Detail
  /** The session that makes the request. It cannot answer, and only it can spend the approval. */
  readonly sessionId?: string | undefined
  /** Default: two minutes, or 30 seconds for a paywall. */
  readonly lifetimeMs?: number | undefined
  /** True if a caller wrote `action` and `detail`. */
  readonly byCaller?: true
  /** Id of the device whose addition or removal the answer confirms. */
  readonly deviceId?: number
  /** The later payments that the user approves together with this one. The detail tells them so. */
  readonly standing?: StandingTerms | undefined
  /** Whose limit the request counts against (`too_many_mails`). Default: the user's. */
  readonly asker?: string | undefined
  readonly at: number
}

export type SecondFactorContext = Pick<ServiceContext, 'random' | 'baseUrl'>

/**
 * Asks a user to approve an action: with a push to each of their devices, or with a mailed link if they have none.
 * Poll the request (`requestStatus`), then spend it (`spendSecondFactor`). Throws `too_many_pending`, `too_many_mails`.
 */
export async function requireSecondFactor(tx: Writer, order: SecondFactorOrder, service: SecondFactorContext) {
  const { userId, action, detail, sessionId, at, asker = `user:${userId}` } = order
  const { lifetimeMs = action === 'paywall' ? PAYWALL_LIFETIME : REQUEST_MS, byCaller, deviceId, standing } = order
  const user = await getExisting(tx, users, userId)
  await expireDueRequests(tx, user, at)
  await checkPending(tx, user, at)
  await spendRate(tx, ASKED, countedOf({ asker, userId, at }))
  const asked = await activeDevicesOf(tx, userId)
  const link = asked.length > 0 ? undefined : base64url(service.random.bytes(32))
  const expires_at = at + lifetimeMs
  const request: AuthenticationRequestRow = {
    id: await tx.nextId('authentication_requests'),
    user_id: userId,
    generation: user.generation,
    action,
    detail,
    status: 'pending',
    pending_until: expires_at,
    session_digest: sessionId === undefined ? null : digest(sessionId),
    device_ids: asked.map(({ id }) => id),
    link_digest: link === undefined ? null : digest(link),
    created_at: at,
    expires_at,
    polled_at: null,
    answered_at: null,
    spent_at: null,
    spendable_until: null,
    repeated_at: null,
    asker,
    ...(byCaller && { by_caller: byCaller }),
    ...(deviceId !== undefined && { device_id: deviceId }),
    ...(standing && { standing }),
  }
  tx.put(authenticationRequests, request)
  await recordRequestEvent(tx, request, 'requested', { at, by: asked.length > 0 ? 'push' : 'mail' })
  const message = { to: user.email, at, staleAt: expires_at }
  for (const deviceId of request.device_ids) await postPush(tx, { ...message, ...requestPush(request), deviceId })
  if (link !== undefined) {
    const mail = { ...mailOf(userId, user.email), ...requestMail(request, link, service), ownLinks: service.baseUrl }
    await sendMail(tx, { ...message, ...mail, isAwaited: true })
  }
  return request
}

const mailOf = (userId: number, to: string) =>
  ({ kind: 'authentication_request', to, owner: `user:${userId}` }) as const

async function checkPending(tx: Reader, user: UserRow, at: number): Promise<void> {
  const [first, ...others] = await pendingIn(tx, user, at)
  if (first && others.length + 1 >= MAX_PENDING)
    throw problem('too_many_pending', { headers: retryAfter(first.expires_at - at) })
}

/** The user's pending requests, ordered by when they expire. */
export async function pendingOf(tx: Reader, userId: number, at: number): Promise<AuthenticationRequestRow[]> {
  const user = await tx.get(users, userId)
  return user ? pendingIn(tx, user, at) : []
}

async function pendingIn(tx: Reader, { id, generation }: UserRow, at: number): Promise<AuthenticationRequestRow[]> {
  const after = [id, generation, at, Number.MAX_SAFE_INTEGER]
  const query = { index: 'pending', prefix: [id, generation], after, limit: MAX_PENDING } as const
  // Those from ahead of the clock expire last, so they hide no other.
  return (await tx.find(authenticationRequests, query)).filter((row) => requestStatus(row, at) === 'pending')
}

/** The status of a request at a time, in Unix milliseconds. */
export const requestStatus = ({ status, created_at, expires_at }: AuthenticationRequestRow, at: number) =>
  status === 'pending' && (expires_at <= at || isAhead(created_at, at)) ? 'expired' : status

export const isStale = (request: AuthenticationRequestRow, at: number): boolean =>
  request.status === 'approved' && !isCurrent(answeredAt(request) + SPENDABLE_FOR, SPENDABLE_FOR, at)

/** When a request was answered, in Unix milliseconds. Throws an Error if it was not. */
export const answeredAt = ({ id, answered_at }: AuthenticationRequestRow): number =>
  required(answered_at, `the answer to authentication request ${id}`)

export function checkOpen(request: AuthenticationRequestRow, at: number): void {
  if (requestStatus(request, at) !== 'pending') throw problem('link_expired')
}

/** Returns a request as it is now: one that ended with its user's generation is rejected, even if that is not stored yet. */
export async function findRequest(tx: Reader, id: number): Promise<AuthenticationRequestRow | undefined> {
  const request = await tx.get(authenticationRequests, id)
  return request && readNow(tx, request)
}

async function readNow(tx: Reader, request: AuthenticationRequestRow): Promise<AuthenticationRequestRow> {
  const user = isOpen(request) ? await tx.get(users, request.user_id) : undefined
  return user ? requestNow(request, user) : request
}

/** The same, of requests of one user that are read already. */
export async function requestsNow(tx: Reader, userId: number, requests: readonly AuthenticationRequestRow[]) {
  const user = requests.some(isOpen) ? await getExisting(tx, users, userId) : undefined
  return requests.map((request) => (user ? requestNow(request, user) : request))
}

/** Whether a request waits for its answer, or for whoever spends it. */
const isOpen = ({ status, spent_at }: AuthenticationRequestRow): boolean =>
  status === 'pending' || (status === 'approved' && spent_at === null)

function requestNow(request: AuthenticationRequestRow, { generation, email_verified_at }: UserRow) {
  if (request.generation === generation || !isOpen(request)) return request
  const answered_at = email_verified_at ?? request.created_at
  return { ...request, status: 'rejected' as const, pending_until: null, spendable_until: null, answered_at }
}

/** A request of the user. Throws `not_found`, also for a request of a different user. */
export const requestOf = async (tx: Reader, userId: number, id: number): Promise<AuthenticationRequestRow> =>
  readNow(tx, await getOrNotFound(tx, authenticationRequests, id, { user_id: userId }))

/** Records a poll for the answer. Throws `slow_down` if it comes too soon after the last one. */
export async function pollRequest(tx: Writer, request: AuthenticationRequestRow, at: number) {
  const seen = await expireIfDue(tx, request, at)
  if (seen.status !== 'pending') return seen
  const polledAt = seen.polled_at ?? 0
  // A poll from ahead of the clock says nothing. The clocks of several machines differ a little, which lets one through.
  const wait = polledAt > at ? 0 : polledAt + INTERVAL * 1000 - at
  if (wait > POLL_TOLERANCE) throw problem('slow_down', { headers: retryAfter(wait) })
  const polled = { ...seen, polled_at: at }
  tx.put(authenticationRequests, polled)
  return polled
}

const retryAfter = (ms: number) => ({ 'retry-after': String(Math.max(1, Math.ceil(ms / 1000))) })

/** Stores that a request has expired, if it is still stored as pending. */
export async function expireIfDue(tx: Writer, request: AuthenticationRequestRow, at: number) {
  if (request.status !== 'pending' || requestStatus(request, at) === 'pending') return request
  const expired: AuthenticationRequestRow = { ...request, status: 'expired', pending_until: null }
  tx.put(authenticationRequests, expired)
  await recordRequestEvent(tx, expired, 'expired', { at })
  return expired
}

async function expireDueRequests(tx: Writer, { id, generation }: UserRow, at: number): Promise<void> {
  const query = { index: 'pending', prefix: [id, generation], limit: MAX_PENDING } as const
  const waiting = await tx.find(authenticationRequests, query)
  for (const request of waiting) await expireIfDue(tx, request, at)
}

/** Stores the final answer. The caller has checked that it is allowed. `by`: `device:ID`, `link`, `token`, `phone` or `service`. */
export async function recordAnswer(
  tx: Writer,
  request: AuthenticationRequestRow,
  { status, by, at }: { status: 'approved' | 'rejected'; by: string; at: number },
): Promise<AuthenticationRequestRow> {
  const ends = { pending_until: null, spendable_until: status === 'approved' ? at + SPENDABLE_FOR : null }
  const answered: AuthenticationRequestRow = { ...request, status, ...ends, answered_at: at }
  tx.put(authenticationRequests, answered)
  const { asker, user_id: userId, created_at } = request
  if (status === 'approved') {
    await uncountRate(tx, ASKED, countedOf({ asker, userId, at: created_at }))
    if (request.link_digest !== null) await refundRequestMail(tx, request)
  }
  await recordRequestEvent(tx, answered, status, { at, by })
  const device = answered.device_id === undefined ? undefined : await tx.get(devices, answered.device_id)
  if (device) await settleChange(tx, device, { confirmed: status === 'approved', at })
  return answered
}

async function refundRequestMail(tx: Writer, { user_id, created_at }: AuthenticationRequestRow): Promise<void> {
  const { email } = await getExisting(tx, users, user_id)
  await refundMail(tx, { ...mailOf(user_id, email), at: created_at })
}

/** Rejects requests of a user's former generations that are pending, or approved and not spent. Returns how many. */
export async function rejectRequestsOf(tx: Writer, { userId, generation, most, at }: ProvenUser): Promise<number> {
  const open: AuthenticationRequestRow[] = []
  for (const index of ['pending', 'spendable'] as const)
    open.push(...(await tx.find(authenticationRequests, { index, prefix: [userId], limit: most })))
  const ended = open.filter((request) => request.generation < generation).slice(0, most)
  for (const request of ended) {
    const seen = await expireIfDue(tx, request, at)
    if (isOpen(seen)) await recordAnswer(tx, seen, { status: 'rejected', by: 'service', at })
  }
  return ended.length
}

const recordRequestEvent = (
  tx: Writer,
  { id, user_id, action }: AuthenticationRequestRow,
  what: 'requested' | 'approved' | 'rejected' | 'expired',
  { at, by }: { at: number; by?: string },
): Promise<void> =>
  recordUserEvent(tx, user_id, {
    ...{ type: `second_factor.${what}`, subject: `authentication_request:${id}`, at },
    ...(what === 'expired' && { actor: 'service' }),
    data: { action, ...(by !== undefined && { by }) },
  })

/** The result of spending a second factor. It is `approved` only once. */
export type SpendResult = 'approved' | 'pending' | 'rejected' | 'expired' | 'spent' | 'mismatch'

export interface ApprovedAction {
  readonly id: number
  readonly userId: number
  readonly action: string
  readonly detail: Detail
  /** The session that made the request, if one did. */
  readonly sessionId?: string | undefined
  readonly at: number
}

/**
 * Spends the second factor of exactly this action, in the transaction of the action.
 * Returns `mismatch` if the request does not exist or differs in user, session, action or detail, and `expired` if nobody
 * answered in time or the approval is older than five minutes.
 */
export async function spendSecondFactor(
  tx: Writer,
  { id, userId, action, detail, sessionId, at }: ApprovedAction,
): Promise<SpendResult> {
  const request = await findRequest(tx, id)
  if (!request || request.by_caller || request.user_id !== userId || request.action !== action) return 'mismatch'
  if (canonicalJson(request.detail) !== canonicalJson(detail)) return 'mismatch'
  if (request.session_digest !== null && request.session_digest !== digest(sessionId ?? '')) return 'mismatch'
  if (request.spent_at !== null) return 'spent'
  const status = requestStatus(request, at)
  if (status !== 'approved') return status
  if (isStale(request, at)) return 'expired'
  tx.put(authenticationRequests, { ...request, spent_at: at, spendable_until: null })
  return 'approved'
}

/** A request as its user sees it. */
export interface ShownRequest {
  id: number
  status: RequestStatus
  action: string
  detail: Readonly<Record<string, unknown>>
  interval: number
  expires_at: number
  created_at: number
}

export function showRequest(request: AuthenticationRequestRow, at: number): ShownRequest {
  const { id, action, detail, expires_at, created_at } = request
  const times = { interval: INTERVAL, expires_at: seconds(expires_at), created_at: seconds(created_at) }
  return { id, status: requestStatus(request, at), action, detail, ...times }
}
