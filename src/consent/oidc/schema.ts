import { allDesigned } from '../../http/fields/graded.js'
import { component, lineOf, UnixSeconds, z } from '../../http/fields/schema.js'
import { signingAlgorithms } from './clients/client.js'

const Text = z.string().check(z.maxLength(2048))
const Texts = z.array(Text).check(z.maxLength(100))

export const Discovery = component('ProviderMetadata', {
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  userinfo_endpoint: z.optional(z.string()),
  jwks_uri: z.string(),
  registration_endpoint: z.optional(z.string()),
  introspection_endpoint: z.string(),
  revocation_endpoint: z.optional(z.string()),
  end_session_endpoint: z.optional(z.string()),
  scopes_supported: Texts,
  claims_supported: Texts,
  response_types_supported: Texts,
  response_modes_supported: Texts,
  grant_types_supported: Texts,
  prompt_values_supported: Texts,
  subject_types_supported: Texts,
  id_token_signing_alg_values_supported: Texts,
  code_challenge_methods_supported: Texts,
  token_endpoint_auth_methods_supported: Texts,
  introspection_endpoint_auth_methods_supported: Texts,
  revocation_endpoint_auth_methods_supported: z.optional(Texts),
  authorization_response_iss_parameter_supported: z.boolean(),
  client_id_metadata_document_supported: z.boolean(),
  claims_parameter_supported: z.boolean(),
  request_parameter_supported: z.boolean(),
  request_uri_parameter_supported: z.boolean(),
})

export const KeySet = component('KeySet', {
  keys: z.array(
    component('PublicKey', {
      kty: z.enum(['EC', 'RSA']),
      kid: z.string(),
      alg: z.enum(signingAlgorithms),
      use: z.literal('sig'),
      crv: z.optional(z.literal('P-256')),
      x: z.optional(z.string()),
      y: z.optional(z.string()),
      n: z.optional(z.string()),
      e: z.optional(z.string()),
    }),
  ),
})

const Uris = z.array(Text).check(z.maxLength(32))
const Phrase = z.string().check(z.maxLength(255))
const Phrases = z.array(Phrase).check(z.maxLength(16))

const metadata = {
  redirect_uris: z.optional(Uris),
  token_endpoint_auth_method: z.optional(Phrase),
  grant_types: z.optional(Phrases),
  response_types: z.optional(Phrases),
  scope: z.optional(z.string().check(z.maxLength(1024))),
  client_name: z.optional(lineOf(128, 0)),
  client_uri: z.optional(Text),
  logo_uri: z.optional(Text),
  tos_uri: z.optional(Text),
  policy_uri: z.optional(Text),
  contacts: z.optional(Phrases),
  application_type: z.optional(z.enum(['web', 'native'])),
  post_logout_redirect_uris: z.optional(Uris),
  jwks_uri: z.optional(Text),
  jwks: z.optional(z.record(z.string(), z.unknown())),
  software_id: z.optional(Phrase),
  software_version: z.optional(Phrase),
  subject_type: z.optional(Phrase),
  id_token_signed_response_alg: z.optional(Phrase),
}

/** Client metadata (RFC 7591 section 2). */
export const Metadata = component('ClientMetadata', metadata)

/** Complete metadata that replaces the existing one (RFC 7592 section 2.2). */
export const Replacement = z.object({
  ...metadata,
  client_id: z.TextId,
  client_secret: z.secret(z.optional(z.string())),
})

export const Registration = component('RegisteredClient', {
  ...metadata,
  client_id: z.TextId,
  client_id_issued_at: UnixSeconds,
  client_secret: z.secret(z.optional(z.string())),
  client_secret_expires_at: z.optional(UnixSeconds),
  registration_access_token: z.secret(z.string()),
  registration_client_uri: z.Link,
})

/** The length is limited because parameters are stored and sent back. */
const Parameter = z.optional(z.string().check(z.maxLength(8192)))

/** An authorization request. Invalid values pass here: `authorizeOidc` reports them in OAuth's own form. */
export const Authorization = component('AuthorizationRequest', {
  client_id: Parameter,
  redirect_uri: Parameter,
  response_type: Parameter,
  response_mode: Parameter,
  scope: Parameter,
  state: Parameter,
  nonce: z.secret(Parameter),
  code_challenge: Parameter,
  code_challenge_method: Parameter,
  prompt: Parameter,
  max_age: Parameter,
  login_hint: Parameter,
  id_token_hint: z.secret(Parameter),
  resource: Parameter,
  request: Parameter,
  request_uri: Parameter,
  registration: Parameter,
})

export const ClientId = z.string().check(z.regex(/^\w{1,64}$/))
const clientFields = { client_id: z.optional(z.TextId), client_secret: z.secret(z.optional(z.string())) }

export const TokenBody = z.object({
  ...clientFields,
  grant_type: z.optional(z.string()),
  code: z.secret(z.optional(z.string())),
  redirect_uri: z.optional(z.string()),
  code_verifier: z.secret(z.optional(z.string())),
  refresh_token: z.secret(z.optional(z.string())),
  scope: z.optional(z.string()),
  resource: z.optional(z.string()),
})

export const Tokens = z.object({
  access_token: z.secret(z.string()),
  token_type: z.literal('Bearer'),
  expires_in: UnixSeconds,
  scope: z.string(),
  refresh_token: z.secret(z.optional(z.string())),
  id_token: z.secret(z.optional(z.string())),
})

export const TokenParameters = component('TokenParameters', {
  ...clientFields,
  token: z.secret(z.string()),
  token_type_hint: z.optional(z.string()),
})

const claims = {
  name: z.optional(z.string()),
  updated_at: z.optional(UnixSeconds),
  email: z.optional(z.string()),
  email_verified: z.optional(z.boolean()),
  ...allDesigned({
    twin_hostname: z.optional(z.nullable(z.Hostname)),
    agent_twin_hostname: z.optional(z.nullable(z.Hostname)),
    agent_twin_key: z.secret(z.optional(z.nullable(z.string()))),
  }),
}

export const Userinfo = component('Userinfo', { sub: z.TextId, ...claims })

export const Introspected = z.object({
  active: z.boolean(),
  sub: z.optional(z.TextId),
  token_type: z.optional(z.enum(['Bearer', 'refresh_token'])),
  scope: z.optional(z.string()),
  client_id: z.optional(z.TextId),
  aud: z.optional(z.string()),
  iss: z.optional(z.string()),
  exp: z.optional(UnixSeconds),
  iat: z.optional(UnixSeconds),
  jti: z.optional(z.TextId),
  ...claims,
})

export const EndSession = component('EndSessionRequest', {
  id_token_hint: z.secret(z.optional(z.string())),
  client_id: z.optional(z.TextId),
  post_logout_redirect_uri: z.optional(z.string()),
  state: z.optional(z.string()),
})

/** A request to sign out (OpenID Connect RP-Initiated Logout 1.0 section 2). */
export type EndSessionRequest = z.output<typeof EndSession>
