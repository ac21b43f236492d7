import { problem } from '../../../base/problem.js'
import { required } from '../../../base/required.js'
import { randomHex } from '../../../base/secrets.js'
import { isPlainLine } from '../../../base/text/invisible-characters.js'
import type { ServiceContext } from '../../../http/context.js'
import { users } from '../../../identity/users/user.js'
import { collection, type Reader, type Writer } from '../../../storage/storage.js'
import { clientById, type OidcClientRow } from '../clients/client.js'
import { sameRedirectUri, withParameters } from '../clients/redirect-uri.js'
import { audienceOf, isScope, issuerOf, splitOnSpaces } from '../issuer.js'
import { signedClaims } from '../keys.js'

/** How long a user has for sign-in and consent. */
const LIFETIME = 3_600_000

/** A valid authorization request (OpenID Connect Core 1.0 section 3.1.2.1). */
export interface AuthorizationRequest {
  readonly client_id: string
  readonly redirect_uri: string
  readonly state: string | null
  readonly scopes: readonly string[]
  readonly nonce: string | null
  readonly code_challenge: string
  readonly prompt: readonly string[]
  /** In seconds. */
  readonly max_age: number | null
  readonly login_hint: string | null
  /** The user of `id_token_hint`. */
  readonly hinted_user_id: number | null
  readonly resource: string | null
}

/** An authorization request and its progress through sign-in and consent. The id is part of the address of its pages. */
export interface InteractionRow {
  readonly id: string
  readonly request: AuthorizationRequest
  readonly expires_at: number
  /** Digest of the session that made this progress. A different session starts from the beginning. */
  readonly session_digest: string | null
  /** The address that a code was mailed to. */
  readonly email: string | null
  /** Whether the session signed in during this interaction. `prompt=login` needs that. */
  readonly signed_in: boolean
  /** Id of the authentication request. */
  readonly second_factor_id: number | null
  readonly second_factor_passed: boolean
  /** What is wrong with the request. Null if it is valid. Older rows lack it, and are valid. */
  readonly refused?: AuthorizationAnswer | null
}

export const oidcInteractions = collection<InteractionRow>()('oidc_interactions', {
  byExpiry: { fields: ['expires_at'] },
})

/** The parameters of an authorization request. Any others are ignored. */
export type AuthorizationParameters = {
  readonly [name in
    | 'client_id'
    | 'redirect_uri'
    | 'response_type'
    | 'response_mode'
    | 'scope'
    | 'state'
    | 'nonce'
    | 'code_challenge'
    | 'code_challenge_method'
    | 'prompt'
    | 'max_age'
    | 'login_hint'
    | 'id_token_hint'
    | 'resource'
    | 'request'
    | 'request_uri'
    | 'registration']?: string | undefined
}

type Context = Pick<ServiceContext, 'random' | 'baseUrl' | 'clock'>

/**
 * Starts an authorization request and returns the address that the browser goes to. That is the sign-in and consent pages, which
 * also show errors. An invalid request with `prompt=none` goes back to the client with the error.
 * Throws `invalid_request` for an unknown client or an unregistered `redirect_uri`.
 */
export async function authorizeOidc(
  tx: Writer,
  parameters: AuthorizationParameters,
  context: Context,
): Promise<string> {
  const at = context.clock.now()
  const client = await clientById(tx, parameters.client_id ?? '')
  if (!client)
    throw problem('invalid_request', { detail: '`client_id` is unknown. Register the client at /v4/oidc/reg.' })
  const redirect_uri = checkRedirectUri(client, parameters.redirect_uri)
  const answered = { redirect_uri, state: parameters.state ?? null }
  const hinted = await readHint(tx, parameters, client, context)
  const refused = parameterError(parameters, client, context) ?? (hinted === undefined ? WRONG_HINT : undefined)
  // OpenID Connect Core 1.0 section 3.1.2.1: `prompt=none` never shows a page.
  if (refused && parameters.prompt === 'none') return answerAddress(answered, refused, context)
  await removeExpiredInteractions(tx, at)
  const id = randomHex(context.random, 16)
  const asked = refused
    ? EMPTY_REQUEST
    : { ...parseRequest(parameters, client, context), hinted_user_id: hinted ?? null }
  const request = { ...answered, client_id: client.id, ...asked }
  const untouched = { email: null, signed_in: false, second_factor_id: null, second_factor_passed: false }
  const expires_at = at + LIFETIME
  tx.put(oidcInteractions, { id, request, expires_at, session_digest: null, ...untouched, refused: refused ?? null })
  return `${issuerOf(context)}/interaction/${id}`
}

/** Stored in place of an invalid request's parameters. */
const EMPTY_REQUEST = {
  ...{ scopes: [], nonce: null, code_challenge: '', prompt: [], max_age: null },
  ...{ login_hint: null, hinted_user_id: null, resource: null },
}

/** The user of `id_token_hint`. Null if it is not sent, undefined if it is not an id token of the client. */
async function readHint(
  tx: Reader,
  { id_token_hint: hint }: AuthorizationParameters,
  client: OidcClientRow,
  context: Context,
): Promise<number | null | undefined> {
  return hint === undefined ? null : hintedUser(tx, hint, client, context)
}

