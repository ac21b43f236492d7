import type { ErrorTexts } from './error-text.js'

/** The service itself: failures, storage, evidence modes, and the controls of a sandbox. */
export const serviceErrors = {
  too_many_webhooks: {
    meaning: 'An account has at most 20 webhooks. No webhook was created.',
    causes: [
      'A program creates a webhook each time that it starts.',
      'One webhook for each type of event, where one with several patterns is enough.',
    ],
    fixes: [
      'List them with `GET /v4/webhooks`, and delete those that you do not need: `DELETE /v4/webhooks/{id}`.',
      'Give one webhook several `events`, such as `["payment.*", "purchase.*"]`.',
    ],
  },
  too_many_streams: {
    meaning:
      'An account or a user has at most 50 streams open at once in one process, fewer while many others have some: streams of events, and subscriptions of its agents. No stream was opened.',
    causes: [
      'A program opens a new stream of `GET /v4/events` without closing the last one.',
      'Many tabs or agents of one user follow the same events.',
      'Users that an account created, and whose addresses are not proven, count against that account.',
    ],
    fixes: [
      'Close a stream that you do not need. Each ends by itself after 10 minutes.',
      'Follow the events once, and pass them on. Or let a webhook deliver them: `POST /v4/webhooks`.',
    ],
  },
  webhook_disabled: {
    meaning: 'A disabled webhook gets nothing, not even tests. Nothing was sent.',
    causes: ['It did not accept an event for three days.', 'It answered 410 Gone.', 'Its account disabled it.'],
    fixes: [
      'Read `disabled_reason` in `GET /v4/webhooks/{id}`, and the tries in `GET /v4/webhooks/{id}/deliveries`.',
      'Enable it: `PUT /v4/webhooks/{id}` with `{"status": "enabled"}`.',
    ],
  },
  internal_error: {
    meaning: 'The service failed in a way that it does not expect. The transaction was undone, so nothing was changed.',
    causes: [
      'A port that you passed, such as `mailer`, `clock` or `storage`, threw an error.',
      'A defect of farthing.',
    ],
    fixes: [
      'Read the log: `createService({ log: { error(text, cause) {} } })` gets the cause. Answers never show it.',
      'Repeat the call with the same `Idempotency-Key`.',
    ],
  },
  outcome_unknown: {
    meaning: 'The service failed after it may have changed something, so it cannot say whether the request succeeded.',
    causes: [
      'The storage lost the connection while it stored the change.',
      'The process was stopped between two steps of the operation.',
    ],
    fixes: [
      'If you sent an `Idempotency-Key`, repeat the same request with the same key. Nothing happens twice.',
      'Without a key, look at `GET /v4/events` before you repeat it.',
    ],
  },
  not_loaded: {
    meaning:
      'The service loads its parts when they are first called, and this part did not arrive. Nothing was changed.',
    causes: [
      'A browser lost its connection before it had loaded the part.',
      'A new release was deployed, and the files of the old one are gone.',
      'A service worker loads modules on demand. Browsers do not let it import them later.',
    ],
    fixes: [
      'Repeat the call once the connection is back. The service then tries to load the part again.',
      'Reload the page after a new release.',
      'Bundle a service worker into one file, without code splitting.',
    ],
  },
  not_bundled: {
    meaning:
      'A bundle holds only the parts that it was given, so that it stays small. This one was not given the part `part`.',
    causes: [
      'The service was created by `createService` of `farthing/slim`, or with an option `parts` that leaves it out.',
    ],
    fixes: [
      'Import the part from `farthing/parts`, and name it in the option: `createService({ parts: [csv] })`.',
      'Use `createService` of `farthing` or `farthing/core`, which have every part.',
    ],
  },
  overloaded: {
    meaning: 'More requests wait than the service can answer soon, so it turned this one away. Nothing was changed.',
    causes: [
      'More callers send requests at the same time than the service can answer.',
      'A disk or a database is slow, so that requests wait longer than usual.',
      'A test sends more than `limits.queue` requests at once.',
      'The bodies of all requests take more than `limits.bodiesBytes` bytes, and this one is the oldest that still arrives.',
    ],
    fixes: [
      'Repeat the request after `Retry-After` seconds, with the same Idempotency-Key. `farthing/client` does so itself.',
      'Send fewer requests at once, or let more of them wait: `createService({ limits: { queue: 5000 } })`.',
    ],
  },
  not_ready: {
    meaning: 'Requests should go to another process now. This is an answer of the check `GET /readyz` only.',
    causes: [
      'The service is starting, or its state is being migrated.',
      'Its storage stores nothing.',
      'As many requests wait as may.',
    ],
    fixes: ['Ask again after `Retry-After` seconds. The sentence of the error names the reason.'],
  },
  storage_unavailable: {
    meaning: 'The state cannot be read or stored at the moment. Nothing was changed.',
    causes: [
      'Another process holds the state file, or the disk returned an error.',
      'A newer farthing wrote the state. `schema` has its number.',
      'The browser closed its database, for example because the user cleared the data of the site.',
    ],
    fixes: [
      'Read `GET /_sandbox/health` in a sandbox. It names the fault.',
      'Let one process use a state file, and update farthing if the state is newer.',
      'Repeat the call after `Retry-After` seconds.',
    ],
  },
  storage_full: {
    meaning:
      'The disk or the quota of the browser is full, so no change can be stored. Reads go on. Nothing was changed.',
    causes: ['The disk has no space left.', 'The browser allows this site no more data.'],
    fixes: [
      'Free space, then repeat the call.',
      'Export the state (`GET /_sandbox/snapshot` or `farthing export`), and start over with what you need.',
    ],
  },
  evidence_refused: {
    meaning:
      "This service runs in a strict mode, which shows only what the live service is known to have. The operation or the field is known less well, or is farthing's own.",
    causes: [
      'The client uses something that farthing designed itself.',
      'It sends `Idempotency-Key`, which the live service does not document.',
    ],
    fixes: [
      'Leave out what the sentence names: the live service may not have it.',
      'To use everything, create the service without `evidence`, or with `evidence: "designed"`.',
      '`x-evidence` in `GET /v4/openapi.json` shows the grade of each operation and field.',
    ],
  },
  sandbox_refused: {
    meaning: 'The controls below `/_sandbox/` move value and read mail, so only this machine may use them.',
    causes: [
      'The call comes from another machine, a container, or through a proxy or tunnel.',
      'The base URL or an allowed host is not a name of this machine. Then a tunnel may lead here, and everybody needs the token.',
      'A page of another origin calls a control.',
      'The request has the header `X-Sandbox-Fault`, which only who may use the controls may send.',
    ],
    fixes: [
      'Send the control token as `X-Control-Token`. The sandbox prints it at start.',
      'Set your own: `--control-token <token>` or `createService({ controlToken })`.',
    ],
  },
  host_refused: {
    meaning:
      'A sandbox answers only for hosts that it knows, so that a web page cannot reach it under a name of its own (DNS rebinding).',
    causes: [
      'The service is called by a name such as `farthing.test`, or by the name of its container.',
      'A tunnel or proxy passes its own host on.',
    ],
    fixes: [
      'Start it with `--allow-host <host>`, or `createService({ allowHosts: [host] })`.',
      'Or name the address that callers use: `--base-url <url>`.',
    ],
  },
  already_exists: {
    meaning: 'The seed contains something that is there already. Nothing of the seed was created.',
    causes: ['The same seed was planted twice.', 'Two parts of a seed use one hostname, client id or `public_secret`.'],
    fixes: [
      'Call `POST /_sandbox/reset` before, or create a new service for each test.',
      'Leave out fixed ids, so that each seed gets its own.',
    ],
  },
  snapshot_invalid: {
    meaning: 'The document is not a state of farthing. Nothing was changed.',
    causes: ['Another JSON file was sent.', 'The file was cut, or edited so that a list is missing.'],
    fixes: ['Send what `GET /_sandbox/snapshot` or `farthing export` returned, unchanged.'],
  },
  snapshot_newer: {
    meaning: 'A newer farthing wrote the snapshot, and this one does not know its shapes. Nothing was changed.',
    causes: ['The snapshot was made with a later version, for example on another machine.'],
    fixes: ['Update: `npm install farthing@latest`.'],
  },
  rewind_refused: {
    meaning: 'The sandbox was asked to return to an earlier state, and it cannot. Nothing was changed.',
    causes: [
      'Too much was stored since that request: a sandbox remembers what its commits replaced up to 64 MiB.',
      'Another tab that shares the IndexedDB of this service has written since that request.',
      'Many processes share the storage, and none may take the state back under the others.',
    ],
    fixes: [
      'Save a snapshot at places to return to: `POST /_sandbox/snapshots`. Then rewind to its name.',
      'Choose a later request.',
      'Where many processes share the storage, work in a fork: `POST /_sandbox/forks`.',
    ],
  },
  sandbox_full: {
    meaning: 'A sandbox keeps at most 100 named snapshots and 1,000 forks over HTTP. Nothing was created.',
    causes: ['Your tests save snapshots or create forks, and never remove them.'],
    fixes: [
      'Remove what you no longer need: `DELETE /_sandbox/snapshots/{name}`, `DELETE /_sandbox/forks/{id}`.',
      'In JavaScript, `service.sandbox.fork()` has no limit. Close each fork after its test.',
    ],
  },
  not_replayable: {
    meaning:
      'An entry of the journal cannot be repeated or exported. Nothing was sent. `field` names the part of the entry that is the reason, and `id` the entry of a range.',
    causes: [
      'The journal cut a body at 16 KiB, or keeps none, because it was neither JSON nor a form.',
      'The request held a secret that cannot be made anew, such as a refresh token or the client secret of an account that was not seeded.',
      'The entry is a timer or a delivery, its request has no answer yet, or it was refused because of the place that it came from.',
      'A test would need what it cannot begin with: a state that is forgotten or too large, or a fault, a refresh token or an Idempotency-Key from before.',
    ],
    fixes: [
      'Send the request yourself: the entry has its method, path, headers and body.',
      'Seed the accounts of your tests, so that the sandbox knows their client secrets.',
      'If `field` is `response.body`, replay with `diff: false`.',
      'Let the range of a test begin earlier, or leave requests out with a filter.',
    ],
  },
  snapshot_refused: {
    meaning:
      'The snapshot was read, and its rows contradict each other, so the service could not go on from it. `collection` and `id` name the first wrong row. Nothing was changed.',
    causes: [
      'The file was edited by hand: a row refers to another that is missing.',
      'A balance does not equal the sum of its entries.',
    ],
    fixes: [
      'Export it again from a data file that `farthing verify FILE` finds sound: `farthing export`.',
      'Make the state with a seed instead of editing a snapshot.',
    ],
  },
  too_many_new: {
    meaning:
      'One owner may create only so many things of a kind within a day, 20,000 unless `limits.newPerDay` says otherwise, so that no account fills the storage of all. An owner who has made the service store 1 GiB of large answers within a day, `limits.storedBytesPerDay`, pays no more carts and links until it is over. What an unproven user creates counts for the account that created the user.',
    causes: [
      'A test creates things in a loop that does not end.',
      'A load test creates more than a service lets one owner create.',
    ],
    fixes: [
      'Wait as long as `Retry-After` says, or move the clock of the sandbox.',
      'In your own service, set the limit: `createService({ limits: { newPerDay: 1_000_000 } })`.',
    ],
  },
  binder_invalid: {
    meaning:
      'A line of the CSV is not a line of a binder. Nothing was imported. `line`, `column` and `expected` say where and what.',
    causes: [
      'A spreadsheet changed the numbers, the times or the order of the columns.',
      'A required column is missing.',
      'A row pays into the very twin that it is imported into.',
    ],
    fixes: [
      'Import the file as the live service exported it, in UTF-8.',
      'Correct the named cell, and send the whole file again.',
    ],
  },
  binder_refused: {
    meaning:
      'A binder is imported into a twin without a history, so that its balances are those of the file. This twin cannot take one.',
    causes: [
      'The twin has payments or delegates already, or a binder was imported before.',
      'The twin belongs to no account and to no user.',
    ],
    fixes: ['Create a twin for the binder: `POST /v4/twin`, then `POST /_sandbox/twins/{hostname}/binder`.'],
  },
  import_in_progress: {
    meaning: 'Another import into this twin has not ended.',
    causes: ['The call was repeated.', 'Two programs import into the same twin.'],
    fixes: ['Wait, then read `GET /v4/twin/{hostname}/binder`.'],
  },
  import_ended: {
    meaning: 'The state was replaced while the import ran, so the import cannot say whether its rows are there.',
    causes: ['`POST /_sandbox/reset` or a restored snapshot came in between.', 'Another process took the import over.'],
    fixes: ['Read `GET /v4/twin/{hostname}/binder`, and import again if it is empty.'],
  },
} satisfies ErrorTexts
