import { type Problem, problem } from '../../../base/problem.js'
import { digest, sameSecret } from '../../../base/secrets.js'
import { revealInvisible } from '../../../base/text/invisible-characters.js'
import { countAttempt } from '../../../identity/tokens/client.js'
import { collection, type Reader, type Writer } from '../../../storage/storage.js'

export const authMethods = ['none', 'client_secret_basic', 'client_secret_post'] as const
export type AuthMethod = (typeof authMethods)[number]

/** Stored client metadata (RFC 7591 section 2). URLs are shown or redirected to, never fetched. */
export interface ClientMetadata {
  readonly redirect_uris: readonly string[]
  readonly token_endpoint_auth_method: AuthMethod
  readonly grant_types: readonly string[]
  readonly response_types: readonly string[]
  readonly scope: string
  readonly client_name?: string
  readonly client_uri?: string
  readonly logo_uri?: string
  readonly tos_uri?: string
  readonly policy_uri?: string
  readonly contacts?: readonly string[]
  readonly application_type?: 'web' | 'native'
  readonly post_logout_redirect_uris?: readonly string[]
  readonly jwks_uri?: string
  readonly jwks?: { readonly keys: readonly object[] }
  readonly software_id?: string
  readonly software_version?: string
  readonly default_max_age?: number
}

/** An app that registered itself. The id is its client_id. */
export interface OidcClientRow {
  readonly id: string
  /** Null for a public client. */
  readonly secret_digest: string | null
  readonly registration_digest: string
  readonly metadata: ClientMetadata
  readonly created_at: number
  /** Since when no user has it connected. Null if a user may have; older rows lack it. */
  readonly unused_since?: number | null
}

export const oidcClients = collection<OidcClientRow>()('oidc_clients', { unused: { fields: ['unused_since'] } })

/** Stores since when no user has a client connected. Unused clients are removed later. */
export async function setUnusedSince(
  tx: Writer,
  id: string,
  { unusedSince }: { unusedSince: number | null },
): Promise<void> {
  const client = await tx.get(oidcClients, id)
  if (client && client.unused_since !== unusedSince) tx.put(oidcClients, { ...client, unused_since: unusedSince })
}

/** Credentials of a client, in the `Authorization` header or in the body. */
export interface SentClient {
  readonly authorization: string | null
  readonly client_id: string | undefined
  readonly client_secret: string | undefined
}

/**
 * Authenticates a client (RFC 6749 section 2.3). Returns `invalid_client` and `too_many_failures`, so that a wrong secret counts.
 * Throws `invalid_request`.
 */
export async function authenticateClient(tx: Writer, sent: SentClient, at: number): Promise<OidcClientRow | Problem> {
  const { id, secret, method } = readClientCredentials(sent)
  const client = await tx.get(oidcClients, id)
  const matches = sameSecret(digest(secret), client?.secret_digest ?? digest(''))
  const refused = problem('invalid_client', sent.authorization === null ? {} : BASIC)
  if (!client) return refused
  // A public client has no secret to guess, so nothing is counted.
  if (client.secret_digest === null) return method === 'none' ? client : refused
  const isRight = matches && method === client.metadata.token_endpoint_auth_method
  const tried = await countAttempt(tx, client.id, isRight, at)
  return tried?.code === 'client_unknown' ? refused : (tried ?? client)
}

const BASIC = { headers: { 'www-authenticate': 'Basic realm="farthing"' } }

function readClientCredentials({ authorization, client_id, client_secret }: SentClient) {
  if (authorization === null) {
    if (client_id === undefined) throw problem('invalid_client', BASIC)
    const method: AuthMethod = client_secret === undefined ? 'none' : 'client_secret_post'
    return { id: client_id, secret: client_secret ?? '', method }
  }
  const [id, secret] = basicPair(authorization)
  if (client_secret !== undefined || (client_id !== undefined && client_id !== id))
    throw problem('invalid_request', {
      detail: 'Send the client credentials either in the `Authorization` header or in the body, not both.',
    })
  return { id, secret, method: 'client_secret_basic' as const }
}

/** Decodes Basic credentials, whose parts are form-encoded (RFC 6749 section 2.3.1). */
function basicPair(authorization: string): [id: string, secret: string] {
  try {
    const pair = atob(/^Basic\s+(\S+)$/i.exec(authorization)?.[1] ?? '')
    const [, id, secret] = /^([^:]*):(.*)$/s.exec(pair) ?? []
    if (id === undefined || secret === undefined) throw new TypeError('no pair')
    const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '))
    const decoded: [string, string] = [decode(id), decode(secret)]
    if (decoded.some((part) => !part.isWellFormed() || part.includes('\0'))) throw new TypeError('no text')
    return decoded
  } catch (cause) {
    throw problem('invalid_client', { ...BASIC, cause })
  }
}

/** The name of a client for people. Anybody may have chosen it, so invisible characters are made visible. */
export const appName = ({ id, metadata }: OidcClientRow): string =>
  metadata.client_name === undefined ? `The app ${id.slice(0, 12)}…` : revealInvisible(metadata.client_name)

export const clientById = (tx: Reader, id: string): Promise<OidcClientRow | undefined> => tx.get(oidcClients, id)
