import { withoutUndefined } from '../../base/json.js'
import { problem } from '../../base/problem.js'
import { digest, hexOf, randomHex, sameSecret } from '../../base/secrets.js'
import { parsedUrl } from '../../base/text/foreign-url.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { z } from '../../http/fields/schema.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { isObject } from '../../storage/unknown.js'
import {
  authMethods,
  type ClientMetadata,
  clientById,
  idTokenAlgorithm,
  type OidcClientRow,
  oidcClients,
  signingAlgorithms,
} from './clients/client.js'
import { isRedirectUri } from './clients/redirect-uri.js'
import { isScope, issuerOf, scopesSupported, splitOnSpaces } from './issuer.js'
import type { Metadata, Replacement } from './schema.js'

/** Metadata as sent. Only the types of its fields are checked. */
type SentMetadata = z.output<typeof Metadata>
type Context = Pick<ServiceContext, 'random' | 'keys' | 'baseUrl' | 'clock'>

/** Registers an app (RFC 7591). Throws `invalid_redirect_uri`, `invalid_client_metadata`. */
export async function registerOidcClient(tx: Writer, sent: SentMetadata, context: Context) {
  const metadata = checkMetadata(sent)
  const at = context.clock.now()
  const id = `mid_${randomHex(context.random, 16)}`
  const row: OidcClientRow = {
    id,
    secret_digest: metadata.token_endpoint_auth_method === 'none' ? null : digest(clientSecret(id, context)),
    registration_digest: digest(registrationToken(id, context)),
    metadata,
    created_at: at,
    unused_since: at,
  }
  tx.put(oidcClients, row)
  return showClient({ row, token: registrationToken(id, context) }, context)
}

type ManagedClient = { readonly row: OidcClientRow; readonly token: string }

/** The registration that a token manages (RFC 7592). Throws `token_invalid`, also for an unknown id. */
export async function managedClient(tx: Reader, id: string, authorization: string | null): Promise<ManagedClient> {
  const [, token = ''] = /^Bearer\s+(\S+)$/i.exec(authorization ?? '') ?? []
  const row = await clientById(tx, id)
  if (row && row.registration_digest !== null && sameSecret(digest(token), row.registration_digest))
    return { row, token }
  throw problem('token_invalid', {
    detail: 'Send the registration access token of this client.',
    headers: { 'www-authenticate': 'Bearer realm="farthing", error="invalid_token"' },
  })
}

/**
 * Replaces a client's metadata. A client that becomes confidential gets a secret, and one that becomes public loses it.
 * Throws like `registerOidcClient`, and `invalid_request` for a wrong client_id or client_secret.
 */
export function updateOidcClient(
  tx: Writer,
  { row, token }: ManagedClient,
  { client_id, client_secret, ...sent }: z.output<typeof Replacement>,
  context: Context,
) {
  if (client_id !== row.id || (client_secret !== undefined && digest(client_secret) !== row.secret_digest))
    throw problem('invalid_request', {
      detail: '`client_id` and `client_secret` must be those of the registered client.',
    })
  const metadata = checkMetadata(sent)
  const secret_digest = metadata.token_endpoint_auth_method === 'none' ? null : digest(clientSecret(row.id, context))
  const isUnused = row.unused_since !== null
  const updated: OidcClientRow = {
    ...{ ...row, metadata, secret_digest },
    ...(isUnused && { unused_since: context.clock.now() }),
  }
  tx.put(oidcClients, updated)
  return showClient({ row: updated, token }, context)
}

const clientSecret = (id: string, { keys }: Pick<Context, 'keys'>): string =>
  `mc_${hexOf(keys.derive('oidc client secret', id)).slice(0, 32)}`

const registrationToken = (id: string, { keys }: Pick<Context, 'keys'>): string =>
  `tqmt_${hexOf(keys.derive('oidc registration token', id)).slice(0, 32)}`

/** Client information (RFC 7591 section 3.2.1): what was registered, with the credentials. */
export function showClient({ row, token }: ManagedClient, context: Context) {
  const { id, secret_digest, metadata, created_at } = row
  const secret = clientSecret(id, context)
  return {
    client_id: id,
    client_id_issued_at: seconds(created_at),
    // A state that was moved without its key cannot derive its old secrets again.
    ...(secret_digest === digest(secret) && { client_secret: secret }),
    ...(secret_digest !== null && { client_secret_expires_at: 0 }),
    registration_access_token: token,
    registration_client_uri: `${issuerOf(context)}/reg/${id}`,
    ...metadata,
    subject_type: 'public',
    id_token_signed_response_alg: idTokenAlgorithm(row),
  }
}

const metadataProblem = (detail: string, ...fields: string[]) =>
  problem('invalid_client_metadata', { detail, facts: { fields } })

