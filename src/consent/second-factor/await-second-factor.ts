import { problem } from '../../base/problem.js'
import { canonicalJson, digest } from '../../base/secrets.js'
import { untracked } from '../../http/change-tracking.js'
import type { ServiceContext } from '../../http/context.js'
import { findPageSession, findSession } from '../../identity/sessions/session.js'
import type { Reader, Writer } from '../../storage/storage.js'
import {
  type AuthenticationRequestRow,
  authenticationRequests,
  expireIfDue,
  findRequest,
  isStale,
  recordAnswer,
  requestStatus,
  requestsNow,
  requireSecondFactor,
  type SecondFactorOrder,
  spendSecondFactor,
} from './request.js'

/** How often to read the request, because a different process may have written the answer to the same storage. */
const POLL_MS = 1000

interface AwaitedOrder extends Omit<SecondFactorOrder, 'at'> {
  /** The error if the user rejects the request. Default: `rejected`. */
  readonly deniedAs?: 'rejected' | 'payment_denied' | undefined
}

export type UserSession = { readonly userId: number; readonly sessionId: string | undefined }
type OrderSession = Pick<AwaitedOrder, 'userId' | 'sessionId'>
export type ApprovedSecondFactor = UserSession & { readonly request: AuthenticationRequestRow }

/**
 * Asks a user to approve an action, and waits for the answer until the request expires.
 * Returns the approved request, which the action must spend. Throws `rejected` or `deniedAs`, `approval_timeout`, `too_many_pending`,
 * `too_many_mails`, and `sign_in_required` if the session ends.
 */
export async function awaitSecondFactor(given: ServiceContext, order: AwaitedOrder): Promise<AuthenticationRequestRow> {
  // Asking changes nothing for the caller, so the same Idempotency-Key may ask again after a timeout.
  const service = untracked(given)
  const { storage, clock } = service
  const asked = await storage.write(async (tx) => {
    const at = clock.now()
    return (await isRepeated(tx, order, at)) ? undefined : requireSecondFactor(tx, { ...order, at }, service)
  })
  const request = asked && (await awaitAnswer(asked.id, order, service))
  const status = request ? requestStatus(request, clock.now()) : 'expired'
  if (request && status === 'approved') return request
  if (status === 'rejected') throw problem(order.deniedAs ?? 'rejected')
  if (request) await storage.write((tx) => expireIfDue(tx, request, clock.now()))
  throw problem('approval_timeout')
}

/** How soon after a 408 a browser sends its request again. */
const REPEAT_MS = 2000

/** Browsers resend a request once by themselves when a reused connection answers 408. The user must not be asked twice for that. */
async function isRepeated(tx: Writer, { userId, action, detail, sessionId, deniedAs }: AwaitedOrder, at: number) {
  const query = { index: 'byUser', prefix: [userId, action], limit: 1, reverse: true } as const
  const [last] = await requestsNow(tx, userId, await tx.find(authenticationRequests, query))
  const timedOutAt = last && endedWith408At(last, deniedAs)
  if (!last || timedOutAt === undefined || last.repeated_at !== null || timedOutAt + REPEAT_MS <= at) return false
  if (last.session_digest !== (sessionId === undefined ? null : digest(sessionId))) return false
  if (canonicalJson(last.detail) !== canonicalJson(detail)) return false
  tx.put(authenticationRequests, { ...last, repeated_at: at })
  return true
}

/** When the call that waited for a request got its 408. Undefined if it got a different answer. */
function endedWith408At(
  { status, expires_at, answered_at, spent_at }: AuthenticationRequestRow,
  deniedAs: AwaitedOrder['deniedAs'],
): number | undefined {
  if (status === 'expired') return expires_at
  // One that was spent is revoked, not denied.
  const isDenied = status === 'rejected' && spent_at === null && deniedAs === 'payment_denied'
  return isDenied ? (answered_at ?? undefined) : undefined
}

