/** Requests, the service, its limits, and the controls of a sandbox. */
export const requestPages = {
  storage_unavailable: `The state cannot be read or stored at the moment. Nothing was changed.
    cause: Another process holds the state file, or the disk returned an error.
    cause: A newer farthing wrote the state. ‹schema› has its number.
    cause: The browser closed its database, for example because the user cleared the data of the site.
    fix: Read ‹GET /_sandbox/health› in a sandbox. It names the fault.
    fix: Let one process use a state file, and update farthing if the state is newer.
    fix: Repeat the call after ‹Retry-After› seconds.`,
  storage_full: `The disk or the quota of the browser is full, so no change can be stored. Reads go on. Nothing was changed.
    cause: The disk has no space left.
    cause: The browser allows this site no more data.
    fix: Free space, then repeat the call.
    fix: Export the state (‹GET /_sandbox/snapshot› or ‹farthing export›), and start over with what you need.`,
  cursor_invalid: `‹after› is not a place in this list, so there is no next page.
    cause: The cursor belongs to another list, or to the list of another caller.
    cause: The page that it came from was read before a reset or a restored snapshot.
    cause: It was made up, for example as a page number.
    fix: Start again without ‹after›, and send the ‹next› of each page unchanged until it is null.`,
  body_malformed: `The body could not be decoded, so none of its fields were read. The sentence says what was wrong with it.
    cause: The body is not valid JSON, for example because of a trailing comma, or an object that was not passed through ‹JSON.stringify›.
    cause: The body is JSON, but an array, a string or a number. Every operation takes an object.
    cause: The text is not UTF-8, or the connection ended before the whole body arrived.
    fix: Send ‹Content-Type: application/json› with one JSON object, or ‹application/x-www-form-urlencoded› with a form.
    fix: Send no body where the operation needs none: an absent body is valid, and a broken one is not.`,
  path_malformed: `The path has a percent escape that is not UTF-8, so it names nothing.
    cause: A ‹%› in an id or a hostname was not escaped.
    cause: The path was encoded in another encoding than UTF-8.
    fix: Pass each part of the path through ‹encodeURIComponent› before you join them.`,
  target_malformed: `The first line of the HTTP request names no address of this server. Only the Node server answers with this.
    cause: A proxy or a hand-written client sent a request line that is neither a path nor an http URL.
    fix: Send a path that begins with ‹/›, such as ‹GET /v4/dq HTTP/1.1›.`,
  header_malformed: `A header makes the request unreadable, most often ‹Host›.
    cause: ‹Host› is missing, is sent twice, or is not one host with an optional port.
    cause: A proxy rewrote ‹Host› to something that makes no valid URL.
    cause: ‹X-Sandbox-Fault› is no point and action of a fault.
    fix: Send exactly one ‹Host› header, such as ‹Host: 127.0.0.1:4242›.
    fix: Write the fault like ‹X-Sandbox-Fault: after_commit; drop›.`,
  field_invalid: `A field of the path, the query or the body is missing, has the wrong type, or has a value that is not allowed. Nothing was changed.
    cause: A required field is missing, or its name is misspelled: the sentence suggests the nearest name.
    cause: A number was sent as text, or the other way round.
    cause: A value is longer than allowed, or not one of the listed values.
    fix: Read ‹field›: it is the path of the first wrong field, such as ‹spend.limit›. The sentence says what it must be.
    fix: ‹GET /v4/openapi.json› describes every field of every operation.`,
  idempotency_key_invalid: `The ‹Idempotency-Key› header cannot be a key. Nothing was changed.
    cause: The key is empty, longer than 255 characters, or has characters beyond printable ASCII.
    fix: Send a new UUID for each thing that shall happen once: ‹crypto.randomUUID()›.`,
  card_data_refused: `A field holds what looks like a card number. The service reads no further and stores nothing, so that card numbers never pass through it.
    cause: A form sends the number of the card itself.
    cause: A note or another text happens to contain a valid card number.
    fix: Let the card processor's own form read the card, and send the id that it returns as ‹payment_method_id›.
    fix: In a sandbox, ‹GET /_sandbox/test-values› lists ids of test cards, such as ‹pm_card_visa›.`,
  body_too_large: `The body is larger than the service reads. The sentence has the limit in bytes.
    cause: A JSON body is larger than ‹limits.bodyBytes›: 1 MiB by default.
    cause: A snapshot or a binder is larger than ‹limits.snapshotBytes› or ‹limits.binderBytes›.
    fix: Send less in one request.
    fix: In your own service, raise the limit: ‹createService({ limits: { bodyBytes: … } })›.`,
  content_type_refused: `The body has a media type that the operation does not read. The sentence names those that it reads.
    cause: ‹Content-Type› is missing, and the client sent ‹text/plain›, as ‹fetch› does for a string.
    cause: A form was sent as ‹multipart/form-data›.
    fix: Set ‹Content-Type: application/json› and send JSON.
    fix: For a binder, send ‹Content-Type: text/csv›.`,
  idempotency_in_progress: `The first request with this key has not ended yet. It goes on, and its answer will be the answer for this key.
    cause: A retry came while the first request still waits, for example for a person or for an upstream service.
    cause: Two parts of a program use the same key at the same time.
    fix: Wait as long as ‹Retry-After› says, then repeat the same request with the same key. You get the first answer.`,
  idempotency_mismatch: `This key was used in the last 24 hours for a request with other fields. Neither request was repeated.
    cause: A key is made once per program instead of once per action.
    cause: A retry changed a field, such as a timestamp or an amount.
    fix: Make a new key for each new request, and repeat a request with exactly the same fields.`,
  idempotency_unreadable: `This service cannot send the first answer for this key again: it is not kept, or it cannot be decrypted. The request was not repeated, because it has already happened.
    cause: The service was started with another ‹encryptionKey› than the one that sealed the answer.
    cause: The key file beside the state file was lost or replaced.
    cause: The answer was large, and its caller had stored as much within a day as ‹limits.storedBytesPerDay› allows.
    fix: Read what happened with ‹GET /v4/events›.
    fix: Start the service with the key of its state. For something new, use a new key.`,
  no_such_path: `No operation has this path. The sentence names the base URL of the service, which helps if the address is off by a prefix.
    cause: The version is missing or not offered: most operations are below ‹/v4›.
    cause: The service is mounted below a path, and ‹baseUrl› does not name it.
    cause: It is a control below ‹/_sandbox/›, and the service was created without ‹sandbox: true›.
    fix: Compare the path with ‹GET /v4/openapi.json›.
    fix: Create the service with the address that callers use: ‹createService({ baseUrl })› or ‹--base-url›.`,
  not_found: `Nothing with this id exists for you. Something that belongs to another user gets the same answer, so that ids reveal nothing.
    cause: The id or the hash is wrong, or of another kind: a hostname in place of a hash.
    cause: It belongs to another account or user.
    cause: It was deleted, or the sandbox was reset since you read the id.
    fix: Look for it in the list of its kind, such as ‹GET /v4/twins›, ‹GET /v4/commodities› or ‹GET /v4/payments›, with the same token.
    fix: If an error of a cart names a ‹line›, the item of that line is gone: remove the line with ‹DELETE /v4/carts/{id}/items/{line}›.`,
  method_not_allowed: `The path exists, and this method does not.
    cause: The call uses ‹PATCH› or ‹PUT› where the operation is a ‹POST›.
    cause: A redirect or a proxy turned a ‹POST› into a ‹GET›.
    fix: Use a method of the ‹Allow› response header.`,
  session_conflict: `The cookie and the header name two sessions, and the service does not guess which one you mean.
    cause: A page of the service sends an old ‹X-Session-ID›, and the browser adds the newer cookie.
    fix: Send only one of them. After a sign-in, use the id of the latest ‹X-Session-ID› response header.`,
  wrong_principal: `The credential is valid, but the operation is for another kind of caller.
    cause: An account calls what only a user may do, such as to approve something, or the other way round.
    cause: An agent calls what only its user may do.
    cause: A session that was made for one page calls an operation that takes only whole sessions.
    cause: A program creates client credentials with older ones than the newest.
    fix: Look up ‹security› of the operation in ‹GET /v4/openapi.json›. The sentence says where such tokens come from.`,
  not_an_account: `Only accounts may do this, such as to sell or to validate. The token belongs to a user or to an app.
    cause: A program for payers and one for sellers share a token by mistake.
    cause: The token came from ‹POST /v4/user/oauth/token›.
    fix: Get a token with the account's client credentials: ‹POST /v4/account/oauth/token›.`,
  cross_site: `The browser added the session cookie to a change that a page of another origin asks for. The service ignores such requests, so that no site acts for its visitors.
    cause: Your page is on another origin than the service and relies on the cookie.
    cause: Your page is at ‹localhost› and the service at ‹127.0.0.1›, or the other way round. These are two origins.
    cause: A script sends the cookie without ‹Origin› and ‹Sec-Fetch-Site›, which every browser sends.
    fix: Send the session as ‹X-Session-ID›. Other sites cannot set this header for their visitors.
    fix: On your machine, open the page under the same name as the service: ‹localhost› or ‹127.0.0.1› for both.`,
  origin_refused: `The browser page that calls is not one that this service trusts for this call.
    cause: A sandbox that listens on the network got a call from a page that is not on this machine.
    cause: An app in a browser calls an MCP server from an origin of which it registered no redirect URI.
    fix: Start the sandbox with ‹--allow-origin <origin>›, or ‹createService({ allowOrigins: [origin] })›.
    fix: For MCP, register a redirect URI of the page: ‹POST /v4/oidc/reg›.`,
  sandbox_refused: `The controls below ‹/_sandbox/› move value and read mail, so only this machine may use them.
    cause: The call comes from another machine, a container, or through a proxy or tunnel.
    cause: The base URL or an allowed host is not a name of this machine. Then a tunnel may lead here, and everybody needs the token.
    cause: A page of another origin calls a control.
    cause: The request has the header ‹X-Sandbox-Fault›, which only who may use the controls may send.
    fix: Send the control token as ‹X-Control-Token›. The sandbox prints it at start.
    fix: Set your own: ‹--control-token <token>› or ‹createService({ controlToken })›.`,
  host_refused: `A sandbox answers only for hosts that it knows, so that a web page cannot reach it under a name of its own (DNS rebinding).
    cause: The service is called by a name such as ‹farthing.test›, or by the name of its container.
    cause: A tunnel or proxy passes its own host on.
    fix: Start it with ‹--allow-host <host>›, or ‹createService({ allowHosts: [host] })›.
    fix: Or name the address that callers use: ‹--base-url <url>›.`,
  evidence_refused: `This service runs in a strict mode, which shows only what the live service is known to have. The operation or the field is known less well, or is farthing's own.
    cause: The client uses something that farthing designed itself.
    cause: It sends ‹Idempotency-Key›, which the live service does not document.
    fix: Leave out what the sentence names: the live service may not have it.
    fix: To use everything, create the service without ‹evidence›, or with ‹evidence: "designed"›.
    fix: ‹x-evidence› in ‹GET /v4/openapi.json› shows the grade of each operation and field.`,
  overloaded: `More requests wait than the service can answer soon, so it turned this one away. Nothing was changed.
    cause: More callers send requests at the same time than the service can answer.
    cause: A disk or a database is slow, so that requests wait longer than usual.
    cause: A test sends more than ‹limits.queue› requests at once.
    cause: The bodies of all requests take more than ‹limits.bodiesBytes› bytes, and this one is the oldest that still arrives.
    fix: Repeat the request after ‹Retry-After› seconds, with the same Idempotency-Key. ‹farthing/client› does so itself.
    fix: Send fewer requests at once, or let more of them wait: ‹createService({ limits: { queue: 5000 } })›.`,
  not_ready: `Requests should go to another process now. This is an answer of the check ‹GET /readyz› only.
    cause: The service is starting, or its state is being migrated.
    cause: Its storage stores nothing.
    cause: As many requests wait as may.
    fix: Ask again after ‹Retry-After› seconds. The sentence of the error names the reason.`,
  internal_error: `The service failed in a way that it does not expect. The transaction was undone, so nothing was changed.
    cause: A port that you passed, such as ‹mailer›, ‹clock› or ‹storage›, threw an error.
    cause: A defect of farthing.
    fix: Read the log: ‹createService({ log: { error(text, cause) {} } })› gets the cause. Answers never show it.
    fix: Repeat the call with the same ‹Idempotency-Key›.`,
  outcome_unknown: `The service failed after it may have changed something, so it cannot say whether the request succeeded.
    cause: The storage lost the connection while it stored the change.
    cause: The process was stopped between two steps of the operation.
    fix: If you sent an ‹Idempotency-Key›, repeat the same request with the same key. Nothing happens twice.
    fix: Without a key, look at ‹GET /v4/events› before you repeat it.`,
  not_loaded: `The service loads its parts when they are first called, and this part did not arrive. Nothing was changed.
    cause: A browser lost its connection before it had loaded the part.
    cause: A new release was deployed, and the files of the old one are gone.
    cause: A service worker loads modules on demand. Browsers do not let it import them later.
    fix: Repeat the call once the connection is back. The service then tries to load the part again.
    fix: Reload the page after a new release.
    fix: Bundle a service worker into one file, without code splitting.`,
  not_bundled: `A bundle holds only the parts that it was given, so that it stays small. This one was not given the part ‹part›.
    cause: The service was created by ‹createService› of ‹farthing/slim›, or with an option ‹parts› that leaves it out.
    fix: Import the part from ‹farthing/parts›, and name it in the option: ‹createService({ parts: [csv] })›.
    fix: Use ‹createService› of ‹farthing› or ‹farthing/core›, which have every part.`,
  too_many_hops: `The call came through three upstream services that each bought something, and stops here. Nothing was charged.
    cause: An item sells itself: its endpoint buys the same item again.
    cause: The ‹Via› header of an incoming request was copied to the outgoing one.
    fix: Let the endpoint of the item fulfil the purchase itself.`,
  too_many_webhooks: `An account has at most 20 webhooks. No webhook was created.
    cause: A program creates a webhook each time that it starts.
    cause: One webhook for each type of event, where one with several patterns is enough.
    fix: List them with ‹GET /v4/webhooks›, and delete those that you do not need: ‹DELETE /v4/webhooks/{id}›.
    fix: Give one webhook several ‹events›, such as ‹["payment.*", "purchase.*"]›.`,
  webhook_disabled: `A disabled webhook gets nothing, not even tests. Nothing was sent.
    cause: It did not accept an event for three days.
    cause: It answered 410 Gone.
    cause: Its account disabled it.
    fix: Read ‹disabled_reason› in ‹GET /v4/webhooks/{id}›, and the tries in ‹GET /v4/webhooks/{id}/deliveries›.
    fix: Enable it: ‹PUT /v4/webhooks/{id}› with ‹{"status": "enabled"}›.`,
  too_many_streams: `An account or a user has at most 50 streams open at once in one process, fewer while many others have some: streams of events, and subscriptions of its agents. No stream was opened.
    cause: A program opens a new stream of ‹GET /v4/events› without closing the last one.
    cause: Many tabs or agents of one user follow the same events.
    cause: Users that an account created, and whose addresses are not proven, count against that account.
    fix: Close a stream that you do not need. Each ends by itself after 10 minutes.
    fix: Follow the events once, and pass them on. Or let a webhook deliver them: ‹POST /v4/webhooks›.`,
  upstream_refused: `The service may not call this URL. The rule protects the network in which the service runs.
    cause: The host is private, such as ‹10.0.0.5› or ‹db.internal›, and the service is reachable by others.
    cause: The scheme is ‹http›. Services that are no sandbox call ‹https› only.
    cause: The URL has a user name, or leads to a cloud metadata service. Those are always refused.
    fix: In a sandbox, start it with ‹--allow-upstream <host or CIDR>›, or ‹createService({ allowUpstream: [host] })›.
    fix: Send credentials as a dispatch parameter instead of in the URL.`,
  too_many_new: `One owner may create only so many things of a kind within a day, 20,000 unless ‹limits.newPerDay› says otherwise, so that no account fills the storage of all. An owner who has made the service store 1 GiB of large answers within a day, ‹limits.storedBytesPerDay›, pays no more carts and links until it is over. What an unproven user creates counts for the account that created the user.
    cause: A test creates things in a loop that does not end.
    cause: A load test creates more than a service lets one owner create.
    fix: Wait as long as ‹Retry-After› says, or move the clock of the sandbox.
    fix: In your own service, set the limit: ‹createService({ limits: { newPerDay: 1_000_000 } })›.`,
  too_many_mails: `A person got five messages of this kind within 15 minutes. No further one was sent, and what should have been announced did not happen.
    cause: Invitations to one address come from a loop.
    cause: One page or program asked one user five times without an approval.
    cause: Tests share one user.
    fix: Wait as long as ‹Retry-After› says, then repeat the call.
    fix: In tests, use a user for each test, or advance the clock of the sandbox by 15 minutes.`,
  already_exists: `The seed contains something that is there already. Nothing of the seed was created.
    cause: The same seed was planted twice.
    cause: Two parts of a seed use one hostname, client id or ‹public_secret›.
    fix: Call ‹POST /_sandbox/reset› before, or create a new service for each test.
    fix: Leave out fixed ids, so that each seed gets its own.`,
  snapshot_invalid: `The document is not a state of farthing. Nothing was changed.
    cause: Another JSON file was sent.
    cause: The file was cut, or edited so that a list is missing.
    fix: Send what ‹GET /_sandbox/snapshot› or ‹farthing export› returned, unchanged.`,
  snapshot_newer: `A newer farthing wrote the snapshot, and this one does not know its shapes. Nothing was changed.
    cause: The snapshot was made with a later version, for example on another machine.
    fix: Update: ‹npm install farthing@latest›.`,
  snapshot_refused: `The snapshot was read, and its rows contradict each other, so the service could not go on from it. ‹collection› and ‹id› name the first wrong row. Nothing was changed.
    cause: The file was edited by hand: a row refers to another that is missing.
    cause: A balance does not equal the sum of its entries.
    fix: Export it again from a data file that ‹farthing verify FILE› finds sound: ‹farthing export›.
    fix: Make the state with a seed instead of editing a snapshot.`,
  rewind_refused: `The sandbox was asked to return to an earlier state, and it cannot. Nothing was changed.
    cause: Too much was stored since that request: a sandbox remembers what its commits replaced up to 64 MiB.
    cause: Another tab that shares the IndexedDB of this service has written since that request.
    cause: Many processes share the storage, and none may take the state back under the others.
    fix: Save a snapshot at places to return to: ‹POST /_sandbox/snapshots›. Then rewind to its name.
    fix: Choose a later request.
    fix: Where many processes share the storage, work in a fork: ‹POST /_sandbox/forks›.`,
  sandbox_full: `A sandbox keeps at most 100 named snapshots and 1,000 forks over HTTP. Nothing was created.
    cause: Your tests save snapshots or create forks, and never remove them.
    fix: Remove what you no longer need: ‹DELETE /_sandbox/snapshots/{name}›, ‹DELETE /_sandbox/forks/{id}›.
    fix: In JavaScript, ‹service.sandbox.fork()› has no limit. Close each fork after its test.`,
  not_replayable: `An entry of the journal cannot be repeated or exported. Nothing was sent. ‹field› names the part of the entry that is the reason, and ‹id› the entry of a range.
    cause: The journal cut a body at 16 KiB, or keeps none, because it was neither JSON nor a form.
    cause: The request held a secret that cannot be made anew, such as a refresh token or the client secret of an account that was not seeded.
    cause: The entry is a timer or a delivery, its request has no answer yet, or it was refused because of the place that it came from.
    cause: A test would need what it cannot begin with: a state that is forgotten or too large, or a fault, a refresh token or an Idempotency-Key from before.
    fix: Send the request yourself: the entry has its method, path, headers and body.
    fix: Seed the accounts of your tests, so that the sandbox knows their client secrets.
    fix: If ‹field› is ‹response.body›, replay with ‹diff: false›.
    fix: Let the range of a test begin earlier, or leave requests out with a filter.`,
} as const
