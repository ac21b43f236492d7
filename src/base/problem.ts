import type { Evidence } from './evidence.js'
import type { ProblemFields } from './problem-fields.js'

/**
 * Every error the service answers with: `code: [HTTP status, sentence]`.
 * The body is `{error, status, code, docs}`; a problem may add a detail to the sentence, headers and extra fields.
 */
const problems = {
  // 400: malformed, or a field is missing or of the wrong type
  body_malformed: [400, 'The request body does not match its Content-Type. Send valid JSON or a valid form.'],
  path_malformed: [400, 'The path has a percent escape that is not valid UTF-8. Encode the path as UTF-8.'],
  target_malformed: [400, 'The request target must be a path or an http URL of this server.'],
  header_malformed: [400, 'A header is not valid. Correct it and send the request again.'],
  field_invalid: [400, 'A field is missing or has the wrong type.'],
  amount_invalid: [400, 'The amount is not valid for this digital quantity.'],
  idempotency_key_invalid: [400, 'Idempotency-Key must be 1 to 255 printable ASCII characters.'],
  card_data_refused: [
    400,
    'This service does not accept card numbers. Send the `payment_method_id` from the card processor.',
  ],
  dq_unknown: [400, 'No digital quantity has this hash. GET /v4/dq lists all of them.'],
  twin_unknown: [400, 'You have no twin with this id. GET /v4/twins lists your twins.'],
  nonce_unknown: [400, 'No payment for this commodity has this nonce and timestamp.'],
  nonce_used: [400, 'This nonce was already used. A nonce validates once.'],
  nonce_expired: [400, 'This nonce has expired. Validate a payment soon after it was made.'],
  destination_unknown: [400, "The payee is missing. Send the hostname of the payee's twin as `destination`."],
  twin_nonce_refused: [400, 'This nonce is unknown, used, expired, or belongs to another twin. Create a new one.'],
  change_impossible: [400, 'The approved change is no longer possible. Request approval for a new change.'],
  binder_invalid: [400, 'The CSV is not a binder. Nothing was imported.'],
  snapshot_invalid: [400, 'The document is not a snapshot. Nothing was changed.'],
  cursor_invalid: [400, '`after` must be an id from an earlier page of this list.'],
  // 400, by their names in RFC 6749 section 5.2, RFC 7591 section 3.2.2 and RFC 8707 section 2
  invalid_request: [400, 'A parameter is missing, malformed, repeated, or conflicts with another.'],
  invalid_grant: [
    400,
    'The code or refresh token is unknown, used, expired, revoked, or belongs to another client or request.',
  ],
  unauthorized_client: [400, 'This client is not allowed to do this.'],
  unsupported_grant_type: [400, '`grant_type` must be authorization_code or refresh_token.'],
  invalid_scope: [400, 'The scope is unknown, or wider than what the user granted.'],
  invalid_target: [400, '`resource` is not a resource of this service.'],
  invalid_redirect_uri: [400, 'This redirect URI cannot be registered.'],
  invalid_client_metadata: [400, 'This client metadata is not supported.'],
  authorization_answered: [400, 'This authorization was already answered or revoked.'],
  authorization_expired: [400, 'This authorization expired before it was answered. Start the payment again.'],
  card_required: [400, 'A paid plan needs a card. Send its `payment_method_id`.'],
  // 401: who is calling is not known
  invalid_client: [401, 'The client is unknown, or did not use its registered authentication method.'],
  authorization_missing: [401, 'Credentials are missing.'],
  credentials_missing: [
    401,
    'Credentials are missing. Send Authorization with Basic client credentials, or with Bearer and a refresh token.',
  ],
  client_unknown: [401, 'The client id or client secret is wrong, or was revoked.'],
  token_invalid: [401, 'The access token is unknown, expired, revoked, or issued for another purpose. Get a new one.'],
  refresh_token_invalid: [
    401,
    'The refresh token is unknown, used, expired or revoked. Get a new pair with the client credentials.',
  ],
  agent_token_required: [401, 'This operation needs the OIDC access token of an app that a user connected.'],
  bearer_required: [401, 'This operation needs a Bearer access token. Get one with your client credentials.'],
  public_secret_unknown: [401, 'No account has this public_secret.'],
  session_conflict: [401, 'The session_id cookie and the X-Session-ID header name different sessions. Send only one.'],
  sign_in_required: [401, 'This session is not signed in. Request a code with POST /v4/session/code, then verify it.'],
  page_refused: [401, 'This session belongs to a page of another origin. Only that page can use it.'],
  session_required: [
    401,
    'This session never requested a code for this email. Send the X-Session-ID header from the answer of POST /v4/session/code (or keep its session_id cookie), and verify the code in that session.',
  ],
  code_wrong: [401, 'The code is wrong.'],
  // 402
  card_declined: [402, 'The card was declined. Nothing was charged.'],
  insufficient_funds: [402, "The payer's balance is too low."],
  // 403: known, and not permitted
  scheme_refused: [403, 'The Authorization scheme must be Basic or Bearer.'],
  wrong_principal: [403, 'The token is valid, but this operation needs another kind of caller.'],
  not_an_account: [403, 'The token does not belong to an account.'],
  not_owner: [403, 'This belongs to someone else.'],
  rejected: [403, 'The user rejected this. No value was moved.'],
  approval_required: [403, 'The user must approve this first.'],
  approval_not_given: [403, 'The user has not approved this, or not in time.'],
  account_not_granted: [403, 'The user has not granted this agent a business account, or has withdrawn it.'],
  self_approval: [403, 'The session that made this request cannot answer it. Answer from another session or device.'],
  delegate_required: [
    403,
    'This pays for someone else. Send `persona_delegate`, the hash of a spending authority that you have.',
  ],
  delegate_refused: [403, 'This delegate does not allow this payment.'],
  device_refused: [403, 'Only a device that was asked can answer. Send its registration token as X-Device-Token.'],
  cross_site: [403, 'A request from another origin cannot change anything with the session cookie. Send X-Session-ID.'],
  origin_refused: [403, 'Pages of this origin are not allowed to call this.'],
  email_unproven: [
    403,
    'This user has not proven their email address. Request a code with POST /v4/session/code, then verify it with POST /v4/session/verify.',
  ],
  not_invited: [403, 'Only the user with the invited email address can claim this.'],
  account_creation_refused: [403, 'Account creation is disabled on this service.'],
  sandbox_refused: [
    403,
    'The sandbox controls answer only this machine and its pages. From elsewhere, send the control token as `X-Control-Token`. The sandbox prints the token at start, and --control-token sets it.',
  ],
  insufficient_scope: [403, 'The access token lacks the scope for this operation.'],
  plan_limit_reached: [403, "The account's plan does not allow more."],
  // 404
  no_such_path: [404, 'No operation has this path.'],
  not_found: [404, 'Not found.'],
  // 405 to 429
  payment_denied: [408, 'The user denied this payment. No value was moved.'],
  approval_timeout: [408, 'The user did not approve this in time. No value was moved.'],
  method_not_allowed: [405, 'This path does not support this method. The Allow header lists the supported ones.'],
  email_taken: [409, 'A user with this email already exists. Nothing was created.'],
  already_exists: [409, 'This already exists. Nothing was created.'],
  idempotency_in_progress: [409, 'A request with this Idempotency-Key is still in progress. Retry shortly.'],
  idempotency_unreadable: [
    409,
    'This Idempotency-Key was already used, but its answer is not kept or sealed under another encryption key. Nothing was repeated.',
  ],
  transfer_settled: [409, 'The transfer is already settled.'],
  payback_only: [409, 'This commodity pays its reader. Call POST /v4/payback/{hash} instead of paying it.'],
  payback_refused: [
    409,
    'This commodity does not pay its readers. Its seller turns that on with PUT /v4/commodity/{hash}/payback and `enabled: true`, or creates a commodity with `payback: true`.',
  ],
  sold_by_item: [409, 'A catalog item sells this commodity, so it cannot pay its readers. Create another commodity.'],
  payback_taken: [409, 'This commodity has already paid this user. It pays each user once.'],
  item_archived: [409, 'This item is archived. Restore it first.'],
  item_not_archived: [409, 'This item is not archived.'],
  item_inactive: [409, 'This item is not for sale at the moment.'],
  price_changed: [409, 'The price has changed. Nothing was charged. Check the new price and try again.'],
  checkout_paid: [409, 'This checkout was already paid by someone else.'],
  refund_settled: [409, 'This refund is already settled. GET /v4/checkout/refunds lists the open ones.'],
  refund_outcome_refused: [409, 'This refund cannot be settled with this outcome.'],
  checkout_paying: [409, 'A payment of this checkout is in progress. Check again shortly.'],
  approval_spent: [409, 'This approval was already used. An approval is valid once. Request a new one.'],
  approval_mismatch: [
    409,
    'This approval is for something else. It covers exactly what the user saw, at that price. Request a new one.',
  ],
  not_choosable: [409, 'The user belongs to no business account, so there is none to choose.'],
  not_pending: [409, 'This request is no longer pending. It was answered, withdrawn, or has expired.'],
  cart_closed: [409, 'This cart is paid or being paid, so it cannot change. Create a new cart.'],
  cart_paying: [409, 'A payment of this cart is in progress. Read the cart to see the outcome.'],
  card_in_use: [409, 'A paid plan needs its card. Save another card, or change to the free plan first.'],
  invoice_not_open: [409, 'Only an open invoice can be paid.'],
  invoice_unpaid: [409, 'An invoice is unpaid. Pay it first.'],
  charge_pending: [409, 'A card charge has no outcome yet. Check GET /v4/billing/invoices shortly.'],
  too_many_devices: [409, 'The user has the maximum number of devices. Remove one first.'],
  too_many_webhooks: [409, 'The account has 20 webhooks, the maximum. Delete one first.'],
  webhook_disabled: [409, 'This webhook is disabled. Enable it first.'],
  binder_refused: [409, 'This twin cannot take a binder. Nothing was imported.'],
  import_in_progress: [409, 'A binder is being imported into this twin. Wait until it is done.'],
  import_ended: [
    409,
    'Something else ended this import, such as a reset or a restored snapshot. Read the binder of the twin to see whether it has the rows.',
  ],
  rewind_refused: [409, 'The sandbox cannot return to this state. Nothing was changed.'],
  sandbox_full: [409, 'The sandbox holds as many of these as it can. Remove one first.'],
  code_expired: [410, 'The code has expired or was already used. Request a new one.'],
  interaction_expired: [410, 'This page has expired or was already used. Go back to the app and start again.'],
  transfer_expired: [410, 'Nobody claimed this transfer in time. The amount went back to the sender.'],
  link_early: [
    409,
    'This link cannot confirm the change yet. Confirm it on one of your devices, or open the link later.',
  ],
  link_expired: [410, 'This link has expired or was already used.'],
  checkout_expired: [410, 'This checkout link has expired. Any card charge for it is refunded.'],
  host_refused: [421, 'This sandbox does not answer for this host.'],
  body_too_large: [413, 'The request body is too large.'],
  content_type_refused: [415, 'The operation does not accept a body of this Content-Type.'],
  cart_full: [422, 'A cart holds at most 50 lines. Create another cart.'],
  cart_empty: [422, 'The cart is empty.'],
  same_twin: [422, 'A twin cannot pay itself.'],
  upstream_refused: [
    422,
    'This upstream URL is not allowed. It must be http or https, without user name or password, at a host that this service allows.',
  ],
  schema_refused: [
    422,
    "This service cannot check the seller's JSON Schema for this item's arguments. Only the seller can fix it. Nothing was charged.",
  ],
  arguments_refused: [422, "The arguments do not match the item's schema. Nothing was charged."],
  card_minimum: [
    422,
    'Cards are charged in whole cents, at least 0.50 of the digital quantity. Pay this from a wallet. Nothing was charged.',
  ],
  snapshot_newer: [422, 'A newer farthing wrote this snapshot. Update farthing to restore it. Nothing was changed.'],
  snapshot_refused: [422, 'The snapshot is inconsistent. Nothing was changed.'],
  not_replayable: [422, 'This entry cannot be repeated. Nothing was sent.'],
  too_many_hops: [
    422,
    'This request already passed through 3 upstream calls, so the item may be buying itself. Nothing was charged.',
  ],
  idempotency_mismatch: [422, 'This Idempotency-Key was used for a different request. Use a new key.'],
  too_many_codes: [429, 'Too many unused codes were mailed to this address, or for this network. Enter the last one.'],
  too_many_mails: [429, 'This person got too many messages in the last 15 minutes. Nothing was sent.'],
  too_many_fetches: [
    429,
    'Too many documents were fetched from this host, or for this network, in the last minute. Wait before you try again.',
  ],
  too_many_calls: [
    429,
    'Too many calls of endpoints: one payment makes at most 500, and free ones are limited to 300 in 15 minutes at each host. Nothing was held, and nothing was called.',
  ],
  too_many_streams: [429, 'Too many streams of this account or user are open. Close one first.'],
  too_many_declines: [429, 'Too many cards were declined in the last 15 minutes. This card was not charged.'],
  too_many_charges: [
    429,
    'Too many cards are being charged, or their charges have no outcome yet. This card was not charged.',
  ],
  too_many_failures: [429, 'This client secret is wrong, like too many others for this client id. Send the right one.'],
  too_many_tries: [429, 'Too many wrong codes were entered.'],
  too_many_pending: [429, 'Too many requests are waiting for this user. Wait until one is answered or expires.'],
  too_many_new: [429, 'This owner has created as many of these within a day as it may. Nothing was created.'],
  slow_down: [429, 'You poll too often. Wait `interval` seconds between requests.'],
  // 500 and 501
  internal_error: [500, 'The service failed. Nothing was changed.'],
  account_creation_failed: [500, 'The account was not created. Nothing was changed.'],
  provisioning_failed: [500, 'Provisioning failed. Nothing was created.'],
  change_incomplete: [
    500,
    'The change was only partly made. The finished parts are kept, and the approval is used. Request approval for the rest.',
  ],
  evidence_refused: [501, 'This service runs in a strict evidence mode, and refuses what has a weaker grade.'],
  not_bundled: [501, 'The bundle of this service leaves out the part that answers this.'],
  // 502 and 503
  overloaded: [503, 'Too many requests wait for this service. Nothing was changed. Retry later.'],
  not_ready: [503, 'The service cannot take requests now.'],
  storage_unavailable: [503, 'The storage is unavailable. Nothing was changed. Retry later.'],
  storage_full: [
    507,
    'The storage has no space for this. Nothing was changed, and reads go on. Free space, or export the state and delete what you do not need. Then retry.',
  ],
  not_loaded: [
    503,
    'A part of the service could not be loaded. Nothing was changed. Check the connection and retry. Bundle a service worker into one file.',
  ],
  outcome_unknown: [503, 'The service failed, and the outcome of this request is unknown.'],
  upstream_failed: [502, 'The upstream service gave no usable answer. The payment was reversed.'],
  parameter_unreadable: [
    502,
    'A dispatch parameter of this item is unusable. Nothing was charged. The seller must enter it again.',
  ],
  processor_failed: [502, 'The card processor did not complete the charge.'],
} as const satisfies Record<string, readonly [number, string]>

