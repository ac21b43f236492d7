import { loseInvoiceCharge, settleInvoiceCharge } from './billing/settle.js'
import { cardCourier, refundCourier } from './cards/charge.js'
import { loseCheckoutCharge, settleCheckoutCharge } from './checkout/card.js'
import { loseCheckoutRefund, settleCheckoutRefund } from './checkout/refund.js'
import { pushCourier } from './notifications/push.js'
import { mailCourier } from './outbox/mail.js'
import type { Couriers } from './outbox/outbox.js'
import { loseTopup, settleTopup } from './topups/topup.js'

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
