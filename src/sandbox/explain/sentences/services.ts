import type { DeclaredSentences } from './sentence.js'

/** Requests, the service, webhooks, limits and the controls of a sandbox. */
export const serviceSentences = {
  storage_unavailable:
    '[{!fault}No fault of the sandbox caused this. The log of the service has the reason. ]Nothing was changed, so the request can be repeated.',
  storage_full:
    '[{!fault}No fault of the sandbox caused this. ]Nothing was changed. Free space, or export the state and delete what you do not need.',
  cursor_invalid: '`after` was {=after}, which is not the id of an entry of this list for this caller.',
  body_malformed: [
    '{?is_list}The body is a JSON list, and the operation takes one object.',
    '{!is_list}The body has {characters character}[, and was sent as {content_type}].',
    '[{!slip}A comma before a closing bracket, or a list around one object, is all that is wrong. ][Correct the text, and send it again. {slip}]',
  ],
  path_malformed:
    '[The path {path} has a percent sign that begins no UTF-8 character. Encode each value with `encodeURIComponent`. ][If the percent sign is meant, it is written %25: {encoded}.]',
  target_malformed: 'The request line names `{path}`, which is no path of {base_url}.',
  header_malformed:
    '[The header {header} was `{value}`. ][{!value}The header {header} is missing. ][{?is_fault}Leave it out, or send one such as `before; status=503`. ][{!is_fault}Send `Host: {host}`.]',
  field_invalid:
    '[The field `{field}` was {=value}. ][{?missing}The field `{field}` is not there. Send it. ][It must be {must}. ][The operation takes `{fields}`.]',
  idempotency_key_invalid: 'The key has {characters character}. A key has 1 to {most} printable ASCII characters.',
  card_data_refused:
    '[`{fields}` held what looks like a card number. The journal does not keep it. ][Send the id of a payment method, such as `{test_payment_method}`.]',
  body_too_large:
    'The operation reads at most {most_bytes} bytes[, and the request has {content_length}]. Send less, or raise `{limit}`.',
  content_type_refused: '[The body was sent as {content_type}. ]The operation reads {accepted}.',
  idempotency_in_progress:
    '[The key was used by {other.id} at {other.at}, which still runs. ][The same request gets its answer once that one has ended. Retry after {retry_after second}.]',
  idempotency_mismatch:
    '[The key was used by {other.id} at {other.at}, which was answered with {other.status}. ][This request differs in `{changed}`. ]Use a new key for a new request.',
  idempotency_unreadable:
    '[The key was used by {other.id} at {other.at}, which was answered with {other.status}. ]Its answer is not kept, or was sealed with another encryption key than the one that the service has now.',
  no_such_path:
    '[The base URL is {base_url}, and no operation has the path {path} below it. ][{near} is an operation. ][{?is_control}{!sandbox}The service was created without `sandbox: true`, so it has no controls.]',
  not_found: [
    '[{?missing}No {wrong.kind} had the id {wrong.value} at that moment. ][{#caller} had the {wrong.kind} {callers}.]',
    '{!missing}The {wrong.kind} {wrong.value} exists. It belongs to {wrong.owners}[, and {#caller} called].',
    '[Call as {owner}: its token comes from {token_from}. ][{!wrong}Nothing that the path and the fields name is missing. The address itself may be used or revoked.]',
  ],
  method_not_allowed: '{path} takes {allowed}, and the request was a {method}.',
  session_conflict:
    'The header X-Session-ID and the cookie session_id named different sessions. The header alone is enough.',
  wrong_principal: '{who} called. {operation} takes {takes}.',
  not_an_account: '{who} called, and only an account may do this.[ Call as {owner}.]',
  cross_site: 'The request came from {origin} with only the session cookie. Send the session as X-Session-ID.',
  origin_refused:
    '[The request came from a page of {origin}, without credentials of its own. ][To allow it, start the sandbox with `{flag}`, or create the service with `allowOrigins`. Pages of {base_url} and of this machine are always allowed.]',
  sandbox_refused: [
    '[The request has {forwarded}, so it was passed on for someone who may be anywhere. ][{!forwarded}The request came from a page of {origin}, or from another machine. ][{!forwarded}{!origin}It came from another machine, or the sandbox has a name that others reach, so that a tunnel may lead to it.]',
    '[{?sent_token}It had a control token, which is not that of this sandbox. ][{!sent_token}It had no control token. The sandbox prints the token at its start, and `{flag}` sets it.]',
  ],
  host_refused:
    '[The request names the host {host}. The sandbox answers for {base_url} and for this machine. ][To allow the host, start the sandbox with `{flag}`.]',
  evidence_refused: [
    'The service accepts what is `{mode}` or better. {what}[ ({operation_id})] is `{grade}`.',
    'Leave it out, or start the service without `{flag}`.',
  ],
  overloaded:
    '[{waiting} requests waited, and {queue} may. Nothing was changed. Repeat it, or raise `{option}`. ][The bodies of all requests may take {body_bytes} bytes of memory. Nothing was changed. Repeat it, or raise `{option}`.]',
  not_ready: '{waiting} requests waited, and {queue} may.',
  internal_error:
    '[The request ended {transactions transaction} and caused {caused effect}. ][{!fault}No fault of the sandbox caused this. The log of the service has the reason. ]Nothing was changed, so the request can be repeated.',
  outcome_unknown: [
    '[The request ended {transactions transaction} and caused {caused effect}. ][{!fault}No fault of the sandbox caused this. The log of the service has the reason. ][It happened: {happened} ][{!happened}The state of that moment shows nothing of it.]',
    '[{?key}Repeat it with the same Idempotency-Key: nothing happens twice. ][{!key}Look at the events before you repeat it: it may have happened.]',
  ],
  not_loaded:
    '[{!fault}No fault of the sandbox caused this. The log of the service has the reason. ]A part of the service is loaded on its first use, and it could not be. Nothing was changed. The next request tries again.',
  not_bundled: 'The service was created without the part "{part}" of farthing/parts. Nothing was changed.',
  too_many_hops:
    '[The Via header names {hops} services that the request passed through. Three are allowed. ]An item whose endpoint buys the same item again never ends. Leave out Via if the request is a new one.',
  too_many_webhooks:
    '[The account has {webhooks webhook}, which is as many as it may have. ][The oldest is webhook {webhooks.0.id}, for {webhooks.0.url}. Delete one that nothing needs.]',
  webhook_disabled: ['The webhook {webhook} for {url} is disabled[: {why}].', 'Enable it, and send the request again.'],
  too_many_streams:
    '[{owner} had {most} streams open, which is as many as it may have. ]Close one of them. Each ends by itself after 10 minutes.',
  upstream_refused:
    '[The URL is {url}. This sandbox may call {rule}, and never addresses of cloud metadata. ][To allow the host, start the sandbox with `{flag}`, or create the service with `allowUpstream`.]',
  too_many_new: [
    '{owner} has reached the limit of {most} {what} a day[, `{option}`]. What an unproven user creates counts for the account that created the user.',
    'The next one is possible after {retry_after} seconds.',
  ],
  too_many_mails: [
    'Five messages of one kind went to one person within 15 minutes[, on behalf of user:{user}].',
    'The next one is possible after {retry_after} seconds.',
  ],
  already_exists:
    '[A {what} with the name `{name}` is there already. Remove it first, or choose another name. ][{!name}The seed has {seed}. ][{!name}One thing of the seed was there already, so nothing was created. Reset the sandbox, or leave out fixed ids. ][The same seed was planted by {planted_by}.]',
  snapshot_invalid: [
    'The document has no `{missing}`.',
    '{!missing}The document has the parts of a snapshot.[ {said}]',
    'Send what GET /_sandbox/snapshot returned.',
  ],
  snapshot_newer:
    'The snapshot says schema {schema}. This farthing knows schema {known}, and nothing later. Update farthing.',
  snapshot_refused: [
    '[The row {id} of ]`{collection}` contradicts the rest of the snapshot.',
    'The state is as it was. Send a snapshot that was not edited.',
  ],
  rewind_refused:
    '[{to} was {target.operation_id} at {target.at}. ][{reason} ]Nothing was changed. A named snapshot keeps its whole state: POST /_sandbox/snapshots saves one.',
  sandbox_full:
    '[The sandbox holds {most} {what}, and no more are possible. ][The oldest is `{oldest}`. ]Remove one that you no longer need.',
  not_replayable:
    '[The part `{field}` of the entry is missing in the journal, and cannot be made anew. ]Nothing was sent. Send the request yourself.',
} satisfies DeclaredSentences
