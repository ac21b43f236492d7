import type { ProblemCode } from '../../base/problem.js'

/**
 * What an explanation says of each code, with places for its facts: see `facts/filled-text.ts`. A line that needs an unknown
 * fact is left out. ‹ and › enclose code.
 */
export const sentences: Readonly<Record<ProblemCode, string>> = {
  // Requests, the service, webhooks, limits and the controls of a sandbox.
  storage_unavailable: `[{!fault}No fault of the sandbox caused this. The log of the service has the reason. ]Nothing was changed, so the request can be repeated.`,
  storage_full: `[{!fault}No fault of the sandbox caused this. ]Nothing was changed. Free space, or export the state and delete what you do not need.`,
  cursor_invalid: `‹after› was {=after}, which is not the id of an entry of this list for this caller.`,
  body_malformed: `{?is_list}The body is a JSON list, and the operation takes one object.
    {!is_list}The body has {characters character}[, and was sent as {content_type}].
    [{!slip}A comma before a closing bracket, or a list around one object, is all that is wrong. ][Correct the text, and send it again. {slip}]`,
  path_malformed: `[The path {path} has a percent sign that begins no UTF-8 character. Encode each value with ‹encodeURIComponent›. ][If the percent sign is meant, it is written %25: {encoded}.]`,
  target_malformed: `The request line names ‹{path}›, which is no path of {base_url}.`,
  header_malformed: `[The header {header} was ‹{value}›. ][{!value}The header {header} is missing. ][{?is_fault}Leave it out, or send one such as ‹before; status=503›. ][{!is_fault}Send ‹Host: {host}›.]`,
  field_invalid: `[The field ‹{field}› was {=value}. ][{?missing}The field ‹{field}› is not there. Send it. ][It must be {must}. ][The operation takes ‹{fields}›.]`,
  idempotency_key_invalid: `The key has {characters character}. A key has 1 to {most} printable ASCII characters.`,
  card_data_refused: `[‹{fields}› held what looks like a card number. The journal does not keep it. ][Send the id of a payment method, such as ‹{test_payment_method}›.]`,
  body_too_large: `The operation reads at most {most_bytes} bytes[, and the request has {content_length}]. Send less, or raise ‹{limit}›.`,
  content_type_refused: `[The body was sent as {content_type}. ]The operation reads {accepted}.`,
  idempotency_in_progress: `[The key was used by {other.id} at {other.at}, which still runs. ][The same request gets its answer once that one has ended. Retry after {retry_after second}.]`,
  idempotency_mismatch: `[The key was used by {other.id} at {other.at}, which was answered with {other.status}. ][This request differs in ‹{changed}›. ]Use a new key for a new request.`,
  idempotency_unreadable: `[The key was used by {other.id} at {other.at}, which was answered with {other.status}. ]Its answer is not kept, or was sealed with another encryption key than the one that the service has now.`,
  no_such_path: `[The base URL is {base_url}, and no operation has the path {path} below it. ][{near} is an operation. ][{?is_control}{!sandbox}The service was created without ‹sandbox: true›, so it has no controls.]`,
  not_found: `[{?missing}No {wrong.kind} had the id {wrong.value} at that moment. ][{#caller} had the {wrong.kind} {callers}.]
    {!missing}The {wrong.kind} {wrong.value} exists. It belongs to {wrong.owners}[, and {#caller} called].
    [Call as {owner}: its token comes from {token_from}. ][{!wrong}Nothing that the path and the fields name is missing. The address itself may be used or revoked.]`,
  method_not_allowed: `{path} takes {allowed}, and the request was a {method}.`,
  session_conflict: `The header X-Session-ID and the cookie session_id named different sessions. The header alone is enough.`,
  wrong_principal: `{who} called. {operation} takes {takes}.`,
  not_an_account: `{who} called, and only an account may do this.[ Call as {owner}.]`,
  cross_site: `The request came from {origin} with only the session cookie. Send the session as X-Session-ID.`,
  origin_refused: `[The request came from a page of {origin}, without credentials of its own. ][To allow it, start the sandbox with ‹{flag}›, or create the service with ‹allowOrigins›. Pages of {base_url} and of this machine are always allowed.]`,
  sandbox_refused: `[The request has {forwarded}, so it was passed on for someone who may be anywhere. ][{!forwarded}The request came from a page of {origin}, or from another machine. ][{!forwarded}{!origin}It came from another machine, or the sandbox has a name that others reach, so that a tunnel may lead to it.]
    [{?sent_token}It had a control token, which is not that of this sandbox. ][{!sent_token}It had no control token. The sandbox prints the token at its start, and ‹{flag}› sets it.]`,
  host_refused: `[The request names the host {host}. The sandbox answers for {base_url} and for this machine. ][To allow the host, start the sandbox with ‹{flag}›.]`,
  evidence_refused: `The service accepts what is ‹{mode}› or better. {what}[ ({operation_id})] is ‹{grade}›.
    Leave it out, or start the service without ‹{flag}›.`,
  overloaded: `[{waiting} requests waited, and {queue} may. Nothing was changed. Repeat it, or raise ‹{option}›. ][The bodies of all requests may take {body_bytes} bytes of memory. Nothing was changed. Repeat it, or raise ‹{option}›.]`,
  not_ready: `{waiting} requests waited, and {queue} may.`,
  internal_error: `[The request ended {transactions transaction} and caused {caused effect}. ][{!fault}No fault of the sandbox caused this. The log of the service has the reason. ]Nothing was changed, so the request can be repeated.`,
  outcome_unknown: `[The request ended {transactions transaction} and caused {caused effect}. ][{!fault}No fault of the sandbox caused this. The log of the service has the reason. ][It happened: {happened} ][{!happened}The state of that moment shows nothing of it.]
    [{?key}Repeat it with the same Idempotency-Key: nothing happens twice. ][{!key}Look at the events before you repeat it: it may have happened.]`,
  not_loaded: `[{!fault}No fault of the sandbox caused this. The log of the service has the reason. ]A part of the service is loaded on its first use, and it could not be. Nothing was changed. The next request tries again.`,
  not_bundled: `The service was created without the part "{part}" of farthing/parts. Nothing was changed.`,
  too_many_hops: `[The Via header names {hops} services that the request passed through. Three are allowed. ]An item whose endpoint buys the same item again never ends. Leave out Via if the request is a new one.`,
  too_many_webhooks: `[The account has {webhooks webhook}, which is as many as it may have. ][The oldest is webhook {webhooks.0.id}, for {webhooks.0.url}. Delete one that nothing needs.]`,
  webhook_disabled: `The webhook {webhook} for {url} is disabled[: {why}].
    Enable it, and send the request again.`,
  too_many_streams: `[{owner} had {most} streams open, which is as many as it may have. ]Close one of them. Each ends by itself after 10 minutes.`,
  upstream_refused: `[The URL is {url}. This sandbox may call {rule}, and never addresses of cloud metadata. ][To allow the host, start the sandbox with ‹{flag}›, or create the service with ‹allowUpstream›.]`,
  too_many_new: `{owner} has reached the limit of {most} {what} a day[, ‹{option}›]. What an unproven user creates counts for the account that created the user.
    The next one is possible after {retry_after} seconds.`,
  too_many_mails: `Five messages of one kind went to one person within 15 minutes[, on behalf of user:{user}].
    The next one is possible after {retry_after} seconds.`,
  already_exists: `[A {what} with the name ‹{name}› is there already. Remove it first, or choose another name. ][{!name}The seed has {seed}. ][{!name}One thing of the seed was there already, so nothing was created. Reset the sandbox, or leave out fixed ids. ][The same seed was planted by {planted_by}.]`,
  snapshot_invalid: `The document has no ‹{missing}›.
    {!missing}The document has the parts of a snapshot.[ {said}]
    Send what GET /_sandbox/snapshot returned.`,
  snapshot_newer: `The snapshot says schema {schema}. This farthing knows schema {known}, and nothing later. Update farthing.`,
  snapshot_refused: `[The row {id} of ]‹{collection}› contradicts the rest of the snapshot.
    The state is as it was. Send a snapshot that was not edited.`,
  rewind_refused: `[{to} was {target.operation_id} at {target.at}. ][{reason} ]Nothing was changed. A named snapshot keeps its whole state: POST /_sandbox/snapshots saves one.`,
  sandbox_full: `[The sandbox holds {most} {what}, and no more are possible. ][The oldest is ‹{oldest}›. ]Remove one that you no longer need.`,
  not_replayable: `[The part ‹{field}› of the entry is missing in the journal, and cannot be made anew. ]Nothing was sent. Send the request yourself.`,
  // Who calls, and what a user allows.
  client_unknown: `[{!client_id}The Basic credentials are no base64 of an id, a colon and a secret. ][{!owner}No client had the id {client_id} at that moment. ][The client {client_id} of {owner} was revoked at {revoked_at}. ][{?other_kind}The client {client_id} is of {owner}, and {path} is for another kind.]
    [{!revoked_at}{!other_kind}The client {client_id} is of {owner}, so its secret was wrong. ][The newest client id of its kind was {newest}.]`,
  refresh_token_invalid: `[{?used}At that moment, {used refresh token} of this kind had been used. Each works once. ][{!used}At that moment, no refresh token of this kind had been used, so this one was never issued here, or is older than 24 hours.]`,
  session_required: `[{?codes}{codes code} had been mailed to {email}, the last at {mailed_at}, and another session had asked for it. ][{!codes}No code had been mailed to {email}. ]Ask for a code and verify it in the same session.`,
  code_wrong: `[The last code for {email} was mailed at {mailed_at}, and {@expires_at}. {tries_left} of {most} tries are left. ][The outbox shows the code: {outbox_code}. ]An address such as ‹ada+code123456@example.test› always gets the code 123456.`,
  code_expired: `[{?used}The last code for {email} was mailed at {mailed_at} and had been used. ][{!used}The last code for {email} {@expires_at}. ]A code works once, within ten minutes. Ask for a new one.`,
  email_taken: `{#owner} has the address {email} since {created_at}[, made by {maker}].
    Use another address, or let that user sign in.`,
  too_many_codes: `{unused unused code} had been mailed for {client_address} and its network in the last 15 minutes, to any addresses. At most {most} are. Private addresses are not counted.
    [{!client_address}{unused unused code} had been mailed to {email} in the last 15 minutes, and ‹limits.codes› is {most}. Addresses such as ‹ada+code123456@example.test› have no limit. ][The next one is possible after {retry_after} seconds.]`,
  too_many_failures: `[{wrong wrong secret} came for {client_id} within a minute, and this one was wrong too. ][The right secret is accepted at once. Another wrong one is checked after {retry_after} seconds.]`,
  too_many_tries: `{wrong} wrong codes were entered for {email} within a day. More are not checked, and no more codes are mailed, except where its user signed in before. The next one is possible after {retry_after} seconds.
    {!wrong}{tries} wrong codes were entered for the last code of {email}. At most {most} may be. Ask for a new one.`,
  account_creation_refused: `The service was created with ‹accountCreation: false›, so accounts are not created over the interface. A seed can.`,
  account_creation_failed: `The transaction that creates the account was undone. [{!fault}The log of the service has the cause. Repeat the request.]`,
  provisioning_failed: `The transaction that creates the account, twin and user was undone. [{!fault}The log of the service has the cause. Repeat the request.]`,
  authorization_missing: `The request had no Authorization header[{!session} and no session]. {operation} takes {takes}.`,
  credentials_missing: `The request had no Authorization header, so the service does not know for whom to make a token. [{owner} has the client id {client_id}. Send it with its secret as Basic credentials.]`,
  token_invalid: `[A token of {ended.0.owner} had ended at {ended.0.ended_at}. ][A token of {ended.1.owner} had ended at {ended.1.ended_at}. ][A token of {ended.2.owner} had ended at {ended.2.ended_at}. ][{!ended}No access token had ended in the day before, so the token is of another service, was revoked, or is from before a reset. ]Access tokens of accounts and users last an hour.`,
  agent_token_required: `[{who} called, with a valid token. {operation} takes {takes}. ]Register an app with POST /v4/oidc/reg, let a user connect it at /v4/oidc/auth, and exchange its code at POST /v4/oidc/token.`,
  bearer_required: `The Authorization header had no Bearer token[: the request sent the scheme {scheme}]. {operation} takes {takes}.`,
  public_secret_unknown: `[The newest accounts were {accounts}, and none has this secret. ][{!accounts}There was no account.]`,
  sign_in_required: `[{?session}The request came with a session in which nobody was signed in. ][{!session}The request came without a session. ][The newest session was of {owner} and {@session_ends_at}. ][{!owner}No user was signed in anywhere.]`,
  page_refused: `[The request came from {origin}. ]The sessions of pages were for {origins}.`,
  scheme_refused: `{path} takes Basic with client credentials, or Bearer with a refresh token.[ The request sent the scheme {scheme}.]`,
  insufficient_scope: `{operation} needs the scope ‹{needed}›.[ {owner} granted ‹{granted}›.]
    Send the user to {authorize} with your redirect URI, and exchange the new code for a token.`,
  rejected: `[{about} ][{?devices}The user has {devices device}, and the phone that the sandbox plays is set to ‹{phone}›. ][{!devices}The user has no device, so the question went to a mailed link. ]Set the phone to approve, then repeat the request.`,
  payment_denied: `[{about} ][{?devices}The user has {devices device}, and the phone that the sandbox plays is set to ‹{phone}›. ][{!devices}The user has no device, so the question went to a mailed link.]
    Set the phone to approve, then repeat the request after two seconds. Browsers repeat a 408 by themselves, and the user is not asked for that.`,
  approval_timeout: `[{about} ][{?devices}The user has {devices device}, and the phone that the sandbox plays is set to ‹{phone}›. ][{!devices}The user has no device, so the question went to a mailed link.]
    Set the phone to approve, then repeat the request after two seconds. Browsers repeat a 408 by themselves, and the user is not asked for that.`,
  self_approval: `[{about} ]The session that asked sent the answer. Answer from a device, from another session of the user, or in another browser.`,
  device_refused: `[{about} ][{?devices}Only device {devices} can answer it, with the token of its registration as X-Device-Token. ][{!devices}It went out by mail, so no device can answer it.]`,
  too_many_devices: `[{owner} has {devices device}, and {most} are possible. ][The oldest is device {oldest}, registered at {oldest_at}.]`,
  link_early: `The link to {change} device {device} confirms from {link_from} on. Before, it can only reject.`,
  link_expired: `[{about} ][{!request}The link of {path} leads nowhere any more. ][The link {@until}. ][{!until}It was used, or what it was about has ended. ]Start again where the link came from.`,
  authorization_answered: `[{about} ]It stays as it is. A new payment asks the user again.`,
  authorization_expired: `[{about} ]The payment that waited has given up. A new payment asks the user again.`,
  too_many_pending: `[{pending} {what} waited for {owner}. At most {most} may. ][Let the user answer one, or wait {retry_after} seconds. A rejected authentication request still counts as a message for 15 minutes.]`,
  not_pending: `[The approval {approval_id} was {approval_status} and {@expires_at}. ][{!approval_id}The request {request} had been answered, or had expired. ]What has ended cannot be answered. The app must ask again.`,
  slow_down: `[{path} may be read every two seconds. The next read is possible after {retry_after second}. ][The poll before was {before}.]`,
  approval_required: `[The app {client_id} ]asked for {amount}[, on behalf of {owner}].
    {!amount}The app asked for a change[, on behalf of {owner}].
    [The user lets agents pay up to {threshold} without asking. ][{!threshold}The user had set no threshold for this digital quantity, so every payment needs an approval. ][The approval {approval_id} waits for the user. Approve it, then repeat the request with ‹approval_id›.]`,
  approval_not_given: `[The approval {approval_id} was {approval_status}. It was requested at {requested_at} and {@expires_at}. ][{?pending}Let the user approve it, then repeat the request. ][{!pending}Request a new approval, let the user approve it, and send its id.]`,
  approval_spent: `The approval {approval_id} was used at {spent_at}[ by {spent_by}].
    An approval allows one action. Request a new approval, let the user approve it, and send its id.`,
  approval_mismatch: `[The approval {approval_id} is for: {summary} ][‹{differing.0.field}› was {=differing.0.sent}, and the user approved {=differing.0.approved}. ][‹{differing.1.field}› was {=differing.1.sent}, and the user approved {=differing.1.approved}.]`,
  payment_required: `[Catalog item {item} costs {price}. ][{!item}This call of the paywall costs {price}, paid to {destination}. ][{!item}{!destination}This call of the paywall costs {price}. ][{!item}Once it is paid, it calls {service}. ][{!reason}The request had no payment in ‹PAYMENT-SIGNATURE›, ‹X-PAYMENT› or ‹Authorization›. ][The payment in the request was refused with ‹{reason}›. ]Nothing was paid now, and the endpoint was not called.`,
  payment_identifier_mismatch: `[The payer {payer} had named payment {payment} so, of {amount}, at {paid_at}. ][It was for: {descriptor}. ]An identifier stands for one payment of its payer, for a day. Nothing was paid now. Make a new identifier for each payment.`,
  delegate_refused: `The delegate of {owner} lets its party spend {allowance}[ each {period}]. {spending} had been spent.
    [{what} costs {price}. ][It was revoked at {revoked_at}. ][It {@expires_at}. ][{?other_dq}The payment is in another digital quantity than the delegate. ][{!persona}{?exists}The delegate proves who someone is, and allows no spending.]
    [{!persona}{!exists}No delegate had the hash of the request at that moment. ][Delegate {usable.issue} of persona {usable.persona} lets this caller spend.]`,
  delegate_required: `[{caller} ]pays for someone else, and sent no ‹persona_delegate›.
    [Delegate {delegates.0.issue} of persona {delegates.0.persona}, which belongs to {delegates.0.owner}, lets this caller spend. ][{!delegates}No delegate lets this caller spend. A user gives one with ‹spend›, below a persona.]`,
  invalid_request: `{?registered}The client {client_id} is registered.[ {detail}]
    [{!registered}No client {client_id} was registered at that moment. ][{!client_id}The request names no ‹client_id›. ][{?other_redirect}It registered {redirect_uris}, and the request sent {redirect_uri}. ][The request sent ‹{sent_names}›.]`,
  invalid_grant: `[{?refreshed}The client {client_id} had {used_refresh_tokens used refresh token} at that moment. Each works once. ][{!refreshed}{?last_code.exchanged}The last code of the client {client_id} had been exchanged. It is for {last_code.redirect_uri}.]
    [{!refreshed}{!last_code.exchanged}The last code of the client {client_id} {@last_code.expires_at}. It is for {last_code.redirect_uri}. ][{?last_code.challenged}Its ‹code_verifier› must be the text from which the challenge was made.]
    [The request sent {other_redirect}. Send the redirect URI of the code. ][{!last_code}{!refreshed}The client had no code at that moment. ][If the code or token is gone, send the user to {authorize} again.]`,
  unauthorized_client: `The client {client_id} registered the grants {grant_types}[, and the request needs {wanted}].
    A client changes its grants with PUT /v4/oidc/reg/{client_id} and its registration token. Its users then connect it again.`,
  unsupported_grant_type: `The request sent ‹grant_type={grant_type}›. Accounts and users without an app use /v4/account/oauth/token or /v4/user/oauth/token.`,
  invalid_scope: `The request sent the scope {=scope}.[ The user granted {granted}.]`,
  invalid_target: `The request names the resource {=resource}. This service is {base_url}, and its MCP server is {base_url}/mcp.`,
  invalid_redirect_uri: `[{wrong} cannot be registered. ][{!wrong}{redirect_uris redirect URI} were sent. One to 32 are possible. ]Use https, http on localhost, or a scheme of the app.`,
  invalid_client_metadata: `[The request sent {values}. ]/v4/oidc/.well-known/openid-configuration lists what is supported.`,
  invalid_client: `[{?public}The client {client_id} is public, so it sends no secret. Leave the secret out. ][{?registered}{!public}The client {client_id} is confidential, so it sends its secret. It registered ‹{method}›.]
    [{!registered}No client {client_id} was registered at that moment. Register one with POST /v4/oidc/reg. ][{!client_id}The credentials were in the Authorization header, which the journal does not keep.]`,
  interaction_expired: `[The page for the app {client_id} was opened at {begun_at} by {begun_by}. It was answered since then, or is more than an hour old. ][{!begun_by}The page was answered before, or is more than an hour old. ]Go back to the app, which starts again.`,
  too_many_fetches: `[{most} client documents were fetched from {host} within a minute. The next one is possible after {retry_after} seconds. ]A client that registers itself with POST /v4/oidc/reg needs no document.`,
  change_impossible: `[The user approved: {summary} ][{!reason}The values were {=seen} when the user saw them, and differ now. ][The change itself was refused with ‹{reason}›. ][{?changed}Some of its steps were made and are kept. ][{!changed}Nothing was changed.]
    [{!reason}Request a new approval. Its user sees the present values. ][Fix ‹{reason}› first: {reason_docs}. Then apply the change again.]`,
  change_incomplete: `[The user approved: {summary} ][These parts were made: {=made}. The approval is used. ]Request an approval for what is left.`,
  account_not_granted: `[{owner} connected {client_id} without a business account. ][{!owner}The user connected the app without a business account, or has withdrawn it. ][The user belongs to {account_names}. Ask for one. ][{!accounts}The user belongs to no account, so there is none to grant.]
    POST /v4/agent/account-choice returns a link at which the user chooses one. Send the request again after that.`,
  not_choosable: `{!accounts}{email} belongs to no account.
    {email} is named by {account_names}, and [{?email_verified}is proven][{!email_verified}has not proven the address].
    POST /v4/account/register makes an account with a new user. A user who is named signs in with a code first.`,
  // Amounts, payments, items, carts, checkouts and plans.
  amount_invalid: `[‹{field}› was {amount}. ][An amount of this digital quantity has at most {decimals decimal}, so its smallest amount is {smallest}.]`,
  dq_unknown: `[No digital quantity had the hash {dq}. ][There were {shortcodes}.]`,
  twin_unknown: `No twin had the id {twin_id} at that moment.
    The twin {twin_id} exists. It belongs to {owners}[, and {#caller} called].
    [{#caller} has the twin {own.id} ({own.hostname}). ][{!own}{caller} has no twin. Create one.]`,
  twin_nonce_refused: `[{hostname} belongs to {owner} and had {unused unused nonce} at that moment. ][{!owner}No twin has the hostname {hostname}. ]A nonce of a twin works once, within five minutes. Let the holder create a new one.`,
  insufficient_funds: `{payer.hostname} of {payer.owner} could spend {payer.spendable} at that moment[, and {what} costs {price}].
    [{?payer.held}Its balance was {payer.balance}, of which {payer.held} was held for what is pending. ][{?several}The payer has {twins twin}. Without ‹hostname›, the first one pays. ][{lack} is missing. ][{!payer}{owner} has no twin to pay from. Create one first, then fund it.]`,
  same_twin: `[{hostname} of {owner} is both payer and payee. ][The payer also has {other}.]`,
  not_owner: `The {wrong.kind} {wrong.value} exists. It belongs to {wrong.owners}[, and {#caller} called].
    [Call as {owner}: its token comes from {token_from}. ][Agents pay from {agent_twin} only.]`,
  sold_by_item: `[Catalog item {item} ]sells the commodity {descriptor}, so it keeps charging. Create another commodity with ‹payback: true›.`,
  price_changed: `[The prices of {lines line} of the cart are not those that the payer saw. ][{!lines}The payer saw {seen}, and {descriptor} costs {now}. ][{!lines}{!descriptor}The payer saw {seen}, and the price is {price}. ]Show the new price to the payer, and repeat the request with it.`,
  card_declined: `[The card {payment_method_id} was declined: {reason}. ][This test value does the following: {test_value} ]‹pm_card_visa› works.`,
  processor_failed: `[{?processor}The card processor gave no usable answer for {method}. ][{!processor}The service has no card processor. Create it with ‹cards›, or with ‹sandbox: true›. ][{?pending}The card may still be charged. The service asks again by itself, so do not send another card.]
    {!pending}Nothing was charged. The test value ‹pm_card_visa› works.`,
  too_many_declines: `[{declined card} were declined within 15 minutes for {payer}. At most 10 may be, or 100 for the guests of one seller. This card was not tried. ][The next card is possible after {retry_after} seconds.]`,
  too_many_charges: `[{open charge} have no outcome yet, {own} of them of {payer}. At most 20 of one user, account or link may be open, or 200 of the guests of one seller. This card was not tried. ][Send the same call again after {retry_after} seconds.]`,
  nonce_unknown: `[The commodity {descriptor} had {payments payment} at that moment, and none has this nonce with this timestamp. ][A payment of that time is for the commodity {elsewhere.hash}. ][The last payment is {payments.0.id}, with the timestamp {payments.0.timestamp}.]`,
  nonce_used: `The nonce of payment {payment.id} was validated at {used_at}[ by {used_by}].
    A nonce validates once. A new payment has a new nonce.`,
  nonce_expired: `[The nonce of payment {payment.id} {@expires_at}. ][A nonce lasts {nonce_seconds} seconds (‹limits.nonceSeconds›). The payment itself stays.]`,
  not_invited: `[{about} ][{#caller} sent it, and only the person with that address can claim it. Their first sign-in proves the address, and claims the transfer.]`,
  transfer_settled: `[{about} ][{?is_claim}It has ended, so it cannot be claimed. Its sender can send the amount again. ][{!is_claim}{?completed}The recipient has the amount, and can send it back with a transfer of their own. ][{!is_claim}{!completed}Nothing is left to cancel: the sender has the amount.]`,
  transfer_expired: `[{about} ]The amount is back with its sender, who can send it again.`,
  payback_only: `The commodity {descriptor} pays its readers {price} instead of charging them.`,
  payback_refused: `[The commodity {descriptor} of {seller} does not pay its readers. ][Catalog item {item} sells it, so it cannot. Create another commodity with ‹payback: true›. ][{!item}Its seller can turn that on.]`,
  payback_taken: `The commodity {descriptor} had paid {user} before[: payment {payment} at {paid_at}].
    It pays each user once.`,
  email_unproven: `[{email} had never been proven: a code that was mailed there was not entered. ][{maker} made the user. ]A sign-in by the sandbox proves the address too.`,
  binder_invalid: `[Line {line}, column ‹{column}›, must be {expected}. ][{!column}Line {line} {expected}. ][It was {given}. ]Nothing was imported. Correct the line, and send the whole file again.`,
  binder_refused: `{hostname} has a history already[: {holds}]. A binder needs a twin without one.
    Create a twin for it, then import the file there.`,
  import_in_progress: `[An import into {hostname} was ‹{state}›, with {pieces piece} read. ]Send the file again once that import has ended.`,
  import_ended: `[{!state}No import into {hostname} was under way any more. ][An import into {hostname} was ‹{state}›, with {pieces piece} read. ]Read the binder of the twin to see its rows. If they are missing, send the file again.`,
  destination_unknown: `[No twin had the hostname {=destination}. ][{!destination}The request named neither a payee nor an upstream service. ][The twins of sellers were {hostnames}.]`,
  card_required: `{owner} has the plan {plan_name} and [{!card}no card on file][{?card}a card on file]. The plan {wanted} is charged every month.`,
  card_minimum: `[The price is {price}. Cards are charged in whole cents, at least 0.50. ]Pay from a wallet: leave out ‹payment_method_id›, and sign in if you are a guest.`,
  item_archived: `[{about} ]It is archived, so it cannot change. Restore it first.`,
  item_not_archived: `[{about} ][{?active}It is not archived, and active, so nothing is left to restore. ][{!active}It is not archived, and inactive, so turn it on.]`,
  item_inactive: `[{about} ][At that moment, it was {state}. Nothing was charged. ][{?archived}Restoring leaves it inactive, so restore it and then turn it on.]`,
  arguments_refused: `[{about} ][It takes {declared}. ][The request sent {=sent}. ][The item does not declare {undeclared}.]
    [{argument}: ]{reason}`,
  schema_refused: `[{about} ]Its JSON Schema cannot be checked. Its seller simplifies it.`,
  parameter_unreadable: `[{about} ][Its endpoint needs {needed}. ][Of its parameters, {names} is stored. ]Values are stored encrypted. The seller enters them again.`,
  upstream_failed: `[{about} ][Its endpoint is {service_method} {endpoint}. ][{!item}The call went to {endpoint}. ][The service called {calls}. ][{detail} ][Payment {payment.id} of {price} is ‹{payment.status}›. ]Let the endpoint answer with a status below 500 within the time limit, then repeat the request.`,
  checkout_paid: `{about}
    {#payer} paid it[, with the receipt {receipt}].
    A link sells once. Create one for each buyer.`,
  checkout_paying: `[{about} ][A payment of it began at {attempt_at}. ][{!attempt_at}The card processor has not said how its charge ended. ][Repeat the request after {retry_after} seconds. The checkout is paid once.]`,
  checkout_expired: `[{about} ][It {@expires_at}. ]A link lasts 24 hours. Create a new one.`,
  refund_settled: `[{about} is ‹{refund_status}›, so nothing is left to settle. ]GET /v4/checkout/refunds lists the open ones.`,
  refund_outcome_refused: `[{about} is ‹{refund_status}›, its payer is {payer}, and the request sent {=sent}. ][The processor said: {refusal}. ][{?again}Try the card again, or return the money yourself. ][{!again}Look the charge up at the card processor, and send ‹returned› once the payer has the money.]`,
  cart_full: `Cart {cart} had {lines line}, and {most} are possible. Create another cart, or send a larger ‹quantity›.`,
  cart_empty: `The cart {cart} had no lines at that moment.[ {lines_made line} had been added and removed.]
    [Catalog item {item} is for sale. ][{!item}No catalog item is for sale.]`,
  cart_closed: `The cart {cart} was paid at {ordered_at}[, with the receipts {receipts}].
    [{!ordered_at}The cart {cart} was being paid. ]A paid cart stays as it is. Create a new one.`,
  cart_paying: `A payment of cart {cart} was on its way[: {other}, which began at {other_at}].
    Read the cart until it is no longer ‹paying›. It is paid once.`,
  card_in_use: `The card {card.brand} {card.last4} pays the plan {plan_name}[ and invoice {unpaid_invoice}].
    Save another card instead, or change to the free plan and wait for the end of the period.`,
  invoice_not_open: `The invoice {invoice} of {dollars} USD is ‹{invoice_status}›[ since {paid_at}]. Only an open one can be paid.
    [{?paid_at}Nothing is left to pay. ][{!paid_at}GET /v4/billing/invoices lists those of the account.]`,
  invoice_unpaid: `The invoice {invoice} of {dollars} USD is ‹{invoice_status}›[, after {failures declined charge}].
    Pay it, then change the plan.`,
  charge_pending: `[Invoice {invoice} of {dollars} USD is ‹{invoice_status}›, and its charge has no outcome yet. ][{!invoice}The renewal of the plan is due at this moment. ]The service asks the card processor again by itself. Repeat the request after that.`,
  plan_limit_reached: `[{owner} has the plan {plan_name}, which allows {limit} {counted}. {used} were used. ][The plan {next_plan} allows {next_limit}. ][The count starts again at {resets}.]`,
  too_many_calls: `{!retry_after}One payment makes at most {most} calls. Take lines out of the cart, and pay for them in another one.
    {?retry_after}At most {most} calls of one payer reach a host in its time[, ‹{option}›]. Nothing was called.
    The next one is possible after {retry_after second} of the clock of the sandbox.`,
}
