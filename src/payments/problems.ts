import type { ProblemDeclarations } from '../base/problem-fields.js'

/** Payments, their proofs, transfers and binders. */
export const paymentsProblems = {
  nonce_unknown: `400 No payment for this commodity has this nonce and timestamp.`,
  nonce_used: `400 This nonce was already used. A nonce validates once.`,
  nonce_expired: `400 This nonce has expired. Validate a payment soon after it was made.`,
  not_invited: `403 Only the user with the invited email address can claim this.`,
  transfer_settled: `409 The transfer is already settled.`,
  transfer_expired: `410 Nobody claimed this transfer in time. The amount went back to the sender.`,
  payback_only: `409 This commodity pays its reader. Call POST /v4/payback/{hash} instead of paying it.`,
  payback_refused: `409 This commodity does not pay its readers. Its seller turns that on with PUT /v4/commodity/{hash}/payback and ‹enabled: true›, or creates a commodity with ‹payback: true›.`,
  payback_taken: `409 This commodity has already paid this user. It pays each user once.`,
  email_unproven: `403 This user has not proven their email address. Request a code with POST /v4/session/code, then verify it with POST /v4/session/verify.`,
  binder_invalid: `400 The CSV is not a binder. Nothing was imported. {line column expected} [given]`,
  binder_refused: `409 This twin cannot take a binder. Nothing was imported.`,
  import_in_progress: `409 A binder is being imported into this twin. Wait until it is done.`,
  import_ended: `409 Something else ended this import, such as a reset or a restored snapshot. Read the binder of the twin to see whether it has the rows.`,
} as const satisfies ProblemDeclarations
