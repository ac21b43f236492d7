import type { ProblemDeclarations } from '../../base/problem-fields.js'

/** OpenID Connect, by the names of RFC 6749, 7591 and 8707. */
export const oidcProblems = {
  invalid_request: `400 A parameter is missing, malformed, repeated, or conflicts with another.`,
  invalid_grant: `400 The code or refresh token is unknown, used, expired, revoked, or belongs to another client or request.`,
  unauthorized_client: `400 This client is not allowed to do this.`,
  unsupported_grant_type: `400 ‹grant_type› must be authorization_code or refresh_token.`,
  invalid_scope: `400 The scope is unknown, or wider than what the user granted.`,
  invalid_target: `400 ‹resource› is not a resource of this service.`,
  invalid_redirect_uri: `400 This redirect URI cannot be registered.`,
  invalid_client_metadata: `400 This client metadata is not supported. [fields]`,
  invalid_client: `401 The client is unknown, or did not use its registered authentication method.`,
  interaction_expired: `410 This page has expired or was already used. Go back to the app and start again.`,
  too_many_fetches: `429 Too many documents were fetched from this host, or for this network, in the last minute. Wait before you try again.`,
} as const satisfies ProblemDeclarations
