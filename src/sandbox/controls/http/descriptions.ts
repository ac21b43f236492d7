import type { TextsOf } from '../../../http/openapi/texts.js'
import type { faultRoutes, journalRoutes, replayRoutes } from '../journal/routes.js'
import type { forkRoutes, snapshotRoutes } from '../snapshots/routes.js'
import type { controlRoutes, metricsRoutes, peopleRoutes } from './routes.js'

export { dataTexts, rehearsalTexts, walletTexts } from '../data/descriptions.js'

export const controlTexts: TextsOf<typeof controlRoutes> = {
  operations: {
    readHealth: 'Anybody may call this.',
    resetSandbox:
      'Everything that was stored since the seed is lost. The journal stays, unless `clear_journal` says otherwise. A retry resets again.',
    seedSandbox: 'Names refer to what exists or is created with them. A retry gets `already_exists`.',
    listDeadLetters: 'It changes nothing.',
    retryDeadLetter: 'The work runs in the background.',
    readSnapshot: 'It works with every storage and runtime.',
    restoreSnapshot: 'Everything that was stored is replaced. A retry changes nothing more.',
    fundTwin:
      'The issuer of the digital quantity pays. A retry issues again. Send the `hostname` of a twin, the `email` of a person, or an `address` of x402 and MPP. The twin of a person or an address is made if it is missing.',
    importBinder:
      'The body is the CSV that the binder of a twin answers, newest row first. A wrong row is refused by its line and ' +
      'column, and nothing is imported. A retry of an import that succeeded gets `binder_refused`.',
    readClock: 'It changes nothing.',
    readDueWork:
      "Work of the service's own housekeeping is left out. Set the clock to `at`, and it runs before the answer.",
    updateClock: 'Timers that fall due run in order, before the answer. A retry of `advance` advances again.',
    readOutbox: 'It changes nothing.',
    emptyOutbox: 'A retry changes nothing more.',
    readTestValues: 'It changes nothing.',
    auditLedger: 'It changes nothing.',
    readCoverage: 'It changes nothing. Refused calls count too. The counts are not part of the state.',
    forgetEncryptionKey:
      'Dispatch values then show `value_set: false`, and stored answers and mails are lost. Secrets that are derived from the key change too. A retry forgets the new key.',
    rotateOidcKeys: 'New tokens are signed with the new key. A retry rotates again.',
  },
  fields: {
    ok: 'Whether all is well.',
    version: 'The version of farthing.',
    storage: 'The kind of storage.',
    clock: 'The clock.',
    evidence: 'The weakest evidence grade that the service accepts.',
    processes: 'The processes that share the storage, the one that answers first. Absent if the storage is not shared.',
    clear_journal: 'Whether the journal is emptied too, with the entry of this request. Default: false.',
    dq: 'The digital quantity: its shortcode or hash in requests, its hash in answers. Default: the first one.',
    account: 'The name of an account.',
    user: 'The email address of a user.',
    twin: 'The primary twin.',
    accounts: 'The accounts.',
    users: 'The users.',
    twins: 'Further twins.',
    commodities: 'The commodities.',
    items: 'The catalog items.',
    wallets: 'Addresses of x402 and MPP that pay from the twins of accounts and users. `balance` is issued in USDC.',
    private_key: 'A test key, which is not stored. Default: one that is derived, and that the answer has.',
    faults: 'The faults to arm. Each start and each reset arms those of its seed again.',
    businessName: 'The name that buyers see.',
    email_verified: 'Whether the user has proven their address. Default: true.',
    decimals: 'How many decimals an amount may have, from 0 to 9.',
    payback: 'Whether it pays its users, once each.',
    balance: 'What the twin holds, in the digital quantity.',
    dead_letters: 'The work.',
    subject: 'What it is about.',
    parked_at: 'When it was given up, in Unix seconds.',
    kind: 'The kind.',
    key: 'Whether to include the key of the sandbox. Default: true.',
    next: 'The first work that waits. Null if none does.',
    'next.at': 'When it is due, in ISO 8601.',
    'next.kind': 'What happens, such as `approval_expires`, or `delivery` for a message that is tried again.',
    'next.subject': 'The id of what it is about.',
    advance: 'How far to advance, such as `90s`, `15m` or `2d`, or in seconds.',
    set: 'The time to set, in Unix seconds or ISO 8601.',
    mode: '`manual`: the clock stands still until it is advanced. `real`: it runs.',
    to: 'Only messages to this email address or hostname.',
    messages: 'The messages, newest first.',
    'messages.to': 'To whom.',
    'messages.status': 'Whether it has left.',
    'messages.subject': 'The subject.',
    'messages.data': 'What else a program may need.',
    text: 'The text.',
    codes: 'The codes in the text.',
    links: 'The links in the text.',
    payment_methods: 'Payment methods for tests.',
    emails: 'Patterns of email addresses for tests.',
    note: 'What else to know.',
    value: 'The value to send.',
    does: 'What it does.',
    'payment_methods.status': 'How a charge ends.',
    reason: 'Why a charge is declined.',
    saves: 'True if it can be saved as the card on file, although charges fail.',
    after_seconds: 'How many seconds a charge takes.',
    broken: 'The first broken rule. Null: none is broken.',
    'broken.rule': 'The rule.',
    'broken.rows': 'The rows that break it.',
    'digital_quantities.issued': 'How much was issued.',
    'digital_quantities.balances': 'What twins hold.',
    'digital_quantities.held': 'What is held.',
    movements: 'How many movements the ledger has.',
    called: 'How many operations were called.',
    operations: 'The operations.',
    operation_id: 'Its id.',
    method: 'Its method.',
    path: 'Its path, without the version.',
    'operations.evidence': 'Its evidence grade, in its newest version.',
    calls: 'How often it was called.',
    versions: 'Its versions.',
    'operations.versions.version': 'The version.',
    'operations.versions.evidence': 'Its evidence grade.',
    kids: 'The ids of the published keys, the current one first.',
    rows: 'How many rows the file has.',
    delegates: 'How many of the rows are delegates, which move no value.',
    stand_ins: 'How many twins were created for counterparts that the service did not know.',
    'importBinder.digital_quantities.decimals': 'How many decimals an amount may have.',
    'importBinder.digital_quantities.is_new': 'Whether only the file names it, so that it was created.',
    'importBinder.digital_quantities.opening': 'What the issuer issued to the twin before the oldest row.',
    'importBinder.digital_quantities.balance': 'What the twin holds after the newest row.',
    'retryDeadLetter.id': 'The id of the work.',
    'fundTwin.email': 'The email address of a person.',
    'fundTwin.address': 'An address of x402 and MPP.',
    'fundTwin.dq':
      'The hash of the digital quantity. Default: that of the twin, or of the first twin of the person; of an address, USDC.',
    'fundTwin.balance': 'What the twin holds now, in the digital quantity.',
  },
  components: {
    Clock: { is: "The service's clock.", now: 'The time, in ISO 8601 with milliseconds.' },
    SeededTwin: { is: 'A twin that was created by a seed.', key: 'The secret key of the twin.' },
    Snapshot: {
      is: 'The whole state of a sandbox.',
      schema: 'The number of the schema of all rows.',
      counters: 'The last id of each collection.',
      rows: 'The rows of each collection.',
    },
  },
}

