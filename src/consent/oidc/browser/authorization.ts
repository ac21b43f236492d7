import { problem } from '../../../base/problem.js'
import { required } from '../../../base/required.js'
import { randomHex } from '../../../base/secrets.js'
import { isPlainLine } from '../../../base/text/invisible-characters.js'
import type { CallSource, ServiceContext } from '../../../http/context.js'
import type { z } from '../../../http/fields/schema.js'
import { userBySubject } from '../../../identity/users/user.js'
import type { Reader, Writer } from '../../../storage/storage.js'
import { clientById, isOwnRedirect, type OidcClientRow, ownScopes } from '../clients/client.js'
import { withParameters } from '../clients/redirect-uri.js'
import { audienceOf, isMcpAudience, isScope, issuerOf, splitOnSpaces } from '../issuer.js'
import { signedClaims } from '../keys.js'
import type { Authorization } from '../schema.js'
import { type AuthorizationAnswer, type AuthorizationRequest, oidcInteractions } from './interaction-row.js'

/** How long a user has for sign-in and consent. */
export const INTERACTION_LIFETIME = 3_600_000

/** The parameters of an authorization request. Any others are ignored. */
export type AuthorizationParameters = z.output<typeof Authorization>
type Address = Pick<ServiceContext, 'baseUrl'>
type Context = Pick<ServiceContext, 'random' | 'baseUrl' | 'clock' | 'rules' | 'limits' | 'sandbox'>

/**
 * Starts an authorization request and returns the address that the browser goes to. That is the sign-in and consent pages, which
 * also show errors. An invalid request with `prompt=none` goes back to the client with the error.
 * Throws `invalid_request` for an unknown client or an unregistered `redirect_uri`, and `too_many_new`.
 */
export async function authorizeOidc(
  tx: Writer,
  { parameters, source }: { readonly parameters: AuthorizationParameters; readonly source: CallSource },
  context: Context,
): Promise<string> {
  const at = context.clock.now()
  const client = await clientById(tx, parameters.client_id ?? '')
  if (!client)
    throw problem('invalid_request', { detail: '`client_id` is unknown. Register the client at /v4/oidc/reg.' })
  const redirect_uri = checkRedirectUri(client, parameters.redirect_uri)
  const answered = { redirect_uri, state: parameters.state ?? null }
  const { id_token_hint: hint } = parameters
  // Null: not sent. Undefined: not an id token of the client.
  const hinted = hint === undefined ? null : await hintedUser(tx, hint, client, context)
  const refused = parameterError(parameters, client, context) ?? (hinted === undefined ? WRONG_HINT : undefined)
  // OpenID Connect Core 1.0 section 3.1.2.1: `prompt=none` never shows a page.
  if (refused && parameters.prompt === 'none') return answerAddress(answered, refused, context)
  await context.rules.countNew(tx, oidcInteractions.name, { address: source.address }, context)
  const id = randomHex(context.random, 16)
  const asked = refused
    ? EMPTY_REQUEST
    : { ...parseRequest(parameters, client, context), hinted_user_id: hinted ?? null }
  const request = { ...answered, client_id: client.id, ...asked }
  const untouched = { email: null, signed_in: false, second_factor_id: null, second_factor_passed: false }
  const expires_at = at + INTERACTION_LIFETIME
  tx.put(oidcInteractions, { id, request, expires_at, session_digest: null, ...untouched, refused: refused ?? null })
  return `${issuerOf(context)}/interaction/${id}`
}

const EMPTY_REQUEST = {
  ...{ scopes: [], nonce: null, code_challenge: null, prompt: [], max_age: null },
  ...{ login_hint: null, hinted_user_id: null, resource: null },
}

function checkRedirectUri(client: OidcClientRow, asked: string | undefined): string {
  if (asked !== undefined && isOwnRedirect(client, asked)) return asked
  throw problem('invalid_request', { detail: '`redirect_uri` must be one that the client registered.' })
}

