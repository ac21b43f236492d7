import { type Documented, documentedFields } from './documented-fields.js'

/** The fields that existing clients and public references of the live service show. */

const sold = ['commodity_name', 'commodity_description', 'commodity_cost', 'service_method', 'service_schema', 'active']
const item = ['id', ...sold]
const style = ['theme', 'style', 'leading', 'middle', 'trailing']
const commodity = ['hash', 'descriptor', 'dq', 'cost', 'hostname']
const authorization = [
  ...['id', 'merchant_url', 'merchant_name', 'payment_type_hash', 'status', 'authorized_at', 'expires_at'],
  ...['created_at', 'metadata', 'metadata.amount', 'metadata.requestedAt'],
]
const message = ['jsonrpc', 'id', 'method', 'params', 'result', 'error']
/** OpenID Connect Core 1.0, section 3.1.2.1, with PKCE (RFC 7636), resources (RFC 8707) and objects of a request. */
const authorizationRequest = [
  ...['client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state', 'nonce', 'prompt', 'max_age'],
  ...['login_hint', 'id_token_hint', 'code_challenge', 'code_challenge_method', 'resource'],
  ...['request', 'request_uri', 'registration'],
]
/** RFC 7591, section 2, and OpenID Connect Dynamic Client Registration 1.0, section 2. */
const client = [
  ...['redirect_uris', 'token_endpoint_auth_method', 'grant_types', 'response_types', 'scope', 'client_name'],
  ...['client_uri', 'logo_uri', 'tos_uri', 'policy_uri', 'contacts', 'application_type', 'post_logout_redirect_uris'],
  ...['jwks_uri', 'jwks', 'software_id', 'software_version', 'subject_type', 'id_token_signed_response_alg'],
]
const registered = ['client_id', 'client_id_issued_at', 'client_secret', 'client_secret_expires_at']

const pay: Documented = { answers: ['nonce', 'timestamp'] }
const validate: Documented = { sends: ['nonce', 'timestamp'] }
const persona: Documented = { answers: ['hash'] }
const session: Documented = { answers: ['session_id'] }
const embed: Documented = { sends: [...style, 'decimalPoints'] }
const payback: Documented = { sends: [...style, 'decimalPoints', 'consent'] }
const verify: Documented = { sends: [...style, 'issueMin', 'issueMax'] }

export const observedFields: Readonly<Record<string, Documented>> = {
  // A server library pays and validates, with both values or the nonce alone.
  'POST /v2/payment/:hash': pay,
  'POST /v4/payment/:hash': pay,
  'POST /v2/payment/:hash/validate': validate,
  'POST /v4/payment/:hash/validate': validate,
  'GET /v2/payment/:hash/validate': validate,
  'GET /v4/payment/:hash/validate': validate,
  'POST /v3/persona/:hash/delegate': { sends: ['hostname', 'name', 'email'] },
  // The elements of a page read what they sell, and mount a frame.
  'GET /v2/commodity/:hash': { sends: ['embed'] },
  'GET /v4/commodity/:hash': { sends: ['embed'], answers: commodity },
  'GET /v3/persona/:hash': persona,
  'GET /v4/persona/:hash': persona,
  'GET /v2/embed/:hash': embed,
  'GET /v4/embed/:hash': embed,
  'GET /v3/payback/embed/:hash': payback,
  'GET /v4/payback/embed/:hash': payback,
  'GET /v3/verify/embed/:hash': verify,
  'GET /v4/verify/embed/:hash': verify,
  'GET /micropay.js': {},
  'POST /v4/paywall': { sends: ['amount'] },
  // Agents register, sign their user in, and speak the Model Context Protocol.
  'POST /v4/oidc/reg': {
    sends: client,
    answers: [...client, ...registered, 'registration_access_token', 'registration_client_uri'],
  },
  'GET /v4/oidc/auth': { sends: authorizationRequest },
  'POST /mcp': { sends: message, answers: message },
  // Sellers register tools, read their storefront, and pay back.
  'POST /v4/mcp/tools': { sends: ['name', 'description', 'price_per_call', 'service_url'] },
  'GET /v4/mcp/tools': { answers: ['tools'] },
  'PUT /v4/mcp/tools/:id': { sends: ['name', 'description'] },
  'DELETE /v4/mcp/tools/:id': {},
  'GET /v4/catalog/items': {
    sends: ['limit', 'offset'],
    answers: ['items', ...item.map((name) => `items[].${name}`)],
  },
  'GET /v4/catalog/items/:id': { answers: item },
  'GET /v4/commodity/:hash/transactions': { answers: ['transactions'] },
  'POST /v4/transfer': { sends: ['address', 'amount'] },
  // Public references of the live service.
  'POST /v3/paywall': {
    sends: ['paymentTypeHash', 'amount', 'destinationUrl', 'merchantName'],
    answers: ['status', 'transaction_id', 'amount', 'merchant', 'timestamp'],
  },
  'GET /v3/paywall/authorizations': {
    answers: ['authorizations', ...authorization.map((name) => `authorizations[].${name}`)],
  },
  'PUT /v3/paywall/authorizations': {
    sends: ['authorizationId', 'approved'],
    answers: ['success', 'authorizationId', 'status', 'message'],
  },
  'DELETE /v3/paywall/authorizations': { sends: ['authorizationId'], answers: ['success', 'message'] },
  'POST /v3/pay/notifications/register': {
    sends: ['fcmToken', 'platform', 'deviceId'],
    answers: ['success', 'message', 'deviceId', 'platform', 'registeredAt'],
  },
  'POST /v3/session': session,
  'POST /v4/session': session,
}

