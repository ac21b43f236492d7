import { LimitedMap } from '../../base/memo.js'
import type {
  Alarm,
  CardCharge,
  Cards,
  CardToSave,
  ChargeResult,
  SaveResult,
  TestPaymentMethod,
} from '../../base/ports.js'
import { required } from '../../base/required.js'
import { testMethods } from './test-values.js'

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
