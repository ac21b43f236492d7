import { countedDaily } from '../../../storage/growth.js'
import { collection } from '../../../storage/storage.js'

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
  /** What is wrong with the request. Null if it is valid. */
  readonly refused: AuthorizationAnswer | null
}

export const oidcInteractions = collection<InteractionRow>()(
  'oidc_interactions',
  {
    byExpiry: { fields: ['expires_at'] },
  },
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
