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

/** As long as somebody may take over one sign-in and consent. */
const LIFETIME = 3_600_000

/** An authorization request that was found to be in order (OpenID Connect Core 1.0 section 3.1.2.1). */
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
  /** Whom `id_token_hint` is about. */
  readonly hinted_user_id: number | null
  readonly resource: string | null
}

/** An authorization request on its way through sign-in and consent. The id is part of the address of its pages. */
export interface InteractionRow {
  readonly id: string
  readonly request: AuthorizationRequest
  readonly expires_at: number
  /** The session that goes through it, by digest, with how far it came; another session begins anew. */
  readonly session_digest: string | null
  /** To which a code was mailed. */
  readonly email: string | null
  /** Whether the session signed in here, as `prompt=login` asks. */
  readonly signed_in: boolean
  /** The request for a second factor that was made, by id. */
  readonly second_factor_id: number | null
  readonly second_factor_passed: boolean
  /** What is wrong with the request; null, or absent in older rows, where nothing is. */
  readonly refused?: AuthorizationAnswer | null
}

export const oidcInteractions = collection<InteractionRow>()('oidc_interactions', {
  byExpiry: { fields: ['expires_at'] },
})

/** All that is read of a request; anything else is ignored. */
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
 * Where a browser that comes with an authorization request goes on: to the pages that sign in and ask, which also say what is
 * wrong with it. A silent request that is wrong goes back to the client with the error.
 * Throws `invalid_request` for an unknown client, or an address that it did not register.
 */
export async function authorizeOidc(
  tx: Writer,
  parameters: AuthorizationParameters,
  context: Context,
): Promise<string> {
  const at = context.clock.now()
  const client = await clientById(tx, parameters.client_id ?? '')
  if (!client) throw problem('invalid_request', { detail: '`client_id` names no client; register it at /v4/oidc/reg.' })
  const redirect_uri = checkRedirectUri(client, parameters.redirect_uri)
  const answered = { redirect_uri, state: parameters.state ?? null }
  const hinted = await readHint(tx, parameters, client, context)
  const refused = parameterError(parameters, client, context) ?? (hinted === undefined ? WRONG_HINT : undefined)
  // OpenID Connect Core 1.0 section 3.1.2.1: a silent request is answered without a page, whatever the answer is.
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

/** What a request asks that is refused. */
const EMPTY_REQUEST = {
  ...{ scopes: [], nonce: null, code_challenge: '', prompt: [], max_age: null },
  ...{ login_hint: null, hinted_user_id: null, resource: null },
}

/** Whom `id_token_hint` is about: null where there is none, undefined where it is no id token of the client's. */
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
  throw problem('invalid_request', { detail: '`redirect_uri` is none of those that the client registered.' })
}

/** What an answer to a client carries: an error, or a code. */
export interface AuthorizationAnswer {
  readonly error?: string
  readonly error_description?: string
  readonly code?: string
}

/** The client's address with an answer, the state that it sent, and who answers (RFC 9207). */
export const answerAddress = (
  { redirect_uri, state }: Pick<AuthorizationRequest, 'redirect_uri' | 'state'>,
  answer: AuthorizationAnswer,
  context: Pick<ServiceContext, 'baseUrl'>,
): string => withParameters(redirect_uri, { ...answer, ...(state !== null && { state }), iss: issuerOf(context) })

const invalidRequest = (error_description: string): AuthorizationAnswer => ({
  error: 'invalid_request',
  error_description,
})

const WRONG_HINT = invalidRequest('`id_token_hint` is not an id token of this client.')

/** The first thing about a request that its client must be told. */
function parameterError(
  sent: AuthorizationParameters,
  client: OidcClientRow,
  context: Pick<ServiceContext, 'baseUrl'>,
): AuthorizationAnswer | undefined {
  for (const name of ['request', 'request_uri', 'registration'] as const)
    if (sent[name] !== undefined) return { error: `${name}_not_supported` }
  if (sent.response_type === undefined) return invalidRequest('Give `response_type`.')
  if (sent.response_type !== 'code')
    return { error: 'unsupported_response_type', error_description: '`response_type` must be `code`.' }
  if ((sent.response_mode ?? 'query') !== 'query') return invalidRequest('`response_mode` is query.')
  if (!/^[A-Za-z0-9_-]{43}$/.test(sent.code_challenge ?? ''))
    return invalidRequest('PKCE is required: give `code_challenge`, 43 characters of base64url.')
  if (sent.code_challenge_method !== 'S256') return invalidRequest('`code_challenge_method` is S256.')
  const prompt = splitOnSpaces(sent.prompt ?? '')
  if (!prompt.every((word) => prompts.includes(word)) || (prompt.includes('none') && prompt.length > 1))
    return invalidRequest('`prompt` is none, or some of login, consent and select_account.')
  if (!/^\d{0,9}$/.test(sent.max_age ?? '')) return invalidRequest('`max_age` is a number of seconds.')
  if (!isPlainLine(sent.login_hint ?? ''))
    return invalidRequest('`login_hint` holds characters that people cannot see.')
  if (sent.resource !== undefined && audienceOf(sent.resource, context) === undefined)
    return { error: 'invalid_target', error_description: '`resource` names nothing that tokens are issued for here.' }
  return scopeError(sent, client)
}

const prompts = ['none', 'login', 'consent', 'select_account']

function scopeError({ scope }: AuthorizationParameters, client: OidcClientRow): AuthorizationAnswer | undefined {
  if (scope === undefined) return undefined
  const registered = splitOnSpaces(client.metadata.scope)
  // Scopes that nobody knows are ignored (OpenID Connect Core 1.0 section 3.1.2.1).
  const known = splitOnSpaces(scope).filter(isScope)
  if (known.length > 0 && known.every((word) => registered.includes(word))) return undefined
  return { error: 'invalid_scope', error_description: `The client is registered for: ${registered.join(' ')}.` }
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

/** The user whom an id token of the client's, expired or not, is about; undefined where it is no such token. */
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