/** Waits until a request is answered or expires, or the service closes. Returns undefined if the request is deleted. */
async function awaitAnswer(id: number, session: OrderSession, service: ServiceContext) {
  const { storage, clock, background } = service
  let expiresAt = Number.MAX_SAFE_INTEGER
  for (;;) {
    const at = clock.now()
    const ms = Math.max(Math.min(POLL_MS, expiresAt - at), 0)
    const { value, changed } = await background.watch({ ms, storage }, async (tx) => ({
      request: await findRequest(tx, id),
      isSignedIn: await isStillSignedIn(tx, session, at),
    }))
    const { request, isSignedIn } = value
    if (!request || requestStatus(request, at) !== 'pending') return request
    if (!isSignedIn) return withdraw(id, service)
    if (!(await changed)) return request
    expiresAt = request.expires_at
  }
}

async function isStillSignedIn(tx: Reader, { sessionId, userId }: OrderSession, at: number): Promise<boolean> {
  if (sessionId === undefined) return true
  const session = (await findSession(tx, sessionId, at)) ?? (await findPageSession(tx, sessionId, at))
  return session?.user_id === userId
}

async function withdraw(id: number, { storage, clock }: ServiceContext): Promise<never> {
  await storage.write(async (tx) => {
    const request = await findRequest(tx, id)
    const at = clock.now()
    if (request && requestStatus(request, at) === 'pending')
      await recordAnswer(tx, request, { status: 'rejected', by: 'service', at })
  })
  throw problem('sign_in_required')
}

/**
 * Spends the request from `awaitSecondFactor` in the transaction of the action. Throws `rejected` or `deniedAs` if the user withdrew the
 * approval, `approval_timeout` if it can no longer be spent, and `sign_in_required` if the session has ended.
 */
export async function spendAwaited(tx: Writer, { id }: AuthenticationRequestRow, order: AwaitedOrder, at: number) {
  if (!(await isStillSignedIn(tx, order, at))) throw problem('sign_in_required')
  const result = await spendSecondFactor(tx, { ...order, id, at })
  if (result === 'approved') return
  throw problem(result === 'rejected' ? (order.deniedAs ?? 'rejected') : 'approval_timeout')
}

/** An action of a user, which a session lets them approve first. `plan` and `order` are read again where it acts. */
interface GuardedAction<Plan, Answer> {
  plan(tx: Reader, at: number): Promise<Plan>
  /** What the user approves. Undefined: this needs no approval. */
  order(tx: Reader, plan: Plan, at: number): Promise<Pick<AwaitedOrder, 'action' | 'detail'> | undefined>
  act(tx: Writer, plan: Plan, at: number): Promise<Answer>
}

/**
 * Acts for a user. With a session, it first waits until they approve, and spends that where it acts. Throws what its
 * parts and `awaitSecondFactor` throw.
 */
export async function actApproved<Plan, Answer>(
  service: ServiceContext,
  session: UserSession | undefined,
  { plan, order, act }: GuardedAction<Plan, Answer>,
): Promise<Answer> {
  const { storage, clock } = service
  const look = async (tx: Reader) => {
    const at = clock.now()
    const planned = await plan(tx, at)
    const asking = session && (await order(tx, planned, at))
    return { at, planned, asking: asking && { ...session, ...asking } }
  }
  const { asking } = session ? await storage.read(look) : {}
  const asked = asking && (await awaitSecondFactor(service, asking))
  return storage.write(async (tx) => {
    const now = await look(tx)
    if (asked) await spendAwaited(tx, asked, now.asking ?? asking, now.at)
    // What needed no approval before needs one now, because of another request.
    else if (now.asking) throw problem('approval_timeout')
    return act(tx, now.planned, now.at)
  })
}

/** More than a session can make for one action before the first of them expires. */
const MAX_REQUESTS = 50

/** The last request of this session for exactly this action, so that a reloaded page finds its own. Undefined if it can do nothing now. */
export async function findLastRequest(tx: Reader, { userId, action, detail, sessionId = '', at }: SecondFactorOrder) {
  const query = { index: 'byUser', prefix: [userId, action], limit: MAX_REQUESTS, reverse: true } as const
  const asked = await requestsNow(tx, userId, await tx.find(authenticationRequests, query))
  const [session, wanted] = [digest(sessionId), canonicalJson(detail)]
  const request = asked.find(
    (each) => !each.by_caller && each.session_digest === session && canonicalJson(each.detail) === wanted,
  )
  if (!request || request.spent_at !== null || isStale(request, at)) return undefined
  return { request, status: requestStatus(request, at) }
}