function checkRedirectUri({ metadata }: OidcClientRow, asked: string | undefined): string {
  if (asked !== undefined && metadata.redirect_uris.some((registered) => sameRedirectUri(registered, asked)))
    return asked
  throw problem('invalid_request', { detail: '`redirect_uri` must be one that the client registered.' })
}

/** The parameters of an authorization response: an error, or a code. */
export interface AuthorizationAnswer {
  readonly error?: string
  readonly error_description?: string
  readonly code?: string
}

/** The client's redirect URI with the response, `state` and `iss` (RFC 9207). */
export const answerAddress = (
  { redirect_uri, state }: Pick<AuthorizationRequest, 'redirect_uri' | 'state'>,
  answer: AuthorizationAnswer,
  context: Pick<ServiceContext, 'baseUrl'>,
): string => withParameters(redirect_uri, { ...answer, ...(state !== null && { state }), iss: issuerOf(context) })

const invalidRequest = (error_description: string): AuthorizationAnswer => ({
  error: 'invalid_request',
  error_description,
})

const WRONG_HINT = invalidRequest('`id_token_hint` must be an id token of this client.')

/** The first error of a request, or undefined. */
function parameterError(
  sent: AuthorizationParameters,
  client: OidcClientRow,
  context: Pick<ServiceContext, 'baseUrl'>,
): AuthorizationAnswer | undefined {
  for (const name of ['request', 'request_uri', 'registration'] as const)
    if (sent[name] !== undefined) return { error: `${name}_not_supported` }
  if (sent.response_type === undefined) return invalidRequest('Send `response_type`.')
  if (sent.response_type !== 'code')
    return { error: 'unsupported_response_type', error_description: '`response_type` must be `code`.' }
  if ((sent.response_mode ?? 'query') !== 'query') return invalidRequest('`response_mode` must be query.')
  if (!/^[A-Za-z0-9_-]{43}$/.test(sent.code_challenge ?? ''))
    return invalidRequest('PKCE is required. Send `code_challenge` with 43 characters of base64url.')
  if (sent.code_challenge_method !== 'S256') return invalidRequest('`code_challenge_method` must be S256.')
  const prompt = splitOnSpaces(sent.prompt ?? '')
  if (!prompt.every((word) => prompts.includes(word)) || (prompt.includes('none') && prompt.length > 1))
    return invalidRequest('`prompt` must be none, or some of login, consent and select_account.')
  if (!/^\d{0,9}$/.test(sent.max_age ?? '')) return invalidRequest('`max_age` must be a number of seconds.')
  if (!isPlainLine(sent.login_hint ?? '')) return invalidRequest('`login_hint` must not contain invisible characters.')
  if (sent.resource !== undefined && audienceOf(sent.resource, context) === undefined)
    return {
      error: 'invalid_target',
      error_description: '`resource` is unknown. Send the URL of this service or of one of its MCP servers.',
    }
  return scopeError(sent, client)
}

const prompts = ['none', 'login', 'consent', 'select_account']

function scopeError({ scope }: AuthorizationParameters, client: OidcClientRow): AuthorizationAnswer | undefined {
  if (scope === undefined) return undefined
  const registered = splitOnSpaces(client.metadata.scope)
  // Unknown scopes are ignored (OpenID Connect Core 1.0 section 3.1.2.1).
  const known = splitOnSpaces(scope).filter(isScope)
  if (known.length > 0 && known.every((word) => registered.includes(word))) return undefined
  return {
    error: 'invalid_scope',
    error_description: `\`scope\` must contain some of the client's scopes: ${registered.join(' ')}.`,
  }
}

function parseRequest(sent: AuthorizationParameters, client: OidcClientRow, context: Pick<ServiceContext, 'baseUrl'>) {
  return {
    scopes: splitOnSpaces(sent.scope ?? client.metadata.scope).filter(isScope),
    nonce: sent.nonce ?? null,
    code_challenge: required(sent.code_challenge, '`code_challenge`'),
    prompt: splitOnSpaces(sent.prompt ?? ''),
    max_age: sent.max_age ? Number(sent.max_age) : null,
    login_hint: sent.login_hint ?? null,
    resource:
      sent.resource === undefined ? null : required(audienceOf(sent.resource, context), 'the audience of `resource`'),
  }
}

/** The user of an id token of the client, expired or not. Returns undefined for any other token. */
export async function hintedUser(
  tx: Reader,
  idToken: string,
  { id }: Pick<OidcClientRow, 'id'>,
  context: Pick<ServiceContext, 'baseUrl'>,
): Promise<number | undefined> {
  const claims = await signedClaims(tx, idToken, 'JWT')
  if (!claims || claims.iss !== issuerOf(context) || claims.aud !== id) return undefined
  return (await tx.get(users, Number(claims.sub)))?.id
}

async function removeExpiredInteractions(tx: Writer, at: number): Promise<void> {
  for (const old of await tx.find(oidcInteractions, { index: 'byExpiry', prefix: [], limit: 5 }))
    if (old.expires_at <= at) tx.remove(oidcInteractions, old.id)
}