export const journalTexts: TextsOf<typeof journalRoutes> = {
  operations: {
    listRequests:
      'Every request, timer and delivery is an entry. The journal keeps the last ones in memory, without secrets, and is no part of the state. Requests that read the journal have no entry.',
    readRequest: 'An entry of a running request has no `status` yet.',
    explainRequest:
      'It changes nothing. The facts are those of the moment of the request, as far as the history of the state reaches, and those of now for an older one. It shows no secrets, except codes that the outbox shows too.',
    clearRequests: 'The state stays as it is.',
  },
  fields: {
    as: 'Writes entries for another tool: as `curl` commands, as an `http` file of REST clients, as a `har`, or as a whole test file for `vitest`. A list needs `from` and `to`, and takes the entries between them that match. Secrets become variables.',
    from: 'The id of the first entry to write.',
    to: 'The id of the last entry to write.',
    requests: 'The entries, newest first.',
    dropped: 'How many entries the journal has forgotten because it was full.',
    operation_id: 'The operation, such as `createPayment`. For a timer or a delivery, its kind.',
    status: 'The HTTP status of the answer.',
    principal: 'Who called, such as `account:1` or `user:2`.',
    q: 'A text in the path, a body, the code or the id.',
    trace: 'The W3C trace id of the request, from its header `traceparent`.',
    id: 'The id of the entry: the `X-Request-ID` of the answer.',
    next: 'The `after` of the next page. Null at the end.',
    after: 'The id of the last entry of the page before.',
    limit: 'How many entries to return.',
  },
  components: {
    JournalMessage: {
      is: 'One side of an exchange, without its secrets.',
      headers: 'The headers.',
      body: 'JSON or form fields as text. Null if there are none, and for pages, files and streams.',
      cut: 'Whether the body is cut at 16 KiB.',
    },
    ExampleCall: {
      is: 'A call that can be sent, but for credentials and secrets.',
      method: 'The method.',
      path: 'The path with its query, below the base URL.',
      as: 'Whose credentials to send, such as `account:1`. Absent if the call needs none.',
      headers: 'More headers to send.',
      body: 'The body: JSON, or text for other media types. `[redacted]` is the body that was sent, which the journal does not keep.',
    },
    Explanation: {
      is: 'Why the service answered as it did.',
      entry: 'The entry of the journal.',
      verdict: 'One sentence: what the answer was.',
      sentences: 'What was so at that moment, and what to do.',
      facts: 'The same as data.',
      fix: 'The call that makes the request succeed. Null if no call does.',
      'fix.operation_id': 'The operation that `example` calls.',
      'fix.example': 'The call.',
      'fix.between': 'What to send between `example` and `next`, if two calls fix it. Absent if one does.',
      'fix.next':
        'What to send after it. `{name}` stands for a field of the answer to `example`. Null if `example` replaces the request.',
      docs: 'The page about the error code.',
    },
    JournalEntry: {
      is: 'A request, a timer or a delivery, and what it caused.',
      id: 'The id: the `X-Request-ID` of the answer.',
      at: 'When it began, by the clock of the service. ISO 8601.',
      ms: 'How long it took, in milliseconds. Null while it runs.',
      origin: 'Where it comes from.',
      operation_id: 'The operation. For a timer or a delivery, its kind. Null for an unknown path.',
      method: 'The method.',
      path: 'The path with its query.',
      status: 'The status of the answer. Null while it runs, and for timers and deliveries.',
      code: 'The code of the refusal.',
      principal: 'Who called. Null for calls without credentials.',
      client_address: 'The address that called, if the call came over a network.',
      request: 'The request.',
      response: 'The answer.',
      storage: 'How much it asked of the storage.',
      'storage.transactions': 'How many transactions.',
      'storage.reads': 'How many reads.',
      'storage.writes': 'How many rows it put or removed.',
      'storage.retries': 'How often a transaction ran again.',
      caused: 'What it caused, each with its kind and id.',
      'caused.kind': 'What kind of effect it is.',
      'caused.id': 'The id of the effect. For an upstream call, its method and URL.',
      caused_by: 'The entry that this one follows from.',
      trace: 'The W3C trace id.',
      fault: 'The fault that changed it.',
    },
  },
}

