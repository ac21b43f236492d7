import { type Problem, problem } from '../../../base/problem.js'
import { digest, sameSecret } from '../../../base/secrets.js'
import { parsedUrl } from '../../../base/text/foreign-url.js'
import { isBlank, revealInvisible } from '../../../base/text/invisible-characters.js'
import { quoted } from '../../../base/text/quotation.js'
import { countFailure } from '../../../identity/tokens/token.js'
import { countedDaily } from '../../../storage/growth.js'
import { DAY } from '../../../storage/retention.js'
import { collection, type Reader, type Writer } from '../../../storage/storage.js'
import { sameRedirectUri } from './redirect-uri.js'

export const authMethods = ['none', 'client_secret_basic', 'client_secret_post'] as const
export type AuthMethod = (typeof authMethods)[number]

/** The algorithms of id tokens. A client that names none gets the first (OpenID Connect Dynamic Client Registration 1.0 section 2). */
export const signingAlgorithms = ['RS256', 'ES256'] as const
export type SigningAlgorithm = (typeof signingAlgorithms)[number]

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
  /** Of its id tokens. A client that registered when there was no choice has none, and uses ES256. */
  readonly id_token_signed_response_alg?: SigningAlgorithm
}

/** An app that registered itself, or whose metadata is a document. The id is its client_id: for a document, its https URL. */
export interface OidcClientRow {
  readonly id: string
  /** Null for a public client. */
  readonly secret_digest: string | null
  /** Null for a document: nobody manages it here. */
  readonly registration_digest: string | null
  readonly metadata: ClientMetadata
  readonly created_at: number
  /** Since when no user has it connected. Null while a user has. */
  readonly unused_since: number | null
  /** Since when it is deleted and every connection of it dead. Then its connections are removed, and at last the row. */
  readonly deleted_at?: number
  /** Only for a document. */
  readonly document_fetched_at?: number
}

export const oidcClients = collection<OidcClientRow>()(
  'oidc_clients',
  { unused: { fields: ['unused_since'] } },
  {
    secrets: ['registration_digest', 'secret_digest'],
    growth: countedDaily(
      'anybody, by registerOidcClient; and one for each document that names a client',
      'client address',
    ),
    retention: { after: 'it was registered, or the last user disconnected it', keepMs: 30 * DAY, index: 'unused' },
  },
)

/** Kind of the timer that goes on to end the connections of a deleted client. Its subject is the client's id. */
export const CLIENT_DELETED = 'client_deleted'

/** Stores since when no user has a client connected. Unused clients are removed later. */
export async function setUnusedSince(tx: Writer, id: string, { unusedSince }: { unusedSince: number | null }) {
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
 * Authenticates a client (RFC 6749 section 2.3). A secret may come in the `Authorization` header or in the body, whatever the
 * client registered, because many libraries choose by themselves. Returns `invalid_client`, so that a wrong secret counts. Throws
 * `too_many_failures`, `invalid_request`.
 */
export async function authenticateClient(tx: Writer, sent: SentClient, at: number): Promise<OidcClientRow | Problem> {
  const { id, secret } = readClientCredentials(sent)
  const client = await clientById(tx, id)
  const matches = sameSecret(digest(secret), client?.secret_digest ?? digest(''))
  const refused = problem('invalid_client', sent.authorization === null ? {} : BASIC)
  if (!client) return refused
  // A public client has no secret to guess, so nothing is counted. Some send an empty one.
  if (client.secret_digest === null) return secret === '' ? client : refused
  if (matches) return client
  await countFailure(tx, client.id, at)
  return refused
}

const BASIC = { headers: { 'www-authenticate': 'Basic realm="farthing"' } }

function readClientCredentials({ authorization, client_id, client_secret }: SentClient) {
  if (authorization === null) {
    if (client_id === undefined) throw problem('invalid_client', BASIC)
    return { id: client_id, secret: client_secret ?? '' }
  }
  const [id, secret] = basicPair(authorization)
  if (client_secret !== undefined || (client_id !== undefined && client_id !== id))
    throw problem('invalid_request', {
      detail: 'Send the client credentials either in the `Authorization` header or in the body, not both.',
    })
  return { id, secret }
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

export const idTokenAlgorithm = ({ metadata }: OidcClientRow): SigningAlgorithm =>
  metadata.id_token_signed_response_alg ?? 'ES256'

/** Whether a client has registered a redirect URI. It may have removed one since it asked for something. */
export const isOwnRedirect = ({ metadata }: OidcClientRow, uri: string): boolean =>
  metadata.redirect_uris.some((registered) => sameRedirectUri(registered, uri))

/** Those scopes that a client has registered. It may have removed some since a user allowed them. */
export function ownScopes({ metadata }: OidcClientRow, scopes: readonly string[]): string[] {
  const own = metadata.scope.split(' ')
  return scopes.filter((scope) => own.includes(scope))
}

/** Returns a client that is not deleted. */
export async function clientById(tx: Reader, id: string): Promise<OidcClientRow | undefined> {
  const client = await tx.get(oidcClients, id)
  return client && !isClientDeleted(client) ? client : undefined
}

export const isClientDeleted = ({ deleted_at }: OidcClientRow): boolean => deleted_at !== undefined
const LONGEST_DOCUMENT_ID = 1024

/** Whether a client id is the https address of a metadata document (OAuth Client ID Metadata Document, section 3), as a browser spells it. */
export function isDocumentId(clientId: string): boolean {
  const url =
    clientId.startsWith('https://') && clientId.length <= LONGEST_DOCUMENT_ID ? parsedUrl(clientId) : undefined
  if (!url) return false
  const { href, username, password, pathname } = url
  return href === clientId && username === '' && password === '' && pathname !== '/' && !clientId.includes('#')
}

/** An app as people see it. Anybody may choose any name, so it is in quotation marks that it cannot close, apart from the host. */
export interface ShownApp {
  /** The name in quotation marks, or words of the service for an app without a name. */
  readonly title: string
  /** The host of its metadata document, which nobody else can choose. Null if the app registered itself. */
  readonly host: string | null
}

export function shownApp(client: OidcClientRow): ShownApp {
  const name = chosenName(client)
  return { title: name === undefined ? unnamed(client) : quoted(name), host: appHost(client) }
}

/** The name of an app for programs. It proves nothing: show `appHost` beside it. */
export const appName = (client: OidcClientRow): string => chosenName(client) ?? unnamed(client)

/** The host of an app's metadata document. Null if the app registered itself. */
export const appHost = ({ id }: OidcClientRow): string | null => (isDocumentId(id) ? new URL(id).host : null)

/** What a second factor shows of an app, each in a line of its own. */
export const appFields = ({ title, host }: ShownApp) => ({ app: title, ...(host !== null && { app_host: host }) })

function chosenName({ metadata: { client_name = '' } }: OidcClientRow): string | undefined {
  return isBlank(client_name) ? undefined : revealInvisible(client_name)
}

const unnamed = ({ id }: OidcClientRow): string =>
  isDocumentId(id) ? 'An app without a name' : `The app ${id.slice(0, 12)}…`
