import type { TextsOf } from '../../http/openapi/texts.js'
import type { checkoutRoutes } from './routes.js'

export const checkoutTexts: TextsOf<typeof checkoutRoutes> = {
  operations: {
    listCheckoutRefunds: 'For the access token of an account.',
    settleCheckoutRefund: 'For the account of the sale. A settled refund cannot be settled again.',
    createCheckout: 'Anybody may call this. It charges nothing.',
    readCheckout: 'For everybody who has the link.',
    completeCheckout:
      'For everybody who has the link: from a wallet of a signed-in user, or by card. A retry by the same payer gets the same receipt and never charges twice.',
    openCheckout: 'For everybody who has the link. It changes nothing.',
    answerCheckout: 'For everybody who has the link. The answer redirects to the same page.',
  },
  fields: {
    refunds: 'The refunds, newest first.',
    id: 'The id of the refund.',
    outcome: 'What happened to the money.',
    email: 'The email address of the payer.',
    success_url: 'Where the page leads after the payment.',
    cancel_url: 'Where the page leads if the payer cancels.',
    hostname: "One of the payer's twins. Default: the primary one. Not together with `payment_method_id`.",
    price: 'The price that the payer saw. If it has changed, nothing is charged.',
    dq: 'The hash of the digital quantity that the payer saw.',
  },
  components: {
    CheckoutRefund: {
      is: 'A refund of a card that failed.',
      checkout_id: 'The id of the checkout.',
      name: 'The name of the item.',
      status: 'Whether the processor refused it, or its outcome is unknown.',
      reason: 'Why the processor refused. Null: unknown.',
      charge_id: "The processor's id of the charge. Null: unknown.",
      refund_id: "The processor's id of the refund. Null: unknown.",
      payer: 'Whether a user or a guest paid.',
      email: 'The email address of the payer. Null: unknown.',
    },
    Checkout: {
      is: 'A link that pays for one purchase.',
      url: 'The page of the link.',
      status: '`unpaid`, `paying`, `paid`, or `expired` after 24 hours.',
      name: 'The name of the item.',
      price: 'The price, in the digital quantity.',
      dq: 'The hash of the digital quantity.',
      receipt: 'The receipt, once it is paid.',
    },
  },
}
