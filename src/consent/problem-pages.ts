import type { ProblemPages } from '../base/problem-fields.js'
import type { consentProblems } from './problems.js'

export const consentPages = {
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
} satisfies ProblemPages<typeof consentProblems>
