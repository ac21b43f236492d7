import { canonicalJson } from '../../base/hash.js'
import { digest } from '../../base/secrets.js'
import type { Reader } from '../../storage/storage.js'
import {
  type AuthenticationRequestRow,
  authenticationRequests,
  isStale,
  type RequestStatus,
  requestStatus,
  type SecondFactorOrder,
} from './request.js'

/** More requests than a session makes for one action while they can be spent. */
const MAX_REQUESTS = 50

/** A request as it stands: what is `approved` can be spent. */
export interface LastRequest {
  readonly request: AuthenticationRequestRow
  readonly status: RequestStatus
}

/**
 * What this session asked last for exactly this action: pages that look again find their request by it.
 * Undefined also where it was spent, or approved too long ago: it is to be asked anew then.
 */
export async function findLastRequest(
  tx: Reader,
  { userId, action, detail, sessionId = '', at }: Omit<SecondFactorOrder, 'lifetimeMs'>,
): Promise<LastRequest | undefined> {
  const query = { index: 'byUser', prefix: [userId, action], limit: MAX_REQUESTS, reverse: true } as const
  const asked = await tx.find(authenticationRequests, { ...query, prefix: [...query.prefix] })
  const [session, wanted] = [digest(sessionId), canonicalJson(detail)]
  const request = asked.find(
    (each) => !each.by_caller && each.session_digest === session && canonicalJson(each.detail) === wanted,
  )
  if (!request || request.spent_at !== null || isStale(request, at)) return undefined
  return { request, status: requestStatus(request, at) }
}