const fields = {
  id: 'Its id. Default: `fault_1` and so on.',
  match: 'What it happens to.',
  at: '`before` the handler or the call; `after_commit`, when it has changed what it changes; or `mid_body`, while the answer leaves.',
  do: 'What happens.',
  times: 'How often it happens. Default: always.',
  every: 'Only every nth match: 3 matches the third, the sixth and so on.',
  probability: 'How likely it is, from 0 to 1. Default: 1.',
  seed: 'Draws the probability in the same way each time. Default: the number of the fault.',
  until: "When it ends, by the service's clock: Unix seconds or ISO 8601.",
}

export const faultTexts: TextsOf<typeof faultRoutes> = {
  operations: {
    listFaults: 'It changes nothing.',
    armFault: 'Faults never happen to the controls. A retry arms another one, or gets `already_exists` for its id.',
    clearFaults: 'A retry changes nothing more.',
    disarmFault: 'A retry gets `not_found`.',
  },
  fields: { faults: 'The faults, in the order in which they were armed.' },
  components: {
    Fault: { is: 'A failure of requests, or of calls of a port, that a test makes on purpose.', ...fields },
    ArmedFault: { is: 'A fault that is armed.', ...fields, fired: 'How often it has happened.' },
    FaultMatch: {
      is: 'What a fault happens to. Empty: every request.',
      operation_id: 'Only requests of this operation.',
      method: 'Only requests with this method, or calls with it if `port` is `upstream` or `webhook`.',
      path: 'Only requests with this path below the base URL, or calls of it. `*` stands for any characters.',
      principal: 'Only requests of this caller: `account:1`, `user:2`.',
      port: 'Calls of this port, instead of requests.',
    },
    FaultAction: {
      is: 'What a fault does: exactly one of these fields, and `body` and `retry_after` with `status`.',
      status: 'Answers with this status.',
      body: 'The body for `status`: JSON, or a text.',
      retry_after: 'The header `Retry-After` of the answer with `status`, in whole seconds.',
      delay_ms: 'Waits for this many milliseconds.',
      drop: 'Closes the connection without an answer. In the middle of a body: after half of it.',
      duplicate: 'Does the same once more, and answers with the second answer.',
      truncate: 'Sends this many bytes of the body, then closes the connection.',
      drip: 'Sends this many bytes of the body a second.',
      raise_price: 'Raises the price of what a payment is for by this many percent, before it. The price stays.',
      x402: 'Lets a payment by x402 settle, and answers something else than what happened, or changes what a 402 offers. The guide "Hostile payments" has the modes.',
      error: 'The code with which a call of a port fails, such as `ENOSPC` for the storage.',
    },
  },
}

