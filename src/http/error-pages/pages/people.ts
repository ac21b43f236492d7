/** Who calls, how users sign in, what they approve, and apps that act for them. */
export const peoplePages = {
  client_unknown: `No valid client credentials match. The answer is the same for an unknown id, a wrong secret and a revoked one.
    cause: The id and the secret are of different accounts or users, or were cut when they were copied.
    cause: They were replaced: ‹POST /v4/user/secrets› makes new ones, and keeps only the newest of the old ones.
    cause: The sandbox was reset, or keeps its state in another file, so the account does not exist there.
    cause: The Basic credentials are not base64, or lack the colon.
    fix: Send base64 of ‹client_id:client_secret›, both from the same ‹secrets›.
    fix: In a sandbox, seed fixed credentials, or make a new account with ‹POST /v4/account›.`,
  refresh_token_invalid: `The refresh token cannot be used. A refresh token works once and lasts 24 hours.
    cause: It was used before. Each refresh returns a new refresh token, and the old one is spent.
    cause: It is older than 24 hours.
    cause: It is an access token, or a refresh token of an app: those go to ‹POST /v4/oidc/token›.
    cause: The client credentials that it came from were revoked.
    fix: Get a new pair with ‹Authorization: Basic base64(client_id:client_secret)›.
    fix: Store the ‹refresh_token› of every answer, and let one part of your program refresh.`,
  session_required: `A code is valid only in the session that requested it, and this session requested none for this email. So a code that someone reads aloud opens nothing elsewhere.
    cause: The program keeps neither ‹session_id› nor the cookie between the two calls.
    cause: The email is written differently than when the code was requested.
    fix: Keep the ‹X-Session-ID› of the answer of ‹POST /v4/session/code›, and send it with ‹POST /v4/session/verify›.`,
  code_wrong: `The code is not the one that was mailed last to this email in this session. After five wrong tries, the code is refused.
    cause: It is the code of an earlier mail. Only the last one is valid.
    cause: A digit is wrong.
    cause: The browser of the page blocks cookies, so each step is a new session.
    fix: Enter the six digits of the latest mail, or request a new code with ‹POST /v4/session/code›.
    fix: In tests, an address such as ‹ada+code123456@example.test› always gets the code 123456. ‹GET /_sandbox/outbox› shows all mails.`,
  code_expired: `The code was right once, and cannot be used now. A code works once, within ten minutes.
    cause: More than ten minutes have passed since it was mailed.
    cause: It was already used, for example by a form that was sent twice.
    cause: The user has a device, and did not confirm the sign-in there in time.
    fix: Request a new code with ‹POST /v4/session/code›.
    fix: In a sandbox with a manual clock, do not advance it by more than ten minutes in between.`,
  email_taken: `A user with this email exists. Upper and lower case do not count. Nothing was created.
    cause: A retry after an answer that was lost.
    cause: Tests share a service and an address.
    fix: Send an ‹Idempotency-Key› with ‹POST /v4/user› and ‹POST /v4/account/register›, and repeat it on a retry.
    fix: Let the existing user sign in with ‹POST /v4/session/code›.
    fix: Between tests, create a new service or call ‹POST /_sandbox/reset›.`,
  too_many_codes: `Five codes were mailed to this address in the last 15 minutes, or fifty to any addresses for this network, and none was used. No further mail was sent.
    cause: A form requests a new code on every render or retry.
    cause: Tests share one address.
    cause: Someone in the same network mails codes to strangers.
    fix: Enter the last code, or wait as long as ‹Retry-After› says.
    fix: In tests, use an address for each test, or raise ‹limits.codes›. Addresses with a fixed code such as ‹ada+code123456@example.test› have no limit.`,
  too_many_failures: `The secret is wrong, and so were 20 others for this client id within a minute. The right secret is accepted all the same.
    cause: A program retries with an old secret without a pause.
    cause: Someone tries secrets.
    fix: Correct the secret. The right one is accepted at once, and a wrong one is checked again after ‹Retry-After›.`,
  too_many_tries: `Five wrong codes were entered for one mailed code, or twenty for one address within a day. From then on, right codes are refused too. A session or a browser in which the user signed in by a code before is not counted with others.
    cause: Someone guesses.
    cause: A program retries the same wrong code.
    fix: After five, request a new code with ‹POST /v4/session/code›.
    fix: After twenty, wait as long as ‹Retry-After› says, or sign in where you signed in before.`,
  account_creation_refused: `Whoever runs this service has turned off the creation of accounts.
    cause: The service was created with ‹accountCreation: false›.
    fix: Ask its operator for an account.
    fix: In your own service, leave out ‹accountCreation›, or seed the account.`,
  account_creation_failed: `The service failed while it created the account. Its transaction was undone, so nothing exists.
    cause: A part of the service threw an error that is no refusal. Its log has the cause.
    fix: Repeat the call with the same ‹Idempotency-Key›.
    fix: Read the log: ‹createService({ log })› receives the error.`,
  provisioning_failed: `Account, twin and user are created together, and one of them failed. None of them exists.
    cause: A part of the service threw an error that is no refusal. Its log has the cause.
    fix: Repeat the call with the same ‹Idempotency-Key›.
    fix: Read the log: ‹createService({ log })› receives the error.`,
  authorization_missing: `The operation must know who is calling, and the request names nobody. The sentence lists the credentials that it takes.
    cause: The ‹Authorization› header is missing.
    cause: A page calls from another origin, so the browser did not send the session cookie.
    cause: A proxy removed the header.
    fix: Send ‹Authorization: Bearer <access_token>›. Accounts get one from ‹POST /v4/account/oauth/token›, users from ‹POST /v4/user/oauth/token›.
    fix: In a browser, send the session of ‹POST /v4/session/verify› as ‹X-Session-ID›.`,
  credentials_missing: `The token endpoint got no ‹Authorization› header, so it does not know for whom to make tokens.
    cause: The client credentials were sent in the body, as some OAuth servers take them.
    cause: The header is present but empty.
    fix: Send ‹Authorization: Basic base64(client_id:client_secret)›.
    fix: To refresh, send ‹Authorization: Bearer <refresh_token>›.`,
  token_invalid: `The access token is not valid here any more, or never was. Nothing was changed.
    cause: It is more than an hour old.
    cause: It is a refresh token, or was issued by another service or before a reset.
    cause: Its user disconnected the app, or its client credentials were revoked.
    cause: It was issued for another resource: an agent must request one with the ‹resource› that the sentence names.
    fix: Refresh: ‹POST /v4/account/oauth/token› or ‹/v4/user/oauth/token› with ‹Authorization: Bearer <refresh_token>›. Agents use ‹POST /v4/oidc/token›.
    fix: If the refresh token is refused too, get a new pair with the client credentials.`,
  agent_token_required: `Only an app that a user connected may call this. The token is valid, but belongs to an account or a user.
    cause: A server sent its account token to ‹/mcp› or to an operation below ‹/v4/agent/›.
    fix: Register the app with ‹POST /v4/oidc/reg›, let the user connect it at ‹GET /v4/oidc/auth›, and exchange the code at ‹POST /v4/oidc/token›.`,
  bearer_required: `The ‹Authorization› header has something else than a Bearer token.
    cause: The client credentials were sent as ‹Basic›. Only the token endpoints take them.
    cause: The word ‹Bearer› is missing before the token.
    fix: Exchange the client credentials for an access token first, then send ‹Authorization: Bearer <access_token>›.`,
  public_secret_unknown: `No account has this publishable secret, so the call has no seller.
    cause: ‹public_secret› was cut or is of another service.
    cause: It is a client secret. The publishable one begins with ‹mp_›.
    fix: Send the ‹public_secret› from the ‹secrets› of ‹POST /v4/account› or ‹GET /v4/account›.`,
  sign_in_required: `The session is known or well-formed, and nobody is signed in there.
    cause: Nobody has signed in with this session yet, or it was signed out.
    cause: The session is more than 24 hours old.
    cause: The session's id changed when its user signed in, and the request still sends the old one.
    fix: ‹POST /v4/session/code› with the email, then ‹POST /v4/session/verify› with the mailed code.
    fix: Use the ‹session_id› of that answer from then on.
    fix: In a sandbox, ‹POST /_sandbox/sign-in› signs a user in without a code.`,
  page_refused: `The session was made for one page, and the request comes from a page of another origin.
    cause: The session of a payment element was copied to another site.
    cause: The page moved, for example from ‹http› to ‹https› or to another port.
    fix: Let the user sign in through the element on this page. Its ‹authorized› event has a session for this origin.`,
  scheme_refused: `The token endpoint knows two schemes: ‹Basic› for client credentials, ‹Bearer› for a refresh token.
    cause: The header has no scheme, such as a bare secret.
    cause: A client library sends ‹Digest› or a scheme of its own.
    fix: Send ‹Authorization: Basic …› with client credentials, or ‹Authorization: Bearer …› with a refresh token.`,
  insufficient_scope: `The user connected the app without the scope that this operation needs. The ‹WWW-Authenticate› header names it.
    cause: The app asked for ‹openid› only. Operations that read or move value need ‹twin›.
    fix: Send the user to ‹GET /v4/oidc/auth› again with the scope, such as ‹scope=openid twin offline_access›.`,
  rejected: `The user saw the request on a device or behind a mailed link, and said no. No value was moved.
    cause: The user did not expect the request, or did not want what it describes.
    cause: In a sandbox, the phone is set to reject: ‹POST /_sandbox/devices/{user_id}›.
    fix: Tell the user what you ask for before you ask again. A program must not repeat this by itself.`,
  payment_denied: `The user was asked for this payment and said no. No value was moved.
    cause: The user rejected it on a device or behind a mailed link.
    cause: In a sandbox, the phone is set to reject.
    fix: Show the user what the payment is for, and start again only if they ask for it.`,
  approval_timeout: `The user was asked and did not answer in time. No value was moved.
    cause: Nobody looked at the device or the mail. A payment at the paywall waits 30 seconds, and everything else two minutes.
    cause: The user has no device, so the question went to a mailed link.
    cause: The approval was used by another request, or a setting changed while the user answered.
    fix: Repeat the same request, with the same ‹Idempotency-Key›: the user is asked again.
    fix: In a sandbox, answer with ‹POST /_sandbox/devices/{user_id}/approve›, or let the phone answer by itself with ‹mode: "approve"›.`,
  self_approval: `The session that asked may not answer for its own user. Otherwise whoever steals a session could approve for the user.
    cause: One browser makes the request and opens the mailed link.
    cause: A test uses the same session for both sides.
    fix: Answer from the device that was asked, from another session of the user, or open the mailed link in another browser.
    fix: In a sandbox, let the phone answer: ‹POST /_sandbox/devices/{user_id}/approve›.`,
  device_refused: `The answer does not come from a device that was asked.
    cause: The ‹X-Device-Token› header is missing or is not the token of the registration.
    cause: The device was registered after the request was sent, or its registration is not confirmed.
    fix: Send the ‹token› of ‹POST /v4/notifications/registrations› as ‹X-Device-Token›.`,
  too_many_devices: `A user can have 20 devices. No further one was registered.
    cause: An app registers a new token on every start and never removes old ones.
    fix: Remove some: ‹GET /v4/notifications/registrations›, then ‹DELETE /v4/notifications/registrations/{id}›.`,
  link_early: `A new device, or the removal of one, can be confirmed by mail only after a day. This gives the user time to notice and reject it.
    cause: The link was opened on the day of the request.
    fix: Confirm on one of the devices that the user has, or open the link after a day.
    fix: In a sandbox, advance the clock: ‹POST /_sandbox/clock› with ‹advance: "1d"›.`,
  link_expired: `The link was valid once, and leads nowhere now.
    cause: It was already used. Such links work once.
    cause: It is too old.
    cause: What it was about has ended: the sender took the amount back, or the user disconnected the app.
    fix: Start again where the link came from, so that a new one is sent.`,
  authorization_answered: `The authorization was approved, denied or revoked before. It stays as it is.
    cause: The user answered on another device.
    cause: The call was repeated.
    fix: Read the current status with ‹GET /v4/paywall/authorizations›.`,
  authorization_expired: `The payment that waited for this authorization has given up, so an answer comes too late.
    cause: More than 30 seconds passed between the payment and the answer.
    fix: Start the payment again. The user is asked again.`,
  too_many_pending: `The user already has as many open questions as people can read. This one was not asked.
    cause: Five authentication requests of this user, or 20 approvals of this app, wait for an answer.
    cause: A program asks again instead of waiting for the first answer.
    fix: Wait as long as ‹Retry-After› says, or until one is answered.
    fix: Poll the first request instead of making a new one.`,
  not_pending: `The request has already ended, so this answer changes nothing.
    cause: Someone answered it before, on another device or in another tab.
    cause: It expired, or the app that asked was disconnected.
    fix: Read its status: ‹GET /v4/authentication-requests/{id}› or ‹GET /v4/approvals›.`,
  slow_down: `The request is polled more often than every two seconds.
    cause: A loop does not wait between two calls.
    cause: Two parts of a program poll the same request.
    fix: Wait ‹interval› seconds after each answer, or as long as ‹Retry-After› says.`,
  approval_required: `The payment is above what the user lets agents pay without asking. Nothing was paid. The user can approve exactly this payment.
    cause: The user set no ‹approval_threshold› for this digital quantity. Without one, every payment needs an approval.
    cause: The amount is above the threshold.
    cause: The call is not a payment, such as a change of an account: those always need an approval.
    fix: Show the user ‹url›. Once they approve, repeat the call with ‹approval_id›.
    fix: If the error has no ‹url›, request the approval: ‹POST /v4/agent/approvals› with the body in ‹approval›.
    fix: The user may allow more: ‹PUT /v4/agent/settings› with ‹approval_threshold›.`,
  approval_not_given: `The approval exists, and does not allow anything: it is pending, rejected or expired. ‹approval_status› says which.
    cause: The user has not answered yet. They have 15 minutes.
    cause: The user rejected it.
    cause: It was approved and not used within an hour.
    fix: While it is ‹pending›, show the user ‹url› and read ‹GET /v4/agent/approvals/{approval_id}›.
    fix: If it has expired, request a new one with ‹POST /v4/agent/approvals›.`,
  approval_spent: `An approval allows one action, and this one has allowed it. Nothing happened twice.
    cause: A retry after an answer that was lost, without an ‹Idempotency-Key›.
    cause: A program uses one approval for several purchases.
    fix: Look up what happened with ‹GET /v4/purchases› or ‹GET /v4/events›.
    fix: Request a new approval for the next action, and send an ‹Idempotency-Key› with it.`,
  approval_mismatch: `The approval is for other terms. The user agreed to exactly what they saw: the item, its arguments, the amount and the payee.
    cause: The arguments, the amount or the memo differ from those of the request.
    cause: The price has changed since.
    cause: The ‹approval_id› belongs to another action of the same agent.
    fix: Repeat the call with the fields of the approval: ‹GET /v4/agent/approvals/{approval_id}› shows them in ‹detail›.
    fix: For other terms, request a new approval.`,
  delegate_refused: `The delegate is known, or not, and in any case does not cover this payment. The sentence says why. Nothing was counted.
    cause: It was revoked, or its ‹expires_at› has passed.
    cause: Its limit for the day, the month or altogether is used up.
    cause: It is for another digital quantity, or for another party than the one that calls.
    cause: It is a delegate without ‹spend›, which proves who someone is and pays nothing.
    fix: Ask the user for a new one: ‹POST /v4/persona/{hash}/delegate› with ‹spend: { party, dq, limit, period }›.
    fix: The user sees all of them with ‹GET /v4/persona/{hash}/delegates›.`,
  delegate_required: `The caller pays for someone else, and does not say by what right.
    cause: An account or a page with ‹public_secret› pays, and sends no ‹persona_delegate›.
    cause: The token should have been that of the user who pays.
    fix: Send ‹persona_delegate›: the hash that ‹POST /v4/persona/{hash}/delegate› with ‹spend› returned to the user.
    fix: Or let the user pay with their own token or session.`,
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
  change_impossible: `The user approved a change of an account, and it cannot be made any more. ‹reason› is the code of the refusal. ‹changed› says whether parts of it were kept.
    cause: Someone changed the same values since the user saw them.
    cause: What the change needs is gone or not allowed now, such as a digital quantity or room in the plan.
    fix: Read the current values with ‹GET /v4/agent/account›, and request approval for a new change.`,
  change_incomplete: `The change has several steps, and the service failed between them. The finished steps are kept and listed in ‹made›. The approval is used.
    cause: A part of the service threw an error that is no refusal. Its log has the cause.
    fix: Look at ‹made› and at ‹GET /v4/agent/account›, then request approval for what is left.`,
  account_not_granted: `The agent acts for a user only. It may not act for a business account, because the user has granted none.
    cause: The user chose no account when they connected the app.
    cause: The user has withdrawn the account since, or no longer belongs to it.
    fix: Ask for one: ‹POST /v4/agent/account-choice› returns a link at which the user chooses.`,
  not_choosable: `An agent acts for a business account only if its user grants one, and this user belongs to none. A link to choose one would be empty.
    cause: The user was not registered together with an account.
    cause: They have not proven their email address yet.
    fix: Register an account with the email of the user: ‹POST /v4/account/register›. Then let the user sign in with a mailed code once.`,
} as const