/** Checks metadata and fills in what is missing. Throws like `registerOidcClient`. */
export function checkMetadata(sent: SentMetadata): ClientMetadata {
  const { subject_type, jwks, id_token_signed_response_alg: _, ...rest } = sent
  if ((subject_type ?? 'public') !== 'public') throw metadataProblem('`subject_type` must be public.', 'subject_type')
  if (jwks && sent.jwks_uri) throw metadataProblem('Send either `jwks` or `jwks_uri`, not both.', 'jwks', 'jwks_uri')
  const redirect_uris = checkRedirects(sent)
  for (const name of ['client_uri', 'logo_uri', 'tos_uri', 'policy_uri', 'jwks_uri'] as const)
    if (sent[name] !== undefined && !isWebAddress(sent[name]))
      throw metadataProblem(`\`${name}\` must be an https or http URL.`, name)
  const metadata = {
    ...withoutUndefined(rest),
    redirect_uris,
    token_endpoint_auth_method: oneOf(authMethods, 'token_endpoint_auth_method', sent, 'client_secret_basic'),
    ...checkGrants(sent),
    ...(jwks && { jwks: checkKeys(jwks) }),
    scope: checkScope(sent.scope),
    id_token_signed_response_alg: oneOf(signingAlgorithms, 'id_token_signed_response_alg', sent, signingAlgorithms[0]),
  }
  if (JSON.stringify(metadata).length > MAX_CHARACTERS)
    throw metadataProblem(
      `The metadata is longer than ${MAX_CHARACTERS} characters of JSON. Register fewer or shorter addresses.`,
    )
  return metadata
}

const MAX_CHARACTERS = 65_536
const MAX_URIS = 32

function checkRedirects({ redirect_uris = [], post_logout_redirect_uris = [] }: SentMetadata): readonly string[] {
  if (redirect_uris.length === 0) throw problem('invalid_redirect_uri', { detail: 'Send at least one redirect URI.' })
  const all = [...redirect_uris, ...post_logout_redirect_uris]
  if (all.length > MAX_URIS)
    throw problem('invalid_redirect_uri', { detail: `A client can register at most ${MAX_URIS} redirect URIs.` })
  const wrong = all.find((uri) => !isRedirectUri(uri))
  if (wrong === undefined) return redirect_uris
  throw problem('invalid_redirect_uri', {
    detail: `${JSON.stringify(wrong)} is not allowed. Use https, http on localhost, or the app's own scheme such as com.example.app:, without a fragment, user, wildcard or dot segment.`,
  })
}

function oneOf<K extends string>(known: readonly K[], field: keyof SentMetadata, sent: SentMetadata, absent: K): K {
  const found = sent[field] === undefined ? absent : known.find((each) => each === sent[field])
  if (found) return found
  throw metadataProblem(`\`${field}\` must be one of ${known.join(', ')}.`, field)
}

function checkGrants({
  grant_types = ['authorization_code', 'refresh_token'],
  response_types = ['code'],
}: SentMetadata) {
  const known = grant_types.every((type) => type === 'authorization_code' || type === 'refresh_token')
  if (!known || !grant_types.includes('authorization_code'))
    throw metadataProblem(
      '`grant_types` must contain authorization_code, and may contain refresh_token.',
      'grant_types',
    )
  if (response_types.length !== 1 || response_types[0] !== 'code')
    throw metadataProblem('`response_types` must be ["code"].', 'response_types')
  return { grant_types, response_types }
}

function checkScope(scope = scopesSupported.join(' ')): string {
  const known = splitOnSpaces(scope).filter(isScope)
  if (known.length === 0)
    throw metadataProblem(`\`scope\` must contain some of ${scopesSupported.join(', ')}.`, 'scope')
  return known.join(' ')
}

function isWebAddress(text: string): boolean {
  const url = text.length > 2048 ? undefined : parsedUrl(text)
  if (!url) return false
  const { protocol, username, password } = url
  return /^https?:$/.test(protocol) && username === '' && password === ''
}

/** Secret members of a JWK (RFC 7518 sections 6.2.2, 6.3.2 and 6.4). */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
const MAX_KEYS = 16

const base64url = (least: number, most: number) =>
  z.string().check(z.regex(/^[A-Za-z0-9_-]+$/), z.minLength(least), z.maxLength(most))

const keyDescription = {
  kid: z.optional(z.string().check(z.maxLength(255))),
  use: z.optional(z.enum(['sig', 'enc'])),
  alg: z.optional(z.string().check(z.maxLength(32))),
  key_ops: z.optional(z.array(z.string().check(z.maxLength(32))).check(z.maxLength(8))),
}

/** A public key that a client registers. Unknown members are dropped. An RSA modulus has 2048 to 8192 bits. */
const PublicKey = z.union([
  z.object({ kty: z.literal('RSA'), n: base64url(342, 1366), e: base64url(1, 8), ...keyDescription }),
  z.object({
    kty: z.literal('EC'),
    crv: z.enum(['P-256', 'P-384', 'P-521']),
    x: base64url(1, 88),
    y: base64url(1, 88),
    ...keyDescription,
  }),
  z.object({
    kty: z.literal('OKP'),
    crv: z.enum(['Ed25519', 'Ed448', 'X25519', 'X448']),
    x: base64url(1, 76),
    ...keyDescription,
  }),
])

function checkKeys({ keys }: { readonly keys?: unknown }): { readonly keys: readonly object[] } {
  if (!Array.isArray(keys)) throw metadataProblem('`jwks` needs `keys`, an array of public keys.', 'jwks')
  if (keys.length > MAX_KEYS) throw metadataProblem(`\`jwks\` takes at most ${MAX_KEYS} keys.`, 'jwks')
  return { keys: keys.map(checkKey) }
}

function checkKey(key: unknown): object {
  if (isObject(key) && PRIVATE_MEMBERS.some((member) => member in key))
    throw metadataProblem(
      '`jwks` takes public keys only. Send no private or symmetric key, and replace this one.',
      'jwks',
    )
  const { success, data } = PublicKey.safeParse(key)
  if (success) return data
  throw metadataProblem('A key in `jwks` is not supported. Send RSA keys of 2048 to 8192 bits, EC or OKP keys.', 'jwks')
}
