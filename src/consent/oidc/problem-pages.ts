import type { ProblemPages } from '../../base/problem-fields.js'
import type { oidcProblems } from './problems.js'

export const oidcPages = {
  invalid_request: `A parameter of an OAuth request is missing, malformed, sent twice, or contradicts another. The sentence names it.
    cause: The app uses a ‹client_id› or a ‹redirect_uri› that is not registered here, for example after a reset.
    cause: ‹code›, ‹refresh_token›, ‹grant_type› or ‹code_verifier› is missing in the token request.
    cause: The credentials of the client are both in the header and in the body.
    fix: Register the client again with ‹POST /v4/oidc/reg›, and use exactly a registered ‹redirect_uri›.
    fix: Send the token request as a form: ‹Content-Type: application/x-www-form-urlencoded›.`,
  invalid_grant: `The authorization code or the refresh token is worth nothing. If it was used before, all tokens that came from it are revoked now, because someone may have stolen it.
    cause: The code was exchanged before. It works once, within one minute.
    cause: ‹code_verifier› does not fit the ‹code_challenge›, or ‹redirect_uri› differs from that of the authorization request.
    cause: The refresh token was used before. Each refresh returns a new one.
    cause: The user disconnected the app.
    fix: Send the user to ‹GET /v4/oidc/auth› again.
    fix: Store the ‹refresh_token› of each answer, and let one part of the program refresh.`,
  unauthorized_client: `The client is known, and is not registered for what it asks.
    cause: The client refreshes, and its registered ‹grant_types› lack ‹refresh_token›.
    cause: It revokes a token of another client.
    fix: Register ‹grant_types: ["authorization_code", "refresh_token"]› with ‹PUT /v4/oidc/reg/{client_id}›.`,
  unsupported_grant_type: `The token endpoint of OpenID Connect exchanges codes and refresh tokens only.
    cause: The client asks for ‹client_credentials› or ‹password›.
    fix: Send ‹grant_type=authorization_code› or ‹grant_type=refresh_token›.
    fix: For an account or a user without an app, use ‹POST /v4/account/oauth/token› or ‹/v4/user/oauth/token›.`,
  invalid_scope: `A refresh may ask for the scopes that the user granted, or fewer.
    cause: The refresh asks for a scope that the authorization request did not have.
    cause: ‹scope› is empty.
    fix: Leave ‹scope› out, or send the user to ‹GET /v4/oidc/auth› with the wider scope.`,
  invalid_target: `The token request names a ‹resource› that is none of this service, or another one than the authorization request.
    cause: ‹resource› has another host or a trailing part that the service does not know.
    cause: The user authorized one MCP server, and the token is asked for another.
    fix: Send the same ‹resource› to ‹/v4/oidc/auth› and ‹/v4/oidc/token›: the URL of the service, or of one of its MCP servers.`,
  invalid_redirect_uri: `A redirect URI is not allowed, so the client was not registered.
    cause: It is ‹http› at a host other than this machine.
    cause: It has a fragment, a user name, a wildcard or ‹..›.
    cause: There is none, or there are more than 32.
    fix: Use ‹https›, ‹http› on localhost, or the app's own scheme such as ‹com.example.app:/callback›.`,
  invalid_client_metadata: `The metadata of the client cannot be supported, so nothing was registered. The sentence names the field.
    cause: It asks for a signing algorithm, a grant or an authentication method that this service lacks.
    cause: Both ‹jwks› and ‹jwks_uri› are set.
    cause: The document at a ‹client_id› that is a URL is not JSON, or does not name itself as ‹client_id›.
    fix: Compare with ‹GET /v4/oidc/.well-known/openid-configuration›, which lists what is supported.
    fix: For a public client, send ‹token_endpoint_auth_method: "none"›.`,
  invalid_client: `The client could not be authenticated: it is unknown, its secret is wrong, or it used another method than it registered.
    cause: The client was registered with another service, or before a reset.
    cause: A public client sends a secret, or a confidential one sends none.
    cause: The parts of the Basic credentials are not form-encoded (RFC 6749 section 2.3.1).
    fix: Read the registration with ‹GET /v4/oidc/reg/{client_id}› and its registration access token.
    fix: Register again with ‹POST /v4/oidc/reg›.`,
  interaction_expired: `The page on which the user connects an app is over. Nothing was connected.
    cause: More than an hour has passed since the app opened it.
    cause: It was already answered, for example in another tab.
    cause: The app was deleted meanwhile.
    fix: Go back to the app and start again: it opens ‹GET /v4/oidc/auth›.`,
  too_many_fetches: `Clients whose id is a URL made the service fetch 20 documents of one host within a minute for one network, or 200 for all, or 60 of any hosts for one network. No further one is fetched for now.
    cause: Tests use a new client document for each case.
    cause: Someone uses the service to call another host.
    fix: Wait as long as ‹Retry-After› says, or register the client with ‹POST /v4/oidc/reg›.`,
} satisfies ProblemPages<typeof oidcProblems>
