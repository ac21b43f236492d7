import type { Cards, ChargedCard, TestPaymentMethod } from '../../base/ports.js'

/** An ending of the local part of an email address, and its effect. */
export interface TestEmail {
  readonly value: string
  readonly does: string
}

/** Values that make a sandbox behave in a special way. */
export interface TestValues {
  readonly payment_methods: readonly TestPaymentMethod[]
  readonly emails: readonly TestEmail[]
  readonly note: string
}

const expiring = { exp_month: 12, exp_year: 2050 }
const visa: ChargedCard = { brand: 'visa', last4: '4242', ...expiring }
const mastercard: ChargedCard = { brand: 'mastercard', last4: '4444', ...expiring }
const BOUNCE = '+bounce@'
const bank = 'declined by the bank'
const declined = (name: string, does: string, reason: string) =>
  ({ value: `pm_card_${name}`, does, status: 'declined', reason }) as const

export const testMethods: readonly TestPaymentMethod[] = [
  { value: 'pm_card_visa', does: 'Succeeds: a Visa card.', status: 'succeeded', card: visa },
  { value: 'pm_card_mastercard', does: 'Succeeds: a Mastercard.', status: 'succeeded', card: mastercard },
  declined('chargeDeclined', 'Is declined. Its bank gives no reason.', bank),
  declined('chargeDeclinedInsufficientFunds', 'Is declined for insufficient funds.', 'insufficient funds'),
  {
    ...declined('chargeCustomerFail', 'Can be saved, but every charge is declined.', bank),
    card: { brand: 'visa', last4: '0341', ...expiring },
    saves: true,
  },
  declined('expired', 'Is declined because it has expired.', 'expired card'),
  {
    value: 'pm_processor_down',
    does: 'Fails: the processor is unavailable, and nothing is charged.',
    status: 'unavailable',
  },
  {
    value: 'pm_processor_slow',
    does: 'Succeeds after five seconds: a Visa card.',
    status: 'succeeded',
    card: visa,
    after_seconds: 5,
  },
]

const emails: readonly TestEmail[] = [
  { value: '+code123456@', does: 'Sets the sign-in code to these six digits: ada+code123456@example.test.' },
  { value: BOUNCE, does: 'Mail to this address bounces: ada+bounce@example.test.' },
]

export const testValuesOf = (cards: Pick<Cards, 'testMethods'> | undefined): TestValues => {
  const payment_methods = cards?.testMethods ?? []
  const others =
    payment_methods.length > 0
      ? 'Any other payment method is declined.'
      : 'For cards, use the test values of your card processor.'
  return { payment_methods, emails, note: `Amounts never change what happens. ${others}` }
}

export const bounces = (email: string): boolean => email.includes(BOUNCE)
