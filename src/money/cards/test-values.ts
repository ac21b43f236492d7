import type { Cards, ChargedCard, TestPaymentMethod } from '../../base/ports.js'

/** What the local part of an email address may end in, and what comes of it. */
export interface TestEmail {
  readonly value: string
  readonly does: string
}

/** What makes a sandbox behave in a certain way. */
export interface TestValues {
  readonly payment_methods: readonly TestPaymentMethod[]
  readonly emails: readonly TestEmail[]
  readonly note: string
}

const expiring = { exp_month: 12, exp_year: 2050 }
const visa: ChargedCard = { brand: 'visa', last4: '4242', ...expiring }
const mastercard: ChargedCard = { brand: 'mastercard', last4: '4444', ...expiring }

const BOUNCE = '+bounce@'

/** What the built-in processor knows. */
export const testMethods: readonly TestPaymentMethod[] = [
  { value: 'pm_card_visa', does: 'Is charged: a Visa card.', status: 'succeeded', card: visa },
  { value: 'pm_card_mastercard', does: 'Is charged: a Mastercard.', status: 'succeeded', card: mastercard },
  {
    value: 'pm_card_chargeDeclined',
    does: 'Is declined, with no reason given by its bank.',
    status: 'declined',
    reason: 'declined by the bank',
  },
  {
    value: 'pm_card_chargeDeclinedInsufficientFunds',
    does: 'Is declined: there is not enough on it.',
    status: 'declined',
    reason: 'insufficient funds',
  },
  {
    value: 'pm_card_chargeCustomerFail',
    does: 'Is put on file, and declined whenever it is charged.',
    status: 'declined',
    reason: 'declined by the bank',
    card: { brand: 'visa', last4: '0341', ...expiring },
    saves: true,
  },
  { value: 'pm_card_expired', does: 'Is declined: it has expired.', status: 'declined', reason: 'expired card' },
  {
    value: 'pm_processor_down',
    does: 'Finds the processor out of order: nothing is charged.',
    status: 'unavailable',
  },
  {
    value: 'pm_processor_slow',
    does: 'Is charged, after five seconds: a Visa card.',
    status: 'succeeded',
    card: visa,
    after_seconds: 5,
  },
]

const emails: readonly TestEmail[] = [
  { value: '+code123456@', does: 'Fixes the sign-in code to its six digits: ada+code123456@example.test.' },
  { value: BOUNCE, does: 'Mail to it bounces: ada+bounce@example.test.' },
]

/** What a sandbox with that card processor takes for a sign to behave in a certain way. */
export const testValuesOf = (cards: Pick<Cards, 'testMethods'> | undefined): TestValues => {
  const payment_methods = cards?.testMethods ?? []
  const others =
    payment_methods.length > 0 ? 'Any other payment method is declined.' : 'The card processor names its own.'
  return { payment_methods, emails, note: `Amounts are never magic: what happens depends on no amount. ${others}` }
}

export const bounces = (email: string): boolean => email.includes(BOUNCE)
