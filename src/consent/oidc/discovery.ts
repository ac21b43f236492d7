import { type Evidence, isWeaker } from '../../base/evidence.js'
import type { ServiceContext } from '../../http/context.js'
import { twinClaimNames } from './claims.js'
import { authMethods, signingAlgorithms } from './clients/client.js'
import { issuerOf, type Scope, scopesSupported } from './issuer.js'

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
