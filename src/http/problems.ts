import type { ProblemDeclarations } from '../base/problem-fields.js'

/** Requests as such, and the service that answers them. */
export const httpProblems = {
  body_malformed: '400 The request body does not match its Content-Type. Send valid JSON or a valid form.',
  path_malformed: '400 The path has a percent escape that is not valid UTF-8. Encode the path as UTF-8.',
  target_malformed: '400 The request target must be a path or an http URL of this server.',
  header_malformed: ['400 A header is not valid. Correct it and send the request again.', { facts: ['header'] }],
  field_invalid: [
    '400 A field is missing or has the wrong type.',
    { fields: ['field'], facts: ['must', 'type', 'meant'] },
  ],
  idempotency_key_invalid: '400 Idempotency-Key must be 1 to 255 printable ASCII characters.',
  card_data_refused:
    '400 This service does not accept card numbers. Send the `payment_method_id` from the card processor.',
  body_too_large: '413 The request body is too large.',
  content_type_refused: '415 The operation does not accept a body of this Content-Type.',
  idempotency_in_progress: '409 A request with this Idempotency-Key is still in progress. Retry shortly.',
  idempotency_mismatch: '422 This Idempotency-Key was used for a different request. Use a new key.',
  idempotency_unreadable:
    '409 This Idempotency-Key was already used, but its answer is not kept or sealed under another encryption key. Nothing was repeated.',
  no_such_path: '404 No operation has this path.',
  not_found: ['404 Not found.', { fields: ['line'] }],
  method_not_allowed: '405 This path does not support this method. The Allow header lists the supported ones.',
  session_conflict: '401 The session_id cookie and the X-Session-ID header name different sessions. Send only one.',
  wrong_principal: [
    '403 The token is valid, but this operation needs another kind of caller.',
    { facts: ['token_of'] },
  ],
  not_an_account: ['403 The token does not belong to an account.', { facts: ['token_of'] }],
  cross_site: '403 A request from another origin cannot change anything with the session cookie. Send X-Session-ID.',
  origin_refused: '403 Pages of this origin are not allowed to call this.',
  sandbox_refused:
    '403 The sandbox controls answer only this machine and its pages. From elsewhere, send the control token as `X-Control-Token`. The sandbox prints the token at start, and --control-token sets it.',
  host_refused: ['421 This sandbox does not answer for this host.', { facts: ['host'] }],
  evidence_refused: [
    '501 This service runs in a strict evidence mode, and refuses what has a weaker grade.',
    { facts: ['what', 'refused', 'grade'] },
  ],
  overloaded: [
    '503 Too many requests wait for this service. Nothing was changed. Retry later.',
    { fields: ['waiting', 'queue', 'body_bytes'] },
  ],
  not_ready: ['503 The service cannot take requests now.', { fields: ['waiting', 'queue'] }],
  internal_error: '500 The service failed. Nothing was changed.',
  outcome_unknown: [
    '503 The service failed, and the outcome of this request is unknown.',
    { fields: ['outcome', 'invoice_id', 'payment_id', 'transaction_id', 'changed', 'made'] },
  ],
  not_loaded:
    '503 A part of the service could not be loaded. Nothing was changed. Check the connection and retry. Bundle a service worker into one file.',
  not_bundled: ['501 The bundle of this service leaves out the part that answers this.', { fields: ['part'] }],
  too_many_hops: [
    '422 This request already passed through 3 upstream calls, so the item may be buying itself. Nothing was charged.',
    { facts: ['hops', 'most'] },
  ],
} as const satisfies ProblemDeclarations
