import { type Evidence, isWeaker } from '../../base/evidence.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import type { z } from '../../http/fields/schema.js'
import { isProven, subjectOf, users } from '../../identity/users/user.js'
import { primaryTwin, twinKey } from '../../money/twins/twin.js'
import type { Reader } from '../../storage/storage.js'
import { authMethods, signingAlgorithms } from './clients/client.js'
import { findAgentTwin } from './connection.js'
import { issuerOf, type Scope, scopesSupported } from './issuer.js'
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

/** Grades of the endpoints that the Micro Payment Service Interface does not name (section 1). */
export const optionalEndpoints = {
  userinfo: 'designed',
  revocation: 'designed',
  registration: 'observed',
  'session end': 'designed',
} as const satisfies Record<string, Evidence>

/** Grades of the scopes that no standard defines. */
const scopeGrades: Partial<Record<Scope, Evidence>> = { twin: 'observed' }

/**
 * The provider metadata (OpenID Connect Discovery 1.0 section 3, RFC 8414 section 2). It lists only what answers in the
 * service's evidence mode.
 */
export function discoveryDocument(context: Pick<ServiceContext, 'baseUrl' | 'options'>) {
  const issuer = issuerOf(context)
  const answers = (endpoint: keyof typeof optionalEndpoints) =>
    !isWeaker(optionalEndpoints[endpoint], context.options.evidence)
  return {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    ...(answers('userinfo') && { userinfo_endpoint: `${issuer}/me` }),
    jwks_uri: `${issuer}/jwks`,
    ...(answers('registration') && { registration_endpoint: `${issuer}/reg` }),
    introspection_endpoint: `${issuer}/token/introspection`,
    ...(answers('revocation') && {
      revocation_endpoint: `${issuer}/token/revocation`,
      revocation_endpoint_auth_methods_supported: [...authMethods],
    }),
    ...(answers('session end') && { end_session_endpoint: `${issuer}/session/end` }),
    scopes_supported: scopesSupported.filter(
      (scope) => !isWeaker(scopeGrades[scope] ?? 'documented', context.options.evidence),
    ),
    claims_supported: [
      ...['sub', 'iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'amr', 'at_hash'],
      ...['name', 'updated_at', 'email', 'email_verified'],
      ...twinClaimNames(context),
    ],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...signingAlgorithms],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: [...authMethods],
    introspection_endpoint_auth_methods_supported: authMethods.filter((method) => method !== 'none'),
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    claims_parameter_supported: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  }
}
