import type { DeclaredSentences } from './sentence.js'

/** Who calls, and what a user allows. */
export const callerSentences = {
  client_unknown: [
    '[{!client_id}The Basic credentials are no base64 of an id, a colon and a secret. ][{!owner}No client had the id {client_id} at that moment. ][The client {client_id} of {owner} was revoked at {revoked_at}. ][{?other_kind}The client {client_id} is of {owner}, and {path} is for another kind.]',
    '[{!revoked_at}{!other_kind}The client {client_id} is of {owner}, so its secret was wrong. ][The newest client id of its kind was {newest}.]',
  ],
  refresh_token_invalid:
    '[{?used}At that moment, {used refresh token} of this kind had been used. Each works once. ][{!used}At that moment, no refresh token of this kind had been used, so this one was never issued here, or is older than 24 hours.]',
  session_required:
    '[{?codes}{codes code} had been mailed to {email}, the last at {mailed_at}, and another session had asked for it. ][{!codes}No code had been mailed to {email}. ]Ask for a code and verify it in the same session.',
  code_wrong:
    '[The last code for {email} was mailed at {mailed_at}, and {@expires_at}. {tries_left} of {most} tries are left. ][The outbox shows the code: {outbox_code}. ]An address such as `ada+code123456@example.test` always gets the code 123456.',
  code_expired:
    '[{?used}The last code for {email} was mailed at {mailed_at} and had been used. ][{!used}The last code for {email} {@expires_at}. ]A code works once, within ten minutes. Ask for a new one.',
  email_taken: [
    '{#owner} has the address {email} since {created_at}[, made by {maker}].',
    'Use another address, or let that user sign in.',
  ],
  too_many_codes: [
    '{unused unused code} had been mailed for {client_address} and its network in the last 15 minutes, to any addresses. At most {most} are. Private addresses are not counted.',
    '[{!client_address}{unused unused code} had been mailed to {email} in the last 15 minutes, and `limits.codes` is {most}. Addresses such as `ada+code123456@example.test` have no limit. ][The next one is possible after {retry_after} seconds.]',
  ],
  too_many_failures:
    '[{wrong wrong secret} came for {client_id} within a minute, and this one was wrong too. ][The right secret is accepted at once. Another wrong one is checked after {retry_after} seconds.]',
  too_many_tries: [
    '{wrong} wrong codes were entered for {email} within a day. More are not checked, and no more codes are mailed, except where its user signed in before. The next one is possible after {retry_after} seconds.',
    '{!wrong}{tries} wrong codes were entered for the last code of {email}. At most {most} may be. Ask for a new one.',
  ],
  account_creation_refused:
    'The service was created with `accountCreation: false`, so accounts are not created over the interface. A seed can.',
  account_creation_failed:
    'The transaction that creates the account was undone. [{!fault}The log of the service has the cause. Repeat the request.]',
  provisioning_failed:
    'The transaction that creates the account, twin and user was undone. [{!fault}The log of the service has the cause. Repeat the request.]',
  authorization_missing:
    'The request had no Authorization header[{!session} and no session]. {operation} takes {takes}.',
  credentials_missing:
    'The request had no Authorization header, so the service does not know for whom to make a token. [{owner} has the client id {client_id}. Send it with its secret as Basic credentials.]',
  token_invalid:
    '[A token of {ended.0.owner} had ended at {ended.0.ended_at}. ][A token of {ended.1.owner} had ended at {ended.1.ended_at}. ][A token of {ended.2.owner} had ended at {ended.2.ended_at}. ][{!ended}No access token had ended in the day before, so the token is of another service, was revoked, or is from before a reset. ]Access tokens of accounts and users last an hour.',
  agent_token_required:
    '[{who} called, with a valid token. {operation} takes {takes}. ]Register an app with POST /v4/oidc/reg, let a user connect it at /v4/oidc/auth, and exchange its code at POST /v4/oidc/token.',
  bearer_required:
    'The Authorization header had no Bearer token[: the request sent the scheme {scheme}]. {operation} takes {takes}.',
  public_secret_unknown:
    '[The newest accounts were {accounts}, and none has this secret. ][{!accounts}There was no account.]',
  sign_in_required:
    '[{?session}The request came with a session in which nobody was signed in. ][{!session}The request came without a session. ][The newest session was of {owner} and {@session_ends_at}. ][{!owner}No user was signed in anywhere.]',
  page_refused: '[The request came from {origin}. ]The sessions of pages were for {origins}.',
  scheme_refused:
    '{path} takes Basic with client credentials, or Bearer with a refresh token.[ The request sent the scheme {scheme}.]',
  insufficient_scope: [
    '{operation} needs the scope `{needed}`.[ {owner} granted `{granted}`.]',
    'Send the user to {authorize} with your redirect URI, and exchange the new code for a token.',
  ],
  rejected:
    '[{about} ][{?devices}The user has {devices device}, and the phone that the sandbox plays is set to `{phone}`. ][{!devices}The user has no device, so the question went to a mailed link. ]Set the phone to approve, then repeat the request.',
  payment_denied: [
    '[{about} ][{?devices}The user has {devices device}, and the phone that the sandbox plays is set to `{phone}`. ][{!devices}The user has no device, so the question went to a mailed link.]',
    'Set the phone to approve, then repeat the request after two seconds. Browsers repeat a 408 by themselves, and the user is not asked for that.',
  ],
  approval_timeout: [
    '[{about} ][{?devices}The user has {devices device}, and the phone that the sandbox plays is set to `{phone}`. ][{!devices}The user has no device, so the question went to a mailed link.]',
    'Set the phone to approve, then repeat the request after two seconds. Browsers repeat a 408 by themselves, and the user is not asked for that.',
  ],
  self_approval:
    '[{about} ]The session that asked sent the answer. Answer from a device, from another session of the user, or in another browser.',
  device_refused:
    '[{about} ][{?devices}Only device {devices} can answer it, with the token of its registration as X-Device-Token. ][{!devices}It went out by mail, so no device can answer it.]',
  too_many_devices:
    '[{owner} has {devices device}, and {most} are possible. ][The oldest is device {oldest}, registered at {oldest_at}.]',
  link_early: 'The link to {change} device {device} confirms from {link_from} on. Before, it can only reject.',
  link_expired:
    '[{about} ][{!request}The link of {path} leads nowhere any more. ][The link {@until}. ][{!until}It was used, or what it was about has ended. ]Start again where the link came from.',
  authorization_answered: '[{about} ]It stays as it is. A new payment asks the user again.',
  authorization_expired: '[{about} ]The payment that waited has given up. A new payment asks the user again.',
  too_many_pending:
    '[{pending} {what} waited for {owner}. At most {most} may. ][Let the user answer one, or wait {retry_after} seconds. A rejected authentication request still counts as a message for 15 minutes.]',
  not_pending:
    '[The approval {approval_id} was {approval_status} and {@expires_at}. ][{!approval_id}The request {request} had been answered, or had expired. ]What has ended cannot be answered. The app must ask again.',
  slow_down:
    '[{path} may be read every two seconds. The next read is possible after {retry_after second}. ][The poll before was {before}.]',
  approval_required: [
    '[The app {client_id} ]asked for {amount}[, on behalf of {owner}].',
    '{!amount}The app asked for a change[, on behalf of {owner}].',
    '[The user lets agents pay up to {threshold} without asking. ][{!threshold}The user had set no threshold for this digital quantity, so every payment needs an approval. ][The approval {approval_id} waits for the user. Approve it, then repeat the request with `approval_id`.]',
  ],
  approval_not_given:
    '[The approval {approval_id} was {approval_status}. It was requested at {requested_at} and {@expires_at}. ][{?pending}Let the user approve it, then repeat the request. ][{!pending}Request a new approval, let the user approve it, and send its id.]',
  approval_spent: [
    'The approval {approval_id} was used at {spent_at}[ by {spent_by}].',
    'An approval allows one action. Request a new approval, let the user approve it, and send its id.',
  ],
  approval_mismatch:
    '[The approval {approval_id} is for: {summary} ][`{differing.0.field}` was {=differing.0.sent}, and the user approved {=differing.0.approved}. ][`{differing.1.field}` was {=differing.1.sent}, and the user approved {=differing.1.approved}.]',
  delegate_refused: [
    'The delegate of {owner} lets its party spend {allowance}[ each {period}]. {spending} had been spent.',
    '[{what} costs {price}. ][It was revoked at {revoked_at}. ][It {@expires_at}. ][{?other_dq}The payment is in another digital quantity than the delegate. ][{!persona}{?exists}The delegate proves who someone is, and allows no spending.]',
    '[{!persona}{!exists}No delegate had the hash of the request at that moment. ][Delegate {usable.issue} of persona {usable.persona} lets this caller spend.]',
  ],
  delegate_required: [
    '[{caller} ]pays for someone else, and sent no `persona_delegate`.',
    '[Delegate {delegates.0.issue} of persona {delegates.0.persona}, which belongs to {delegates.0.owner}, lets this caller spend. ][{!delegates}No delegate lets this caller spend. A user gives one with `spend`, below a persona.]',
  ],
  invalid_request: [
    '{?registered}The client {client_id} is registered.[ {detail}]',
    '[{!registered}No client {client_id} was registered at that moment. ][{!client_id}The request names no `client_id`. ][{?other_redirect}It registered {redirect_uris}, and the request sent {redirect_uri}. ][The request sent `{sent_names}`.]',
  ],
  invalid_grant: [
    '[{?refreshed}The client {client_id} had {used_refresh_tokens used refresh token} at that moment. Each works once. ][{!refreshed}{?last_code.exchanged}The last code of the client {client_id} had been exchanged. It is for {last_code.redirect_uri}.]',
    '[{!refreshed}{!last_code.exchanged}The last code of the client {client_id} {@last_code.expires_at}. It is for {last_code.redirect_uri}. ][{?last_code.challenged}Its `code_verifier` must be the text from which the challenge was made.]',
    '[The request sent {other_redirect}. Send the redirect URI of the code. ][{!last_code}{!refreshed}The client had no code at that moment. ][If the code or token is gone, send the user to {authorize} again.]',
  ],
  unauthorized_client: [
    'The client {client_id} registered the grants {grant_types}[, and the request needs {wanted}].',
    'A client changes its grants with PUT /v4/oidc/reg/{client_id} and its registration token. Its users then connect it again.',
  ],
  unsupported_grant_type:
    'The request sent `grant_type={grant_type}`. Accounts and users without an app use /v4/account/oauth/token or /v4/user/oauth/token.',
  invalid_scope: 'The request sent the scope {=scope}.[ The user granted {granted}.]',
  invalid_target:
    'The request names the resource {=resource}. This service is {base_url}, and its MCP server is {base_url}/mcp.',
  invalid_redirect_uri:
    '[{wrong} cannot be registered. ][{!wrong}{redirect_uris redirect URI} were sent. One to 32 are possible. ]Use https, http on localhost, or a scheme of the app.',
  invalid_client_metadata:
    '[The request sent {values}. ]/v4/oidc/.well-known/openid-configuration lists what is supported.',
  invalid_client: [
    '[{?public}The client {client_id} is public, so it sends no secret. Leave the secret out. ][{?registered}{!public}The client {client_id} is confidential, so it sends its secret. It registered `{method}`.]',
    '[{!registered}No client {client_id} was registered at that moment. Register one with POST /v4/oidc/reg. ][{!client_id}The credentials were in the Authorization header, which the journal does not keep.]',
  ],
  interaction_expired:
    '[The page for the app {client_id} was opened at {begun_at} by {begun_by}. It was answered since then, or is more than an hour old. ][{!begun_by}The page was answered before, or is more than an hour old. ]Go back to the app, which starts again.',
  too_many_fetches:
    '[{most} client documents were fetched from {host} within a minute. The next one is possible after {retry_after} seconds. ]A client that registers itself with POST /v4/oidc/reg needs no document.',
  change_impossible: [
    '[The user approved: {summary} ][{!reason}The values were {=seen} when the user saw them, and differ now. ][The change itself was refused with `{reason}`. ][{?changed}Some of its steps were made and are kept. ][{!changed}Nothing was changed.]',
    '[{!reason}Request a new approval. Its user sees the present values. ][Fix `{reason}` first: {reason_docs}. Then apply the change again.]',
  ],
  change_incomplete:
    '[The user approved: {summary} ][These parts were made: {=made}. The approval is used. ]Request an approval for what is left.',
  account_not_granted: [
    '[{owner} connected {client_id} without a business account. ][{!owner}The user connected the app without a business account, or has withdrawn it. ][The user belongs to {account_names}. Ask for one. ][{!accounts}The user belongs to no account, so there is none to grant.]',
    'POST /v4/agent/account-choice returns a link at which the user chooses one. Send the request again after that.',
  ],
  not_choosable: [
    '{!accounts}{email} belongs to no account.',
    '{email} is named by {account_names}, and [{?email_verified}is proven][{!email_verified}has not proven the address].',
    'POST /v4/account/register makes an account with a new user. A user who is named signs in with a code first.',
  ],
} satisfies DeclaredSentences
