import { afterEach } from 'vitest'
import { stripeCards } from '../../../adapters/stripe.js'
import { startStripe } from './stripe-fake.js'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE

/** Stripes that end with their test, and the port over each. */
export function useStripe() {
  const running: { close(): Promise<void> }[] = []
  afterEach(async () => {
    for (const stripe of running.splice(0)) await stripe.close()
  })
  return async ({ searchLagMs, timeoutMs }: { searchLagMs?: number; timeoutMs?: number } = {}) => {
    const stripe = await startStripe(searchLagMs === undefined ? {} : { searchLagMs })
    running.push(stripe)
    return { stripe, cards: stripeCards({ ...stripe.options, ...(timeoutMs && { timeoutMs }) }) }
  }
}
