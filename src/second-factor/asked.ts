import { canonicalJson } from '../hash.js'
import { digest } from '../secrets.js'
import type { Reader } from '../storage/storage.js'
import { type AuthenticationRequestRow, authenticationRequests, type SecondFactorOrder } from './request.js'

/** More requests than a session makes for one action while they can be spent. */
const MOST_REQUESTS = 50

/** What this session asked last for exactly this action: pages that look again find their request by it. */
export async function lastAsked(
  tx: Reader,
  { userId, action, detail, sessionId = '' }: Omit<SecondFactorOrder, 'at' | 'lifetimeMs'>,
): Promise<AuthenticationRequestRow | undefined> {
  const query = { index: 'byUser', prefix: [userId, action], limit: MOST_REQUESTS, reverse: true } as const
  const asked = await tx.find(authenticationRequests, { ...query, prefix: [...query.prefix] })
  const [session, wanted] = [digest(sessionId), canonicalJson(detail)]
  return asked.find((each) => each.session_digest === session && canonicalJson(each.detail) === wanted)
}
