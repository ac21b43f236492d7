import { type Evidence, isWeaker } from '../../base/evidence.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import type { z } from '../../http/fields/schema.js'
import { isProven, subjectOf, users } from '../../identity/users/user.js'
import { primaryTwin, twinKey } from '../../money/twins/twin.js'
import type { Reader } from '../../storage/storage.js'
import { findAgentTwin } from './connection.js'
import type { Userinfo } from './schema.js'

/** The claims about a user that scopes allow. `agent_twin_key` is never in an id token. */
type Claims = z.output<typeof Userinfo>

/** Grades of the claims about twins, which are our own. */
const TWIN_CLAIMS = 'designed' satisfies Evidence

/** The claims about a user's twins that the service's evidence mode shows. */
export const twinClaimNames = ({ options: { evidence } }: Pick<ServiceContext, 'options'>): readonly string[] =>
  isWeaker(TWIN_CLAIMS, evidence) ? [] : ['twin_hostname', 'agent_twin_hostname', 'agent_twin_key']

/** The claims that scopes allow, in the service's evidence mode. `withKey` adds the agent twin's key. */
export async function claimsOf(
  tx: Reader,
  { userId, scopes, withKey = false }: { userId: number; scopes: readonly string[]; withKey?: boolean },
  { keys, options: { evidence } }: Pick<ServiceContext, 'keys' | 'options'>,
): Promise<Claims> {
  const user = await tx.get(users, userId)
  if (!user) return { sub: String(userId) }
  const claims: Claims = { sub: subjectOf(user) }
  // A user has no name but the address, which only `email` shows.
  const name = scopes.includes('email') ? user.email : `User ${claims.sub}`
  if (scopes.includes('profile')) Object.assign(claims, { name, updated_at: seconds(user.updated_at) })
  if (scopes.includes('email')) Object.assign(claims, { email: user.email, email_verified: isProven(user) })
  if (!scopes.includes('twin') || isWeaker(TWIN_CLAIMS, evidence)) return claims
  return { ...claims, ...(await twinClaims(tx, userId, withKey ? keys : undefined)) }
}

async function twinClaims(tx: Reader, userId: number, keys: ServiceContext['keys'] | undefined) {
  const primary = await primaryTwin(tx, `user:${userId}`)
  const agent = await findAgentTwin(tx, userId)
  return {
    twin_hostname: primary?.hostname ?? null,
    agent_twin_hostname: agent?.hostname ?? null,
    ...(keys && { agent_twin_key: agent ? twinKey(agent, { keys }) : null }),
  }
}
