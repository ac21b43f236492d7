import type { CardCharge, ChargedCard } from '../../src/core.js'

/** How the port names a card that Stripe keeps: Stripe charges it for its Customer alone. */
export const savedCardName = ({ customer, payment_method }: { customer: string; payment_method: string }): string =>
  `${customer}:${payment_method}`

/** How Stripe is told which card; undefined for what is no name of a card on file, or, where it is to be none, for anything but a bare name. */
export function stripeName({
  payment_method_id: name,
  on_file,
}: Pick<CardCharge, 'payment_method_id' | 'on_file'>): { payment_method: string; customer?: string } | undefined {
  const [, customer, payment_method] = /^(cus_\w+):(\w+)$/.exec(name) ?? []
  if (on_file) return customer && payment_method ? { customer, payment_method } : undefined
  return /^\w+$/.test(name) ? { payment_method: name } : undefined
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
