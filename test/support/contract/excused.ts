/** Answers that the route table promises and no contract test sees, each with the reason why not. */
export const excused: Readonly<Record<string, string>> = {
  'embedPayment item_inactive': 'the attacks on the frame see it in a browser',
  ...Object.fromEntries(
    ['readOpenapi', 'listErrorCodes', 'readErrorCode', 'readLiveness', 'readReadiness'].map((id) => [
      `${id} internal_error`,
      'it is about the service itself: it reads no storage, so no failure can be caused',
    ]),
  ),
  'readMetrics internal_error': 'it answers while the storage fails: test/sandbox/metrics.test.ts',
}

/** Errors that one mechanism throws for many operations. The attacks on outcomes, `test/http/features.test.ts` and
 * `test/sandbox/parts.test.ts` test them. */
export const sharedErrors: readonly string[] = [
  'not_bundled',
  'not_loaded',
  'overloaded',
  'storage_unavailable',
  'storage_full',
  'outcome_unknown',
]

const unseenMismatch = [
  'addCartItem',
  'approveApproval',
  'approveAuthenticationRequest',
  'archiveCatalogItem',
  'cancelTransfer',
  'claimTransfer',
  'completeCheckout',
  'createAccount',
  'createAccountChoice',
  'createApproval',
  'createAuthenticationRequest',
  'createCart',
  'createEvent',
  'createPageSession',
  'createRegistration',
  'createSession',
  'createTwin',
  'createTwinNonce',
  'createUser',
  'registerAccount',
  'registerOidcClient',
  'registerPushToken',
  'rejectApproval',
  'rejectAuthenticationRequest',
  'restoreCatalogItem',
  'sendSessionCode',
  'settleCheckoutRefund',
  'updateCard',
  'updatePlan',
  'validatePayment',
  'verifyTwinNonce',
]

/**
 * Errors of an Idempotency-Key that no test sees for these operations: they took a key later than the others. The attacks
 * on such keys hold that they take one, and the mechanism itself. No operation joins this list: its test sends a key.
 */
export const unseenKeyErrors: Readonly<Record<string, readonly string[]>> = {
  idempotency_in_progress: ['approveApproval', 'completeCheckout', 'updateCard', 'updatePlan'],
  idempotency_mismatch: unseenMismatch,
  idempotency_unreadable: [...unseenMismatch, 'createAccountToken', 'createOidcToken', 'createUserToken'],
}