export const snapshotTexts: TextsOf<typeof snapshotRoutes> = {
  operations: {
    saveNamedState: 'The process keeps at most 100, until it ends. A retry gets `already_exists`.',
    listNamedStates: 'It changes nothing.',
    exportNamedState: 'Any sandbox can restore it. It contains the key of the sandbox.',
    removeNamedState: 'The state stays as it is. A retry gets `not_found`.',
    compareNamedStates: 'It changes nothing. Secrets are left out.',
    rewindSandbox:
      'What was stored since then is lost, and numbers that were used stay used. A retry returns to the same state.',
  },
  fields: {
    name: 'The name of the snapshot.',
    a: 'The name of the first snapshot.',
    b: 'The name of the second snapshot.',
    note: 'What it is for.',
    snapshots: 'The snapshots.',
    counters: 'The last id of each collection.',
    schema: 'The number of the schema of all rows.',
    rows: 'The rows, by collection.',
    'rows.added': 'Rows that only the second has.',
    'rows.removed': 'Rows that only the first has.',
    'rows.changed': 'Rows that both have, with both versions.',
    'rows.more': 'How many more rows differ than are shown.',
    was: 'In the first.',
    is: 'In the second.',
    balances: 'The balances that differ.',
    dq: 'The hash of the digital quantity.',
    to: 'The name of a snapshot, or the `X-Request-ID` of an answer.',
  },
  components: {
    NamedSnapshot: {
      is: 'A named snapshot of a sandbox.',
      at: "When it was saved, by the service's clock, in ISO 8601.",
      rows: 'How many rows it has.',
    },
  },
}