/** The client's redirect URI with the response, `state` and `iss` (RFC 9207). */
export const answerAddress = (
  { redirect_uri, state }: Pick<AuthorizationRequest, 'redirect_uri' | 'state'>,
  answer: AuthorizationAnswer,
  context: Address,
): string => withParameters(redirect_uri, { ...answer, ...(state !== null && { state }), iss: issuerOf(context) })

const invalidRequest = (error_description: string): AuthorizationAnswer => ({
  error: 'invalid_request',
  error_description,
})

const WRONG_HINT = invalidRequest('`id_token_hint` must be an id token of this client.')

function parameterError(sent: AuthorizationParameters, client: OidcClientRow, context: Address) {
  for (const name of ['request', 'request_uri', 'registration'] as const)
    if (sent[name] !== undefined) return { error: `${name}_not_supported` }
  if (sent.response_type === undefined) return invalidRequest('Send `response_type`.')
  if (sent.response_type !== 'code')
    return { error: 'unsupported_response_type', error_description: '`response_type` must be `code`.' }
  if ((sent.response_mode ?? 'query') !== 'query') return invalidRequest('`response_mode` must be query.')
  const unproven = pkceError(sent, client, context)
  if (unproven !== undefined) return invalidRequest(unproven)
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

/** What is wrong with PKCE. Only a confidential client may do without, and not for an MCP server. */
function pkceError(
  { code_challenge, code_challenge_method: method, resource }: AuthorizationParameters,
  { secret_digest }: OidcClientRow,
  context: Address,
): string | undefined {
  if (code_challenge === undefined && method === undefined && secret_digest !== null)
    return isMcpAudience(resource ?? '', context)
      ? 'Tokens for an MCP server need PKCE. Send `code_challenge`.'
      : undefined
  if (!/^[A-Za-z0-9_-]{43}$/.test(code_challenge ?? ''))
    return 'PKCE is required. Send `code_challenge` with 43 characters of base64url.'
  return method === 'S256' ? undefined : '`code_challenge_method` must be S256.'
}

const prompts = ['none', 'login', 'consent', 'select_account']

function scopeError({ scope }: AuthorizationParameters, client: OidcClientRow): AuthorizationAnswer | undefined {
  if (scope === undefined) return undefined
  // Unknown scopes are ignored (OpenID Connect Core 1.0 section 3.1.2.1).
  const known = splitOnSpaces(scope).filter(isScope)
  if (known.length > 0 && ownScopes(client, known).length === known.length) return undefined
  return {
    error: 'invalid_scope',
    error_description: `\`scope\` must contain some of the client's scopes: ${client.metadata.scope}.`,
  }
}

function parseRequest(sent: AuthorizationParameters, client: OidcClientRow, context: Address) {
  // Without PKCE, a token request cannot choose an MCP server either.
  const resource = sent.resource ?? (sent.code_challenge === undefined ? issuerOf(context) : undefined)
  return {
    scopes: splitOnSpaces(sent.scope ?? client.metadata.scope).filter(isScope),
    nonce: sent.nonce ?? null,
    code_challenge: sent.code_challenge ?? null,
    prompt: splitOnSpaces(sent.prompt ?? ''),
    max_age: sent.max_age ? Number(sent.max_age) : null,
    login_hint: sent.login_hint ?? null,
    resource: resource === undefined ? null : required(audienceOf(resource, context), 'the audience of `resource`'),
  }
}

/** The user of an id token of the client, expired or not. Returns undefined for any other token. */
export async function hintedUser(tx: Reader, idToken: string, { id }: OidcClientRow, context: Address) {
  const claims = await signedClaims(tx, idToken, 'JWT')
  if (!claims || claims.iss !== issuerOf(context) || claims.aud !== id) return undefined
  return (await userBySubject(tx, String(claims.sub)))?.id
}
