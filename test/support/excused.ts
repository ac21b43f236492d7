/** Answers that the route table promises and no contract test sees, each with the reason why not. */
export const excused: Readonly<Record<string, string>> = {
  'createUserSecrets field_invalid':
    'its body has no fields, so none can be wrong',
  'embedPayment item_inactive': 'the attacks on the frame see it in a browser',
}

/**
 * Errors that one mechanism gives for every operation alike. The attacks on outcomes and on Idempotency-Keys hold that
 * mechanism, and each operation that takes a key, so that no test for each operation is asked for.
 */
export const sharedErrors: readonly string[] = [
  'storage_unavailable',
  'outcome_unknown',
  'idempotency_mismatch',
  'idempotency_unreadable',
  'idempotency_in_progress',
]
