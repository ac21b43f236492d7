import { pushCourier } from './consent/notifications/push.js'
import { mailCourier } from './identity/users/mail-delivery.js'
import type { Couriers } from './jobs/outbox/outbox.js'
import { loseInvoiceCharge, settleInvoiceCharge } from './market/billing/settle.js'
import { loseCheckoutCharge, settleCheckoutCharge } from './market/checkout/card.js'
import { loseCheckoutRefund, settleCheckoutRefund } from './market/checkout/refund.js'
import { cardCourier, refundCourier } from './money/cards/charge.js'
import { loseTopup, settleTopup } from './payments/topups/topup.js'

/** Who takes what leaves the service to its port, by kind. */
export const couriers: Couriers = {
  mail: mailCourier,
  push: pushCourier,
  card: cardCourier(
    { topup: settleTopup, checkout: settleCheckoutCharge, invoice: settleInvoiceCharge },
    { topup: loseTopup, checkout: loseCheckoutCharge, invoice: loseInvoiceCharge },
  ),
  refund: refundCourier({ checkout: settleCheckoutRefund }, { checkout: loseCheckoutRefund }),
}
