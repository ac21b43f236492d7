/**
 * Every error the service answers with: `code: [HTTP status, sentence]`.
 * The body is `{error, status, code}`; a problem may add a detail to the sentence, headers and extra fields.
 */
const problems = {
  // 400: malformed, or a field is missing or of the wrong type
  body_malformed: [400, 'The body cannot be read as the Content-Type says.'],
  path_malformed: [400, 'The path holds a percent-escape that is not UTF-8.'],
  target_malformed: [400, 'The request target must be a path, or an http URL of this server.'],
  header_malformed: [400, 'A header cannot be read.'],
  field_invalid: [400, 'A field is missing or of the wrong type.'],
  amount_invalid: [400, 'The amount cannot be held in this digital quantity.'],
  idempotency_key_invalid: [400, 'Idempotency-Key takes 1 to 255 printable ASCII characters.'],
  card_data_refused: [400, 'Card numbers are not taken here: send the payment_method_id that the card processor gave.'],
  dq_unknown: [400, 'No digital quantity has this hash; GET /v4/dq lists them.'],
  twin_unknown: [400, 'None of your twins has this id; GET /v4/twins lists them.'],
  nonce_unknown: [400, 'This nonce and timestamp match no payment for this commodity.'],
  nonce_used: [400, 'This nonce has been used: each validates once.'],
  nonce_expired: [400, 'This nonce has expired: validate it sooner after the payment.'],
  destination_unknown: [400, 'Nothing says whom to pay: name the hostname of a twin as `destination`.'],
  twin_nonce_refused: [400, 'This nonce is unknown, used or expired, or was made for another twin.'],
  change_impossible: [400, 'This change can no longer be made as it was approved: ask for another one.'],
  snapshot_invalid: [400, 'The document is no snapshot; nothing was changed.'],
  cursor_invalid: [400, '`after` is not an id that a list gave.'],
  // 400, by their names in RFC 6749 section 5.2, RFC 7591 section 3.2.2 and RFC 8707 section 2
  invalid_request: [400, 'A parameter is missing, malformed, repeated or at odds with another.'],
  invalid_grant: [
    400,
    'The code or refresh token is unknown, used, expired, revoked, or of another client or request.',
  ],
  unauthorized_client: [400, 'This client may not do that.'],
  unsupported_grant_type: [400, '`grant_type` is authorization_code or refresh_token.'],
  invalid_scope: [400, 'The scope is unknown, or wider than what was granted.'],
  invalid_target: [400, '`resource` names nothing that tokens are issued for here.'],
  invalid_redirect_uri: [400, 'A redirect URI is not one that a client can have.'],
  invalid_client_metadata: [400, 'The metadata of the client cannot be had so.'],
  card_required: [400, 'A paid plan needs a card: send its `payment_method_id`.'],
  // 401: who is calling is not known
  invalid_client: [401, 'The client is unknown, or did not authenticate by the method that it is registered with.'],
  authorization_missing: [401, 'Nothing says who is calling.'],
  credentials_missing: [
    401,
    'This needs an Authorization header: Basic client credentials, or Bearer and a refresh token.',
  ],
  client_unknown: [401, 'The client id or client secret is wrong, or was revoked.'],
  token_invalid: [401, 'The access token is unknown, expired, revoked, or for something else.'],
  refresh_token_invalid: [401, 'The refresh token is unknown, used, expired or revoked; use the client credentials.'],
  agent_token_required: [401, 'This takes the OIDC access token of an app that a user connected.'],
  bearer_required: [401, 'Only a Bearer access token is accepted here; client credentials obtain one.'],
  public_secret_unknown: [401, 'No account has this public_secret.'],
  session_conflict: [
    401,
    'The session_id cookie and the X-Session-ID header name different sessions; send one of them.',
  ],
  sign_in_required: [401, 'This session is not signed in: ask for a code at /v4/session/code and verify it.'],
  page_refused: [401, 'This session was given to a page of another origin, which alone may use it.'],
  session_required: [
    401,
    'This session never asked for a code for this email. Send the X-Session-ID header that POST /v4/session/code answered with (or let your browser keep its session_id cookie), and enter the code in that session.',
  ],
  code_wrong: [401, 'The code is wrong.'],
  // 402
  card_declined: [402, 'The card was declined; nothing was charged.'],
  insufficient_funds: [402, "The payer's twin does not hold enough for this."],
  // 403: known, and not permitted
  scheme_refused: [403, 'The Authorization scheme must be Basic or Bearer here.'],
  wrong_principal: [403, 'This token is valid, but not of the kind that may do this.'],
  not_an_account: [403, 'The token does not identify an account.'],
  not_owner: [403, 'This belongs to someone else.'],
  rejected: [403, 'The user rejected this; nothing was moved.'],
  approval_required: [403, 'The user has to approve this first.'],
  approval_not_given: [403, 'The user has not approved this, or not in time.'],
  account_not_granted: [403, 'The user granted this agent no business account, or took it back.'],
  self_approval: [403, 'The session that asked for this cannot answer it: answer from elsewhere.'],
  delegate_required: [
    403,
    'This pays for somebody else: send `persona_delegate`, the hash of a spending authority of yours.',
  ],
  delegate_refused: [403, 'This delegate does not let you spend that.'],
  device_refused: [
    403,
    'Only a device that was asked may answer: send the token that it is registered by as X-Device-Token.',
  ],
  cross_site: [403, 'A session cookie changes nothing for requests from another origin; send X-Session-ID.'],
  origin_refused: [403, 'Pages of this origin may not call this.'],
  email_unproven: [
    403,
    'This user has not proven their email. Sign in by a code that is mailed there: POST /v4/session/code, then /v4/session/verify.',
  ],
  not_invited: [403, 'Only the user with the email that was invited can claim this.'],
  account_creation_refused: [403, 'This service does not let accounts be created.'],
  sandbox_refused: [
    403,
    'The sandbox controls answer only this machine and its pages. From elsewhere, send the control token as `X-Control-Token`: the sandbox prints it when it starts, and --control-token sets it.',
  ],
  insufficient_scope: [403, 'The access token was not granted the scope that this needs.'],
  plan_limit_reached: [403, 'This is more than the plan of the account takes.'],
  // 404
  no_such_path: [404, 'Nothing answers at this path.'],
  not_found: [404, 'There is nothing here by that name.'],
  // 405 to 429
  approval_timeout: [408, 'The user did not approve this in time; nothing was moved.'],
  method_not_allowed: [405, 'This path does not take that method; Allow lists those it takes.'],
  email_taken: [409, 'A user with this email exists; nothing was created.'],
  already_exists: [409, 'This exists already; nothing was created.'],
  idempotency_in_progress: [409, 'A request with this Idempotency-Key is still in progress. Retry shortly.'],
  idempotency_unreadable: [
    409,
    'This Idempotency-Key was used, and its answer was sealed under another encryption key; nothing was done again.',
  ],
  transfer_settled: [409, 'This transfer is settled: it waits for nobody any more.'],
  payback_only: [409, 'This commodity pays its reader: POST /v4/payback/{hash} moves its price, a payment does not.'],
  payback_refused: [409, 'This commodity is to be paid for; make one with `payback: true` to pay readers by it.'],
  payback_taken: [409, 'This user was paid by this commodity already; it pays everybody once.'],
  item_archived: [409, 'This item is archived; restore it first.'],
  item_not_archived: [409, 'This item is not archived.'],
  item_inactive: [409, 'This item is not for sale now.'],
  price_changed: [409, 'The price has changed; nothing was charged. Check the present price and try again.'],
  checkout_paid: [409, 'This is paid: somebody else was faster.'],
  refund_settled: [409, 'This refund is settled already. GET /v4/checkout/refunds lists those that wait.'],
  refund_outcome_refused: [409, 'This refund cannot be settled that way.'],
  checkout_paying: [409, 'This is being paid; look again in a moment.'],
  approval_spent: [409, 'This approval was used; each is good for one time. Ask for another one.'],
  approval_mismatch: [
    409,
    'This approval is for something else: for exactly what the user was shown, at that price. Ask for another one.',
  ],
  not_choosable: [409, 'There is no business account to choose: the user belongs to none.'],
  not_pending: [409, 'This request is no longer pending: it was answered or withdrawn, or has expired.'],
  cart_closed: [409, 'This cart was paid, or is being paid, and changes no more; make another one.'],
  cart_paying: [409, 'This cart is being paid; read it to see how that ends.'],
  card_in_use: [
    409,
    'A paid plan needs its card: put another in its place, or change to the free plan and remove it then.',
  ],
  invoice_not_open: [409, 'Only an open invoice can be paid.'],
  invoice_unpaid: [409, 'An invoice is unpaid: pay it first.'],
  charge_pending: [
    409,
    'It is not known yet what comes of a charge to the card; look again in a moment, at GET /v4/billing/invoices.',
  ],
  too_many_devices: [409, 'The user has as many devices as can be; remove one first.'],
  code_expired: [410, 'The code has expired or was used; ask for a new one.'],
  interaction_expired: [410, 'This page has expired or was used; go back to the app and start again.'],
  transfer_expired: [410, 'This was not claimed in time; the amount went back to its sender.'],
  link_early: [
    409,
    'This link does not confirm the change yet. Confirm it on a device that you have, or open the link later.',
  ],
  link_expired: [410, 'This link was used, or has expired.'],
  checkout_expired: [410, 'This link has expired; what a card was charged for it goes back to the card.'],
  host_refused: [421, 'This sandbox does not answer for this host.'],
  body_too_large: [413, 'The body is larger than this service takes.'],
  content_type_refused: [415, 'Bodies are application/json or application/x-www-form-urlencoded.'],
  cart_full: [422, 'A cart has 50 lines at most; make another one.'],
  cart_empty: [422, 'There is nothing in this cart to pay for.'],
  same_twin: [422, 'A twin cannot pay itself.'],
  upstream_refused: [
    422,
    'Upstream services are called by http or https URLs without user name or password, at hosts that this service allows.',
  ],
  schema_refused: [
    422,
    'The seller described the arguments of this item by a schema that this service does not check. Only its seller can repair that; nothing was charged.',
  ],
  arguments_refused: [422, 'The arguments are not those that the item takes; nothing was charged.'],
  card_minimum: [
    422,
    'Cards are charged whole cents, 0.50 of the digital quantity at least: pay this from a wallet; nothing was charged.',
  ],
  snapshot_refused: [422, 'The snapshot does not fit together; nothing was changed.'],
  too_many_hops: [
    422,
    'This request came through 3 upstream calls already, so no other is made: the item may buy itself. Nothing was charged.',
  ],
  idempotency_mismatch: [422, 'This Idempotency-Key was used for another request; use a new key.'],
  too_many_codes: [429, 'Too many codes were mailed to this address and not used. Enter the last one.'],
  too_many_mails: [429, 'This person was written to too often in the last quarter of an hour. Nothing was sent.'],
  too_many_declines: [429, 'Too many cards were declined in the last 15 minutes, so this card was not tried.'],
  too_many_failures: [429, 'Too many wrong client secrets for this client id; wait.'],
  too_many_tries: [429, 'Too many wrong codes; ask for a new one.'],
  too_many_pending: [429, 'Too many requests wait for the answer of this user; wait until one is answered or expires.'],
  slow_down: [429, 'This is polled too fast; wait `interval` seconds between polls.'],
  // 500 and 501
  internal_error: [500, 'The service failed; nothing was changed.'],
  account_creation_failed: [500, 'The account could not be created; nothing was changed.'],
  provisioning_failed: [500, 'Provisioning failed; nothing was created.'],
  change_incomplete: [
    500,
    'The service failed part-way: what was made is kept, and the approval is used. Ask for another one for the rest.',
  ],
  evidence_refused: [501, 'This operation is graded weaker than the evidence this service is set to.'],
  // 502
  // 502 and 503
  storage_unavailable: [503, 'The storage cannot be used now; nothing was changed. Try again later.'],
  outcome_unknown: [503, 'The service failed, and it is not known whether this was done.'],
  upstream_failed: [502, 'The upstream service gave no answer that can be passed on; the payment was reversed.'],
  parameter_unreadable: [
    502,
    'A dispatch parameter of this item cannot be read or used; nothing was charged. Its seller has to enter it again.',
  ],
  processor_failed: [502, 'The card processor did not complete the charge.'],
} as const satisfies Record<string, readonly [number, string]>

export type ProblemCode = keyof typeof problems

export interface ProblemExtra {
  /** Added to the sentence: which field, how much, what to do. */
  detail?: string
  /** Fields of the body beside error, status and code. */
  fields?: Record<string, unknown>
  headers?: Record<string, string>
  cause?: unknown
}

/** A refusal the caller is told of. Thrown in a transaction it undoes it; returned from one it keeps what was written. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly fields: Record<string, unknown>
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

  /** The JSON body of interface.md section 7, with the code. */
  get body(): { error: string; status: number; code: ProblemCode } {
    return { ...this.fields, error: this.message, status: this.status, code: this.code }
  }
}

export const problem = (code: ProblemCode, extra?: ProblemExtra): Problem => new Problem(code, extra)

export const problemCodes = Object.keys(problems) as ProblemCode[]
export const problemStatus = (code: ProblemCode): number => problems[code][0]
export const problemSentence = (code: ProblemCode): string => problems[code][1]
