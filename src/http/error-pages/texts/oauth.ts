import type { ErrorTexts } from './error-text.js'

/** OpenID Connect: registering apps, connecting them, and their tokens. */
export const oauthErrors = {
  invalid_request: {
    meaning:
      'A parameter of an OAuth request is missing, malformed, sent twice, or contradicts another. The sentence names it.',
    causes: [
      'The app uses a `client_id` or a `redirect_uri` that is not registered here, for example after a reset.',
      '`code`, `refresh_token`, `grant_type` or `code_verifier` is missing in the token request.',
      'The credentials of the client are both in the header and in the body.',
    ],
    fixes: [
      'Register the client again with `POST /v4/oidc/reg`, and use exactly a registered `redirect_uri`.',
      'Send the token request as a form: `Content-Type: application/x-www-form-urlencoded`.',
    ],
  },
  invalid_grant: {
    meaning:
      'The authorization code or the refresh token is worth nothing. If it was used before, all tokens that came from it are revoked now, because someone may have stolen it.',
    causes: [
      'The code was exchanged before. It works once, within one minute.',
      '`code_verifier` does not fit the `code_challenge`, or `redirect_uri` differs from that of the authorization request.',
      'The refresh token was used before. Each refresh returns a new one.',
      'The user disconnected the app.',
    ],
    fixes: [
      'Send the user to `GET /v4/oidc/auth` again.',
      'Store the `refresh_token` of each answer, and let one part of the program refresh.',
    ],
  },
  unauthorized_client: {
    meaning: 'The client is known, and is not registered for what it asks.',
    causes: [
      'The client refreshes, and its registered `grant_types` lack `refresh_token`.',
      'It revokes a token of another client.',
    ],
    fixes: ['Register `grant_types: ["authorization_code", "refresh_token"]` with `PUT /v4/oidc/reg/{client_id}`.'],
  },
  unsupported_grant_type: {
    meaning: 'The token endpoint of OpenID Connect exchanges codes and refresh tokens only.',
    causes: ['The client asks for `client_credentials` or `password`.'],
    fixes: [
      'Send `grant_type=authorization_code` or `grant_type=refresh_token`.',
      'For an account or a user without an app, use `POST /v4/account/oauth/token` or `/v4/user/oauth/token`.',
    ],
  },
  invalid_scope: {
    meaning: 'A refresh may ask for the scopes that the user granted, or fewer.',
    causes: ['The refresh asks for a scope that the authorization request did not have.', '`scope` is empty.'],
    fixes: ['Leave `scope` out, or send the user to `GET /v4/oidc/auth` with the wider scope.'],
  },
  invalid_target: {
    meaning:
      'The token request names a `resource` that is none of this service, or another one than the authorization request.',
    causes: [
      '`resource` has another host or a trailing part that the service does not know.',
      'The user authorized one MCP server, and the token is asked for another.',
    ],
    fixes: [
      'Send the same `resource` to `/v4/oidc/auth` and `/v4/oidc/token`: the URL of the service, or of one of its MCP servers.',
    ],
  },
  invalid_redirect_uri: {
    meaning: 'A redirect URI is not allowed, so the client was not registered.',
    causes: [
      'It is `http` at a host other than this machine.',
      'It has a fragment, a user name, a wildcard or `..`.',
      'There is none, or there are more than 32.',
    ],
    fixes: ["Use `https`, `http` on localhost, or the app's own scheme such as `com.example.app:/callback`."],
  },
  invalid_client_metadata: {
    meaning: 'The metadata of the client cannot be supported, so nothing was registered. The sentence names the field.',
    causes: [
      'It asks for a signing algorithm, a grant or an authentication method that this service lacks.',
      'Both `jwks` and `jwks_uri` are set.',
      'The document at a `client_id` that is a URL is not JSON, or does not name itself as `client_id`.',
    ],
    fixes: [
      'Compare with `GET /v4/oidc/.well-known/openid-configuration`, which lists what is supported.',
      'For a public client, send `token_endpoint_auth_method: "none"`.',
    ],
  },
  invalid_client: {
    meaning:
      'The client could not be authenticated: it is unknown, its secret is wrong, or it used another method than it registered.',
    causes: [
      'The client was registered with another service, or before a reset.',
      'A public client sends a secret, or a confidential one sends none.',
      'The parts of the Basic credentials are not form-encoded (RFC 6749 section 2.3.1).',
    ],
    fixes: [
      'Read the registration with `GET /v4/oidc/reg/{client_id}` and its registration access token.',
      'Register again with `POST /v4/oidc/reg`.',
    ],
  },
  interaction_expired: {
    meaning: 'The page on which the user connects an app is over. Nothing was connected.',
    causes: [
      'More than an hour has passed since the app opened it.',
      'It was already answered, for example in another tab.',
      'The app was deleted meanwhile.',
    ],
    fixes: ['Go back to the app and start again: it opens `GET /v4/oidc/auth`.'],
  },
  too_many_fetches: {
    meaning:
      'Clients whose id is a URL made the service fetch 20 documents of one host within a minute for one network, or 200 for all, or 60 of any hosts for one network. No further one is fetched for now.',
    causes: ['Tests use a new client document for each case.', 'Someone uses the service to call another host.'],
    fixes: ['Wait as long as `Retry-After` says, or register the client with `POST /v4/oidc/reg`.'],
  },
} satisfies ErrorTexts
