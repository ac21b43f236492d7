import Stripe from 'stripe'
import type { Cards } from '../src/core.js'
import { chargeCard, refundCharge, safely, saveCard } from './stripe/charge.js'

export interface StripeOptions {
  /** A test mode key: `sk_test_…`, or `rk_test_…` that may write PaymentIntents, SetupIntents, Customers, Charges and Refunds. */
  apiKey: string
  /** How long each request to Stripe may take, in ms. A charge sends three to five. Default: 15 seconds. */
  timeoutMs?: number
  /** The protocol of Stripe's API. Default: `https`. */
  protocol?: 'http' | 'https'
  /** The host of Stripe's API. Default: `api.stripe.com`. */
  host?: string
  /** The port of Stripe's API. Default: 443. */
  port?: number
}

/**
 * Charges cards with Stripe, only in its test mode: no money moves. A card's name is the `pm_…` that Stripe.js returns.
 * Its errors say what Stripe answered. They contain neither the key nor card data.
 * Throws a TypeError if the key is not a test mode key.
 */
export function stripeCards({ apiKey, timeoutMs = 15_000, protocol, host, port }: StripeOptions): Cards {
  if (!/^[sr]k_test_\w+$/.test(apiKey))
    throw new TypeError("Give an API key of Stripe's test mode as apiKey: one that begins with sk_test_ or rk_test_.")
  const stripe = new Stripe(apiKey, {
    timeout: timeoutMs,
    // The caller of the port tries again.
    maxNetworkRetries: 0,
    telemetry: false,
    ...(protocol && { protocol }),
    ...(host && { host }),
    ...(port && { port }),
  })
  return {
    save: (card) => safely(() => saveCard(stripe, card)),
    charge: (charge) => safely(() => chargeCard(stripe, charge)),
    refund: (refund) => safely(() => refundCharge(stripe, refund)),
  }
}
