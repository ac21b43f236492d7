import { canonicalJson } from '../../base/hash.js'
import { digest } from '../../base/secrets.js'
import type { Reader } from '../../storage/storage.js'
import {
  type AuthenticationRequestRow,
  authenticationRequests,
  isStale,
  type RequestStatus,
  requestStatus,
  requestsNow,
  type SecondFactorOrder,
} from './request.js'

/** More than a session can make for one action before the first of them expires. */
const MAX_REQUESTS = 50

/** The last request and its current status. An `approved` request can be spent. */
export interface LastRequest {
  readonly request: AuthenticationRequestRow
  readonly status: RequestStatus
}

/**
 * Finds the last request of this session for exactly this action, so that a page that reloads finds its own.
 * Returns undefined if there is none, it is spent, or its approval is too old. Then make a new request.
 */
export async function findLastRequest(
  tx: Reader,
  { userId, action, detail, sessionId = '', at }: Omit<SecondFactorOrder, 'lifetimeMs'>,
): Promise<LastRequest | undefined> {
  const query = { index: 'byUser', prefix: [userId, action], limit: MAX_REQUESTS, reverse: true } as const
  const found = await tx.find(authenticationRequests, { ...query, prefix: [...query.prefix] })
  const asked = await requestsNow(tx, userId, found)
  const [session, wanted] = [digest(sessionId), canonicalJson(detail)]
  const request = asked.find(
    (each) => !each.by_caller && each.session_digest === session && canonicalJson(each.detail) === wanted,
  )
  if (!request || request.spent_at !== null || isStale(request, at)) return undefined
  return { request, status: requestStatus(request, at) }
}
