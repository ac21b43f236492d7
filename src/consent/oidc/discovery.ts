import type { ServiceContext } from '../../http/context.js'
import { authMethods } from './clients/client.js'
import { issuerOf, scopesSupported } from './issuer.js'

/** The provider metadata (OpenID Connect Discovery 1.0 section 3, RFC 8414 section 2). */
export function discoveryDocument(context: Pick<ServiceContext, 'baseUrl'>) {
  const issuer = issuerOf(context)
  return {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/me`,
    jwks_uri: `${issuer}/jwks`,
    registration_endpoint: `${issuer}/reg`,
    introspection_endpoint: `${issuer}/token/introspection`,
    revocation_endpoint: `${issuer}/token/revocation`,
    end_session_endpoint: `${issuer}/session/end`,
    scopes_supported: [...scopesSupported],
    claims_supported: [
      ...['sub', 'iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'amr', 'at_hash'],
      ...['name', 'updated_at', 'email', 'email_verified'],
      ...['twin_hostname', 'agent_twin_hostname', 'agent_twin_key'],
    ],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: [...authMethods],
    introspection_endpoint_auth_methods_supported: authMethods.filter((method) => method !== 'none'),
    revocation_endpoint_auth_methods_supported: [...authMethods],
    authorization_response_iss_parameter_supported: true,
    claims_parameter_supported: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
  }
}
