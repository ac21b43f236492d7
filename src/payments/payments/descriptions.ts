import { type TextsOf, WHOLE_LIST_LIMIT } from '../../http/openapi/texts.js'
import type { paymentRoutes } from './routes.js'

export const paymentTexts: TextsOf<typeof paymentRoutes> = {
  operations: {
    createPayment:
      'For a user, who pays from their primary twin or from `hostname`. Accounts, agents and embeds pay with a `persona_delegate`. Value moves at once. Send an `Idempotency-Key`, so that a retry does not pay twice.',
    createPayback:
      'For a user with a proven email address. The seller pays. A second call gets `payback_taken`, or the first answer with the same `Idempotency-Key`.',
    validatePayment:
      'For the account that owns the commodity. Call it before you release what was paid for. A nonce validates once, within 15 minutes.',
    readPaymentNonce: 'For the account that owns the commodity. It changes nothing.',
    listPayments: 'For an account or a user.',
    readPayment: 'For the payer or the payee. Anybody else gets `not_found`.',
    listCommodityTransactions: 'For the account that owns the commodity.',
  },
  fields: {
    'listCommodityTransactions.limit': WHOLE_LIST_LIMIT,
    hash: 'The hash of the commodity.',
    'createPayment.hostname': "One of the payer's twins. Default: the primary one.",
    cost: 'The price that the payer saw. If it has changed, nothing is paid.',
    'createPayment.dq': 'The hash of the digital quantity that the payer saw.',
    'createPayback.dq': 'The hash of the digital quantity that the user saw.',
    consent: 'The texts that the user agreed to, in order.',
    origin: 'The origin of the page on which the user agreed.',
    timestamp: 'The `timestamp` of the payment, in Unix milliseconds or seconds.',
    nonce: 'The nonce of the payment.',
    valid: 'Always true. A nonce that is not valid gets an error.',
    used_at: 'When the nonce was spent, in Unix seconds. Null: it was not.',
    payments: 'The payments, newest first.',
    transactions: 'The payments, newest first.',
    'readPaymentNonce.cost': 'What was paid, in the digital quantity.',
    'readPaymentNonce.twin_id': "The id of the payer's twin.",
    'readPaymentNonce.created_at': 'When the payment was made, in Unix seconds.',
    'readPaymentNonce.expires_at': 'Until when the nonce can be validated, in Unix seconds.',
  },
  components: {
    Payment: {
      is: 'A movement of value from a payer to a payee.',
      hash: 'The hash of the commodity. Null: the payment was for none.',
      hostname: "The hostname of the payer's twin.",
      kind: 'What the payment was for.',
      status: 'Whether it is still open, or how it ended.',
    },
    ProvablePayment: {
      is: 'A payment, with the proof that its seller validates.',
      hash: 'The hash of the commodity. Null: the payment was for none.',
      hostname: "The hostname of the payer's twin.",
      kind: 'What the payment was for.',
      status: 'Whether it is still open, or how it ended.',
      nonce: 'The proof of the payment. It validates once.',
      timestamp: 'When the payment was made, in Unix milliseconds.',
    },
  },
}
