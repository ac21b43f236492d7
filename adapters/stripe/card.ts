import type { ChargedCard } from '../../src/core.js'

/** How the port names a card that Stripe keeps: Stripe charges it for its Customer alone. */
export const keptName = ({ customer, payment_method }: { customer: string; payment_method: string }): string =>
  `${customer}:${payment_method}`

/** How Stripe is told which card. */
export function stripeName(name: string): { payment_method: string; customer?: string } {
  const [, customer, payment_method] = /^(cus_\w+):(\w+)$/.exec(name) ?? []
  return customer && payment_method ? { customer, payment_method } : { payment_method: name }
}

/** Of a card, what its holder knows it by. */
export const shownCard = ({ brand, last4, exp_month, exp_year }: StripeCard): ChargedCard => ({
  ...{ brand: brand ?? 'card', last4: last4 ?? '', exp_month, exp_year },
})

interface StripeCard {
  brand: string | null
  last4: string | null
  exp_month: number
  exp_year: number
}