const nonce = ['nonce', 'hostname', 'expires_at']
const user = ['id', 'email', 'created_at', 'updated_at', 'deleted_at', 'is_android', 'is_ios']
const held = ['fileIdentity', 'issuer', 'fileType', 'amount', 'integrity', 'timestamp'].map((name) => `[].${name}`)

/** The operations that the description names without fields. Those here are our own, and each mode but two shows them. */
export const namedFields: Readonly<Record<string, Documented>> = {
  'GET /v2/users': { answers: ['users', ...user.map((name) => `users[].${name}`)] },
  'GET /v2/twin/dq': { answers: ['digital_quantities'] },
  'POST /v2/twin/nonce': { sends: ['hostname'], answers: nonce },
  'PUT /v2/twin/nonce': { sends: ['hostname', 'nonce'], answers: ['valid', 'hostname'] },
  'GET /v2/twin/:hostname/inventory': { answers: held },
  'GET /v4/twin/:hostname/inventory': { answers: held },
}

/** OpenID Connect Discovery 1.0 section 3, RFC 8414 section 2, RFC 9207, and the draft of client id documents. */
const discovery = [
  ...['issuer', 'authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'jwks_uri', 'registration_endpoint'],
  ...['introspection_endpoint', 'revocation_endpoint', 'end_session_endpoint', 'scopes_supported', 'claims_supported'],
  ...['response_types_supported', 'response_modes_supported', 'grant_types_supported', 'prompt_values_supported'],
  ...['subject_types_supported', 'id_token_signing_alg_values_supported', 'code_challenge_methods_supported'],
  ...['token_endpoint_auth_methods_supported', 'introspection_endpoint_auth_methods_supported'],
  ...['revocation_endpoint_auth_methods_supported', 'authorization_response_iss_parameter_supported'],
  ...['client_id_metadata_document_supported', 'claims_parameter_supported', 'request_parameter_supported'],
  'request_uri_parameter_supported',
]

/** OpenID Connect Core 1.0, sections 2, 3.1.3.6 and 5.1, and RFC 7519, section 4.1. */
export const standardClaims: readonly string[] = [
  ...['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'auth_time', 'nonce', 'acr', 'amr', 'azp', 'at_hash', 'c_hash'],
  ...['name', 'updated_at', 'email', 'email_verified'],
]

const credentials = ['client_id', 'client_secret']

/** Endpoints of standards that the description names. */
export const standardFields: Readonly<Record<string, Documented>> = {
  'GET /v4/oidc/.well-known/openid-configuration': { answers: discovery },
  // RFC 7517, section 4, and RFC 7518, section 6.
  'GET /v4/oidc/jwks': {
    answers: ['keys', ...['kty', 'kid', 'alg', 'use', 'crv', 'x', 'y', 'n', 'e'].map((name) => `keys[].${name}`)],
  },
  // RFC 6749, sections 4.1.3, 5.1 and 6, RFC 7636, RFC 8707, and OpenID Connect Core 1.0, section 3.1.3.3.
  'POST /v4/oidc/token': {
    sends: [
      ...credentials,
      'grant_type',
      'code',
      'redirect_uri',
      'code_verifier',
      'refresh_token',
      'scope',
      'resource',
    ],
    answers: ['access_token', 'token_type', 'expires_in', 'refresh_token', 'scope', 'id_token'],
  },
  // RFC 7662, sections 2.1 and 2.2, with claims about the user.
  'POST /v4/oidc/token/introspection': {
    sends: [...credentials, 'token', 'token_type_hint'],
    answers: ['active', 'scope', 'client_id', 'token_type', 'exp', 'iat', 'sub', 'aud', 'iss', 'jti'].concat([
      ...['name', 'updated_at', 'email', 'email_verified'],
    ]),
  },
}

/** What each grade adds. */
export const fieldsByGrade = {
  documented: { ...documentedFields, ...standardFields },
  observed: observedFields,
  named: namedFields,
  designed: {},
} as const satisfies Readonly<Record<string, Readonly<Record<string, Documented>>>>
