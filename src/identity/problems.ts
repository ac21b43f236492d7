import type { ProblemDeclarations } from '../base/problem-fields.js'

/** Accounts, users, their codes and their client credentials. */
export const identityProblems = {
  client_unknown: `401 The client id or client secret is wrong, or was revoked.`,
  refresh_token_invalid: `401 The refresh token is unknown, used, expired or revoked. Get a new pair with the client credentials.`,
  session_required: `401 This session never requested a code for this email. Send the X-Session-ID header from the answer of POST /v4/session/code (or keep its session_id cookie), and verify the code in that session.`,
  code_wrong: `401 The code is wrong.`,
  code_expired: `410 The code has expired or was already used. Request a new one.`,
  email_taken: `409 A user with this email already exists. Nothing was created.`,
  too_many_codes: `429 Too many unused codes were mailed to this address, or for this network. Enter the last one.`,
  too_many_failures: `429 This client secret is wrong, like too many others for this client id. Send the right one.`,
  too_many_tries: `429 Too many wrong codes were entered.`,
  account_creation_refused: `403 Account creation is disabled on this service.`,
  account_creation_failed: `500 The account was not created. Nothing was changed.`,
  provisioning_failed: `500 Provisioning failed. Nothing was created.`,
} as const satisfies ProblemDeclarations
