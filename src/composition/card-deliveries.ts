import { loseInvoiceCharge, settleInvoiceCharge } from '../market/billing/renewal.js'
import { loseCheckoutCharge, settleCheckoutCharge } from '../market/checkout/card.js'
import { endCheckoutRefund, loseCheckoutRefund } from '../market/checkout/refund.js'
import { cardDeliveryHandler, refundDeliveryHandler } from '../money/cards/charge.js'
import { loseTopup, settleTopup } from '../payments/topups/topup.js'

/** Delivers charges, and settles what each pays for. */
export const cardDeliveries = cardDeliveryHandler(
  { topup: settleTopup, checkout: settleCheckoutCharge, invoice: settleInvoiceCharge },
  { topup: loseTopup, checkout: loseCheckoutCharge, invoice: loseInvoiceCharge },
)

/** Delivers refunds. */
export const refundDeliveries = refundDeliveryHandler({ checkout: endCheckoutRefund }, { checkout: loseCheckoutRefund })
