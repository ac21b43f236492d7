import { isSignedInByPerson, type SessionRow } from '../../../identity/sessions/session.js'
import { users } from '../../../identity/users/user.js'
import { countedDaily } from '../../../storage/growth.js'
import { collection, type Reader } from '../../../storage/storage.js'
import { connectionOf } from '../connection.js'

/** A valid authorization request (OpenID Connect Core 1.0 section 3.1.2.1). */
export interface AuthorizationRequest {
  readonly client_id: string
  readonly redirect_uri: string
  readonly state: string | null
  readonly scopes: readonly string[]
  readonly nonce: string | null
  /** Null if a confidential client sent none. */
  readonly code_challenge: string | null
  readonly prompt: readonly string[]
  readonly max_age: number | null
  readonly login_hint: string | null
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
  readonly second_factor_id: number | null
  readonly second_factor_passed: boolean
  /** What is wrong with the request. Null if it is valid. */
  readonly refused: AuthorizationAnswer | null
}

export const oidcInteractions = collection<InteractionRow>()(
  'oidc_interactions',
  { byExpiry: { fields: ['expires_at'] } },
  {
    refs: { second_factor_id: 'authentication_requests' },
    secrets: ['id', 'session_digest'],
    growth: countedDaily('anybody, by authorizeOidc; each ends after an hour', 'client address'),
    retention: { after: 'it expires', keepMs: 0, index: 'byExpiry' },
  },
)

/** The parameters of an authorization response: an error, or a code. */
export interface AuthorizationAnswer {
  readonly error?: string
  readonly error_description?: string
  readonly code?: string
}

/**
 * Whether the user must sign in again: as a different user, because it was too long ago, or because the request demands it.
 * In a session that a program made nobody signed in, however young it is.
 */
export function mustSignIn({ request, signed_in }: InteractionRow, session: SessionRow, at: number): boolean {
  const { hinted_user_id, prompt, max_age } = request
  if (hinted_user_id !== null && hinted_user_id !== session.user_id) return true
  if (signed_in) return false
  const isOld = max_age === 0 || !isSignedInByPerson(session) || at - session.created_at > (max_age ?? 0) * 1000
  const stale = max_age !== null && isOld
  return stale || prompt.includes('login') || prompt.includes('select_account')
}

/**
 * The email address that the sign-in form starts with. Whoever opens the page reads it, and that may be the app's server. So
 * the address of the user of `id_token_hint` is filled in only for an app that may read it now.
 */
export async function emailHint(tx: Reader, { client_id, hinted_user_id, login_hint }: AuthorizationRequest) {
  const connection = hinted_user_id === null ? undefined : await connectionOf(tx, hinted_user_id, client_id)
  const hinted = connection?.scopes.includes('email') ? await tx.get(users, connection.user_id) : undefined
  return hinted?.email ?? login_hint ?? ''
}
