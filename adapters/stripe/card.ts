import type { CardCharge, ChargedCard } from '../../src/core.js'

/** The port's name for a saved card. It includes the Customer, because Stripe charges a saved card only with its Customer. */
export const savedCardName = ({ customer, payment_method }: { customer: string; payment_method: string }): string =>
  `${customer}:${payment_method}`

/** Turns the port's name of a card into Stripe's parameters. Undefined if the name does not fit `on_file`. */
export function stripeName({
  payment_method_id: name,
  on_file,
}: Pick<CardCharge, 'payment_method_id' | 'on_file'>): { payment_method: string; customer?: string } | undefined {
  const [, customer, payment_method] = /^(cus_\w+):(\w+)$/.exec(name) ?? []
  if (on_file) return customer && payment_method ? { customer, payment_method } : undefined
  return /^\w+$/.test(name) ? { payment_method: name } : undefined
}

/** What a cardholder recognizes a card by. */
export const shownCard = ({ brand, last4, exp_month, exp_year }: StripeCard): ChargedCard => ({
  ...{ brand: brand ?? 'card', last4: last4 ?? '', exp_month, exp_year },
})

interface StripeCard {
  brand: string | null
  last4: string | null
  exp_month: number
  exp_year: number
}
