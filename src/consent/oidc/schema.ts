import { allDesigned } from '../../http/fields/graded.js'
import { component, lineUpTo, UnixSeconds, z } from '../../http/fields/schema.js'
import { signingAlgorithms } from './clients/client.js'

const Text = z.string().check(z.maxLength(2048))
const Texts = z.array(Text).check(z.maxLength(100))

/** Several fields with the same schema. */
const all = <Name extends string, S extends z.ZodMiniType>(schema: S, ...names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, schema])) as Record<Name, S> // Object.fromEntries loses the types of the keys.

const anyText = z.optional(z.string())

export const Discovery = component('ProviderMetadata', {
  ...all(z.string(), 'issuer', 'authorization_endpoint', 'token_endpoint'),
  userinfo_endpoint: anyText,
  jwks_uri: z.string(),
  registration_endpoint: anyText,
  introspection_endpoint: z.string(),
  ...all(anyText, 'revocation_endpoint', 'end_session_endpoint'),
  ...all(Texts, 'scopes_supported', 'claims_supported', 'response_types_supported', 'response_modes_supported'),
  ...all(Texts, 'grant_types_supported', 'prompt_values_supported', 'subject_types_supported'),
  ...all(Texts, 'id_token_signing_alg_values_supported', 'code_challenge_methods_supported'),
  ...all(Texts, 'token_endpoint_auth_methods_supported', 'introspection_endpoint_auth_methods_supported'),
  revocation_endpoint_auth_methods_supported: z.optional(Texts),
  ...all(z.boolean(), 'authorization_response_iss_parameter_supported', 'client_id_metadata_document_supported'),
  ...all(z.boolean(), 'claims_parameter_supported', 'request_parameter_supported', 'request_uri_parameter_supported'),
})

export const KeySet = component('KeySet', {
  keys: z.array(
    component('PublicKey', {
      kty: z.enum(['EC', 'RSA']),
      kid: z.string(),
      alg: z.enum(signingAlgorithms),
      use: z.literal('sig'),
      crv: z.optional(z.literal('P-256')),
      ...all(anyText, 'x', 'y', 'n', 'e'),
    }),
  ),
})

const Uris = z.array(Text).check(z.maxLength(32))
const Phrase = z.string().check(z.maxLength(255))
const Phrases = z.array(Phrase).check(z.maxLength(16))

const metadata = {
  redirect_uris: z.optional(Uris),
  token_endpoint_auth_method: z.optional(Phrase),
  ...all(z.optional(Phrases), 'grant_types', 'response_types'),
  scope: z.optional(z.string().check(z.maxLength(1024))),
  client_name: z.optional(lineUpTo(128)),
  ...all(z.optional(Text), 'client_uri', 'logo_uri', 'tos_uri', 'policy_uri'),
  contacts: z.optional(Phrases),
  application_type: z.optional(z.enum(['web', 'native'])),
  post_logout_redirect_uris: z.optional(Uris),
  jwks_uri: z.optional(Text),
  jwks: z.optional(z.record(z.string(), z.unknown())),
  ...all(z.optional(Phrase), 'software_id', 'software_version', 'subject_type', 'id_token_signed_response_alg'),
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
  ...all(Parameter, 'client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state'),
  nonce: z.secret(Parameter),
  ...all(Parameter, 'code_challenge', 'code_challenge_method', 'prompt', 'max_age', 'login_hint'),
  id_token_hint: z.secret(Parameter),
  ...all(Parameter, 'resource', 'request', 'request_uri', 'registration'),
})

export const ClientId = z.string().check(z.regex(/^\w{1,64}$/))
const clientFields = { client_id: z.optional(z.TextId), client_secret: z.secret(anyText) }

export const TokenBody = z.object({
  ...clientFields,
  grant_type: anyText,
  code: z.secret(anyText),
  redirect_uri: anyText,
  code_verifier: z.secret(anyText),
  refresh_token: z.secret(anyText),
  ...all(anyText, 'scope', 'resource'),
})

export const Tokens = z.object({
  access_token: z.secret(z.string()),
  token_type: z.literal('Bearer'),
  expires_in: UnixSeconds,
  scope: z.string(),
  refresh_token: z.secret(anyText),
  id_token: z.secret(anyText),
})

export const TokenParameters = component('TokenParameters', {
  ...clientFields,
  token: z.secret(z.string()),
  token_type_hint: anyText,
})

const claims = {
  name: anyText,
  updated_at: z.optional(UnixSeconds),
  email: anyText,
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
  scope: anyText,
  client_id: z.optional(z.TextId),
  ...all(anyText, 'aud', 'iss'),
  ...all(z.optional(UnixSeconds), 'exp', 'iat'),
  jti: z.optional(z.TextId),
  ...claims,
})

export const EndSession = component('EndSessionRequest', {
  id_token_hint: z.secret(anyText),
  client_id: z.optional(z.TextId),
  post_logout_redirect_uri: anyText,
  state: anyText,
})

/** A request to sign out (OpenID Connect RP-Initiated Logout 1.0 section 2). */
export type EndSessionRequest = z.output<typeof EndSession>
