import { LimitedMap } from '../../base/memo.js'
import type {
  Alarm,
  CardCharge,
  Cards,
  CardToSave,
  ChargedCard,
  ChargeResult,
  SaveResult,
  TestPaymentMethod,
} from '../../base/ports.js'
import { required } from '../../base/required.js'

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

const MOST_CHARGES = 1000

/** The card processor of a sandbox. It charges nobody and knows only the payment methods of `testMethods`. */
export function testProcessor({ alarm }: { alarm: Alarm }): Cards {
  const charges = new LimitedMap<string, Promise<ChargeResult>>(MOST_CHARGES)
  return {
    testMethods,
    save: async (card) => saved(card),
    charge(charge) {
      const answer = charges.get(charge.id) ?? answerTo(charge, alarm)
      charges.set(charge.id, answer)
      return answer
    },
    refund: async ({ id }) => ({ status: 'refunded', refund_id: `re_test_${id}` }),
  }
}

function saved({ payment_method_id }: CardToSave): SaveResult {
  const method = methodNamed(payment_method_id)
  if (!method) return UNKNOWN
  const { status, card, saves } = method
  if (card && (saves || status === 'succeeded')) return { status: 'saved', payment_method_id, card }
  return status === 'unavailable' ? { status } : { status: 'declined', reason: reasonOf(method) }
}

const UNKNOWN = { status: 'declined', reason: 'unknown payment method' } as const

const reasonOf = ({ value, reason }: TestPaymentMethod): string =>
  required(reason, `the reason why ${value} is declined`)

const methodNamed = (name: string): TestPaymentMethod | undefined => testMethods.find(({ value }) => value === name)

async function answerTo({ id, payment_method_id }: CardCharge, alarm: Alarm): Promise<ChargeResult> {
  const method = methodNamed(payment_method_id)
  if (!method) return UNKNOWN
  const { after_seconds = 0 } = method
  if (after_seconds > 0) await new Promise<void>((resolve) => alarm.set(after_seconds * 1000, resolve))
  const { status, card } = method
  if (status === 'succeeded') return { status, charge_id: `ch_test_${id}`, ...(card && { card }) }
  return status === 'declined' ? { status, reason: reasonOf(method) } : { status }
}