export type ProblemCode = keyof typeof problems
/** The HTTP status of a code. */
export type StatusOfCode<Code extends ProblemCode> = (typeof problems)[Code][0]

export interface ProblemExtra {
  /** Added to the sentence: which field, how much, what to do. */
  detail?: string
  /** Fields of the body beside error, status and code. */
  fields?: ProblemFields
  headers?: Record<string, string>
  cause?: unknown
}

/** A refusal that the caller sees. A transaction that throws one is undone; one that returns it lands what it wrote. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly fields: ProblemFields
  readonly headers: Record<string, string>

  constructor(code: ProblemCode, { detail, fields = {}, headers = {}, cause }: ProblemExtra = {}) {
    const [status, sentence] = problems[code]
    super(detail ? `${sentence} ${detail}` : sentence, cause === undefined ? undefined : { cause })
    this.name = 'Problem'
    this.code = code
    this.status = status
    this.fields = fields
    this.headers = headers
  }

  /** The JSON body with the code (Micro Payment Service Interface, section 7). */
  get body(): { error: string; status: number; code: ProblemCode } {
    return { ...this.fields, error: this.message, status: this.status, code: this.code }
  }

  /** The body with `docs`, the address of the page that explains the code. */
  bodyAt(service: ServiceAddress): { error: string; status: number; code: ProblemCode; docs: string } {
    return { ...this.body, docs: docsOf(this.code, service) }
  }
}

interface ServiceAddress {
  readonly baseUrl: string
}

/** The address of the page that explains a code. Without one: of the list of all codes. */
export const docsOf = (code: ProblemCode | undefined, { baseUrl }: ServiceAddress): string =>
  code === undefined ? `${baseUrl}/docs/errors` : `${baseUrl}/docs/errors/${code}`

export const problem = (code: ProblemCode, extra?: ProblemExtra): Problem => new Problem(code, extra)

export const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(problems, code)

export const problemCodes = Object.keys(problems).filter(isProblemCode)
export const problemStatus = (code: ProblemCode): number => problems[code][0]
const storageFailures: readonly ProblemCode[] = ['storage_unavailable', 'storage_full', 'outcome_unknown']

/** The status of a code in an evidence mode: the interface shows internal failures as 500 alone (section 7). */
export const problemStatusIn = (mode: Evidence, code: ProblemCode): number =>
  mode === 'documented' && storageFailures.includes(code) ? 500 : problemStatus(code)
export const problemSentence = (code: ProblemCode): string => problems[code][1]
