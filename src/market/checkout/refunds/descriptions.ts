import type { TextsOf } from '../../../http/openapi/texts.js'
import type { checkoutRefundRoutes } from './routes.js'

export const checkoutRefundTexts: TextsOf<typeof checkoutRefundRoutes> = {
  operations: {
    listCheckoutRefunds: 'For the access token of an account.',
    settleCheckoutRefund: 'For the account of the sale. A settled refund cannot be settled again.',
  },
  fields: {
    refunds: 'The refunds, newest first.',
    id: 'The id of the refund.',
    outcome: 'What happened to the money.',
  },
  components: {
    CheckoutRefund: {
      is: 'A refund of a card that failed.',
      id: 'The id of the refund.',
      checkout_id: 'The id of the checkout.',
      name: 'The name of the item.',
      status: 'Whether the processor refused it, or its outcome is unknown.',
      reason: 'Why the processor refused. Null: unknown.',
      charge_id: "The processor's id of the charge. Null: unknown.",
      refund_id: "The processor's id of the refund. Null: unknown.",
      payer: 'Whether a user or a guest paid.',
      email: 'The email address of the payer. Null: unknown.',
    },
  },
}
