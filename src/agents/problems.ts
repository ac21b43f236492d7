import type { ProblemDeclarations } from '../base/problem-fields.js'

/** What agents change for a user, and what they pay by signed transfers. */
export const agentsProblems = {
  change_impossible: `400 The approved change is no longer possible. Request approval for a new change. {reason field changed made of plan limit used resets_at}`,
  change_incomplete: `500 The change was only partly made. The finished parts are kept, and the approval is used. Request approval for the rest. {changed made}`,
  account_not_granted: `403 The user has not granted this agent a business account, or has withdrawn it.`,
  not_choosable: `409 The user belongs to no business account, so there is none to choose.`,
  payment_required: `402 This call must be paid. Sign one of the offers, and send the call again with the payment. {reason type title detail challengeId x402Version accepts approval_id url}`,
  payment_identifier_mismatch: `409 The payer used this payment identifier for a different payment. Nothing was paid. Use a new identifier.`,
} as const satisfies ProblemDeclarations
