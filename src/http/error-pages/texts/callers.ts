import type { ErrorTexts } from './error-text.js'

/** Who calls, and what they may do. */
export const callerErrors = {
  authorization_missing: {
    meaning:
      'The operation must know who is calling, and the request names nobody. The sentence lists the credentials that it takes.',
    causes: [
      'The `Authorization` header is missing.',
      'A page calls from another origin, so the browser did not send the session cookie.',
      'A proxy removed the header.',
    ],
    fixes: [
      'Send `Authorization: Bearer <access_token>`. Accounts get one from `POST /v4/account/oauth/token`, users from `POST /v4/user/oauth/token`.',
      'In a browser, send the session of `POST /v4/session/verify` as `X-Session-ID`.',
    ],
  },
  credentials_missing: {
    meaning: 'The token endpoint got no `Authorization` header, so it does not know for whom to make tokens.',
    causes: [
      'The client credentials were sent in the body, as some OAuth servers take them.',
      'The header is present but empty.',
    ],
    fixes: [
      'Send `Authorization: Basic base64(client_id:client_secret)`.',
      'To refresh, send `Authorization: Bearer <refresh_token>`.',
    ],
  },
  scheme_refused: {
    meaning: 'The token endpoint knows two schemes: `Basic` for client credentials, `Bearer` for a refresh token.',
    causes: [
      'The header has no scheme, such as a bare secret.',
      'A client library sends `Digest` or a scheme of its own.',
    ],
    fixes: [
      'Send `Authorization: Basic …` with client credentials, or `Authorization: Bearer …` with a refresh token.',
    ],
  },
  client_unknown: {
    meaning:
      'No valid client credentials match. The answer is the same for an unknown id, a wrong secret and a revoked one.',
    causes: [
      'The id and the secret are of different accounts or users, or were cut when they were copied.',
      'They were replaced: `POST /v4/user/secrets` makes new ones, and keeps only the newest of the old ones.',
      'The sandbox was reset, or keeps its state in another file, so the account does not exist there.',
      'The Basic credentials are not base64, or lack the colon.',
    ],
    fixes: [
      'Send base64 of `client_id:client_secret`, both from the same `secrets`.',
      'In a sandbox, seed fixed credentials, or make a new account with `POST /v4/account`.',
    ],
  },
  token_invalid: {
    meaning: 'The access token is not valid here any more, or never was. Nothing was changed.',
    causes: [
      'It is more than an hour old.',
      'It is a refresh token, or was issued by another service or before a reset.',
      'Its user disconnected the app, or its client credentials were revoked.',
      'It was issued for another resource: an agent must request one with the `resource` that the sentence names.',
    ],
    fixes: [
      'Refresh: `POST /v4/account/oauth/token` or `/v4/user/oauth/token` with `Authorization: Bearer <refresh_token>`. Agents use `POST /v4/oidc/token`.',
      'If the refresh token is refused too, get a new pair with the client credentials.',
    ],
  },
  refresh_token_invalid: {
    meaning: 'The refresh token cannot be used. A refresh token works once and lasts 24 hours.',
    causes: [
      'It was used before. Each refresh returns a new refresh token, and the old one is spent.',
      'It is older than 24 hours.',
      'It is an access token, or a refresh token of an app: those go to `POST /v4/oidc/token`.',
      'The client credentials that it came from were revoked.',
    ],
    fixes: [
      'Get a new pair with `Authorization: Basic base64(client_id:client_secret)`.',
      'Store the `refresh_token` of every answer, and let one part of your program refresh.',
    ],
  },
  agent_token_required: {
    meaning:
      'Only an app that a user connected may call this. The token is valid, but belongs to an account or a user.',
    causes: ['A server sent its account token to `/mcp` or to an operation below `/v4/agent/`.'],
    fixes: [
      'Register the app with `POST /v4/oidc/reg`, let the user connect it at `GET /v4/oidc/auth`, and exchange the code at `POST /v4/oidc/token`.',
    ],
  },
  bearer_required: {
    meaning: 'The `Authorization` header has something else than a Bearer token.',
    causes: [
      'The client credentials were sent as `Basic`. Only the token endpoints take them.',
      'The word `Bearer` is missing before the token.',
    ],
    fixes: [
      'Exchange the client credentials for an access token first, then send `Authorization: Bearer <access_token>`.',
    ],
  },
  public_secret_unknown: {
    meaning: 'No account has this publishable secret, so the call has no seller.',
    causes: [
      '`public_secret` was cut or is of another service.',
      'It is a client secret. The publishable one begins with `mp_`.',
    ],
    fixes: ['Send the `public_secret` from the `secrets` of `POST /v4/account` or `GET /v4/account`.'],
  },
  session_conflict: {
    meaning: 'The cookie and the header name two sessions, and the service does not guess which one you mean.',
    causes: ['A page of the service sends an old `X-Session-ID`, and the browser adds the newer cookie.'],
    fixes: ['Send only one of them. After a sign-in, use the id of the latest `X-Session-ID` response header.'],
  },
  sign_in_required: {
    meaning: 'The session is known or well-formed, and nobody is signed in there.',
    causes: [
      'Nobody has signed in with this session yet, or it was signed out.',
      'The session is more than 24 hours old.',
      "The session's id changed when its user signed in, and the request still sends the old one.",
    ],
    fixes: [
      '`POST /v4/session/code` with the email, then `POST /v4/session/verify` with the mailed code.',
      'Use the `session_id` of that answer from then on.',
      'In a sandbox, `POST /_sandbox/sign-in` signs a user in without a code.',
    ],
  },
  page_refused: {
    meaning: 'The session was made for one page, and the request comes from a page of another origin.',
    causes: [
      'The session of a payment element was copied to another site.',
      'The page moved, for example from `http` to `https` or to another port.',
    ],
    fixes: [
      'Let the user sign in through the element on this page. Its `authorized` event has a session for this origin.',
    ],
  },
  wrong_principal: {
    meaning: 'The credential is valid, but the operation is for another kind of caller.',
    causes: [
      'An account calls what only a user may do, such as to approve something, or the other way round.',
      'An agent calls what only its user may do.',
      'A session that was made for one page calls an operation that takes only whole sessions.',
      'A program creates client credentials with older ones than the newest.',
    ],
    fixes: [
      'Look up `security` of the operation in `GET /v4/openapi.json`. The sentence says where such tokens come from.',
    ],
  },
  not_an_account: {
    meaning: 'Only accounts may do this, such as to sell or to validate. The token belongs to a user or to an app.',
    causes: [
      'A program for payers and one for sellers share a token by mistake.',
      'The token came from `POST /v4/user/oauth/token`.',
    ],
    fixes: ["Get a token with the account's client credentials: `POST /v4/account/oauth/token`."],
  },
  not_owner: {
    meaning: 'It exists, and belongs to another account or user. Nothing was read or changed.',
    causes: [
      'The token is of another account than the one that created it.',
      '`hostname` names the twin of the payee instead of your own.',
      'An agent names a twin other than the one that its user lets agents pay from.',
    ],
    fixes: [
      'Send a `hostname` of `GET /v4/twins`, or leave it out to pay from the primary twin.',
      'Use the token of the account that created the commodity or persona.',
    ],
  },
  cross_site: {
    meaning:
      'The browser added the session cookie to a change that a page of another origin asks for. The service ignores such requests, so that no site acts for its visitors.',
    causes: [
      'Your page is on another origin than the service and relies on the cookie.',
      'Your page is at `localhost` and the service at `127.0.0.1`, or the other way round. These are two origins.',
      'A script sends the cookie without `Origin` and `Sec-Fetch-Site`, which every browser sends.',
    ],
    fixes: [
      'Send the session as `X-Session-ID`. Other sites cannot set this header for their visitors.',
      'On your machine, open the page under the same name as the service: `localhost` or `127.0.0.1` for both.',
    ],
  },
  origin_refused: {
    meaning: 'The browser page that calls is not one that this service trusts for this call.',
    causes: [
      'A sandbox that listens on the network got a call from a page that is not on this machine.',
      'An app in a browser calls an MCP server from an origin of which it registered no redirect URI.',
    ],
    fixes: [
      'Start the sandbox with `--allow-origin <origin>`, or `createService({ allowOrigins: [origin] })`.',
      'For MCP, register a redirect URI of the page: `POST /v4/oidc/reg`.',
    ],
  },
  insufficient_scope: {
    meaning:
      'The user connected the app without the scope that this operation needs. The `WWW-Authenticate` header names it.',
    causes: ['The app asked for `openid` only. Operations that read or move value need `twin`.'],
    fixes: ['Send the user to `GET /v4/oidc/auth` again with the scope, such as `scope=openid twin offline_access`.'],
  },
  too_many_failures: {
    meaning:
      'The secret is wrong, and so were 20 others for this client id within a minute. The right secret is accepted all the same.',
    causes: ['A program retries with an old secret without a pause.', 'Someone tries secrets.'],
    fixes: [
      'Correct the secret. The right one is accepted at once, and a wrong one is checked again after `Retry-After`.',
    ],
  },
} satisfies ErrorTexts