export const peopleTexts: TextsOf<typeof peopleRoutes> = {
  operations: {
    signInAsUser:
      'For a test that needs a session and not the way to it. Nobody gets a mail or a push. An unknown email creates a proven user, like the first code that is entered.',
    setPhone: 'It plays the phone of a user from now on. Pending requests are answered too.',
    readPhone: 'It changes nothing.',
    approveOnPhone: 'It plays the phone of a user. Without a body, it answers all pending requests.',
    rejectOnPhone: 'It plays the phone of a user. Without a body, it answers all pending requests.',
    approveAsUser: 'It plays the user. The approval must be pending.',
    rejectAsUser: 'It plays the user. The approval must be pending.',
  },
  fields: {
    headers: 'The headers that identify the session.',
    'headers.x-session-id': 'The id of the session.',
    mode: 'How the phone answers. `manual`: only when it is told to. `ignore`: never.',
    after_seconds: 'How many seconds it waits before it answers.',
    has_device: 'Whether the user has a device.',
    requests: 'The pending authentication requests.',
    id: 'The id of the approval.',
  },
  components: {
    PhoneRequest: { is: 'Which request to answer.', id: 'The id of the request. Absent: all that are pending.' },
    AnsweredRequests: { is: 'The answered requests.', requests: 'The requests as they are now.' },
  },
}

export const forkTexts: TextsOf<typeof forkRoutes> = {
  operations: {
    createFork: 'What happens in the fork never shows here. At most 1,000 at a time. A retry creates another.',
    forkSandbox: 'It does what `createFork` does. A retry creates another.',
    listForks: 'It changes nothing.',
    removeFork: 'Its requests in progress end first. A retry gets `not_found`.',
  },
  fields: { forks: 'The forks.', id: 'The id of the fork.' },
  components: {
    Fork: {
      is: 'A fork of a sandbox.',
      id: 'Its id.',
      url: 'Its base URL. `<url>/v4/dq` lists its digital quantities.',
    },
  },
}

export const replayTexts: TextsOf<typeof replayRoutes> = {
  operations: {
    replayRequest:
      'With `in: "place"`, everything happens once more, purchases too. An Idempotency-Key is replaced. A retry replays again.',
  },
  fields: {
    id: 'The id of the entry: the `X-Request-ID` of the answer.',
    in: 'Where: in a `fork`, which changes nothing here, or in `place`.',
    diff: 'Whether to compare the answers. Default: true.',
    strict: 'Whether to show every difference, of ids and times too. Default: false.',
  },
  components: {
    Replay: {
      is: 'A repeated request, and how it differs from the first.',
      entry: 'The entry of the repetition.',
      state: 'The state that it ran on: `now`, or the one `before` the first request.',
      diff: 'What differs in the answer. Absent without `diff`.',
      'diff.path': 'The part of the answer, such as `body.balance`.',
      'diff.was': 'The value in the first answer. Null: absent.',
      'diff.is': 'The value now. Null: absent.',
      ignored: 'Parts that differ in every repetition, such as ids and times. Absent without `diff`.',
      effects: 'What both requests caused.',
    },
    ComparedEffects: {
      is: 'What a request and its repetition caused.',
      same: 'Whether both caused the same.',
      counts: 'How often each caused effects of a kind.',
      'counts.kind': 'The kind of the effects.',
      'counts.was': 'How many the first request caused.',
      'counts.is': 'How many the repetition caused.',
      movements: 'The movements in the ledger.',
      'movements.was': 'Those of the first request. Null if the state no longer has them.',
      'movements.is': 'Those of the repetition.',
    },
    CausedMovement: {
      is: 'A movement that a request caused.',
      kind: 'Why value moved.',
      amount: 'The amount.',
      dq: 'The digital quantity.',
    },
  },
}

export const metricsTexts: TextsOf<typeof metricsRoutes> = {
  operations: {
    readMetrics:
      'Counts are of this process since its start, whatever other processes do. It answers before the start has ended, and while the storage does not: then what waits in the storage is left out. It changes nothing, and may start an audit of the ledger in the background.',
  },
  fields: {},
}
