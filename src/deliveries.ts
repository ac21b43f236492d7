import { pushDeliveryHandler } from './consent/notifications/push.js'
import { mailDeliveryHandler } from './identity/users/mail-delivery.js'
import type { DeliveryHandlers } from './jobs/outbox/outbox.js'
import { loseInvoiceCharge, settleInvoiceCharge } from './market/billing/settle.js'
import { loseCheckoutCharge, settleCheckoutCharge } from './market/checkout/card.js'
import { endCheckoutRefund, loseCheckoutRefund } from './market/checkout/refund.js'
import { cardDeliveryHandler, refundDeliveryHandler } from './money/cards/charge.js'
import { loseTopup, settleTopup } from './payments/topups/topup.js'

/** The delivery handler for each kind of message. */
export const deliveryHandlers: DeliveryHandlers = {
  mail: mailDeliveryHandler,
  push: pushDeliveryHandler,
  card: cardDeliveryHandler(
    { topup: settleTopup, checkout: settleCheckoutCharge, invoice: settleInvoiceCharge },
    { topup: loseTopup, checkout: loseCheckoutCharge, invoice: loseInvoiceCharge },
  ),
  refund: refundDeliveryHandler({ checkout: endCheckoutRefund }, { checkout: loseCheckoutRefund }),
}
