import Stripe from 'stripe'
import type { Cards } from '../src/core.js'
import { chargeCard } from './stripe/charge.js'
import { safely } from './stripe/failure.js'
import { refundCharge } from './stripe/refund.js'
import { saveCard } from './stripe/save.js'

export interface StripeOptions {
  /** Of Stripe's test mode: `sk_test_…`, or `rk_test_…` that may write PaymentIntents, SetupIntents, Customers, Charges and Refunds. */
  apiKey: string
  /** How long each request to Stripe may take; a charge makes three, and five at most. Default: 15 seconds. */
  timeoutMs?: number
  /** Where Stripe's API is. Default: `https`, `api.stripe.com`, 443. */
  protocol?: 'http' | 'https'
  host?: string
  port?: number
}

/**
 * Charges cards by Stripe, in its test mode alone: no money moves. Cards are named as Stripe.js in a page names them, `pm_…`.
 * What it rejects with says what Stripe answered, and holds neither the key nor anything of a card.
 * Throws TypeError for a key of any other kind.
 */
export function stripeCards({ apiKey, timeoutMs = 15_000, protocol, host, port }: StripeOptions): Cards {
  if (!/^[sr]k_test_\w+$/.test(apiKey))
    throw new TypeError("Give an API key of Stripe's test mode as apiKey: one that begins with sk_test_ or rk_test_.")
  const stripe = new Stripe(apiKey, {
    timeout: timeoutMs,
    // Whoever calls the port tries again.
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
