import { loseInvoiceCharge, settleInvoiceCharge } from '../market/billing/renewal.js'
import { loseCheckoutCharge, settleCheckoutCharge } from '../market/checkout/attempt.js'
import { endCheckoutRefund, loseCheckoutRefund } from '../market/checkout/refund.js'
import { cardDeliveryHandler, refundDeliveryHandler } from '../money/cards/charge.js'
import { loseTopup, settleTopup } from '../payments/topups/topup.js'

export const cardDeliveries = cardDeliveryHandler(
  { topup: settleTopup, checkout: settleCheckoutCharge, invoice: settleInvoiceCharge },
  { topup: loseTopup, checkout: loseCheckoutCharge, invoice: loseInvoiceCharge },
)

export const refundDeliveries = refundDeliveryHandler({ checkout: endCheckoutRefund }, { checkout: loseCheckoutRefund })
