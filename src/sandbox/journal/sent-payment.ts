import { hiddenKey } from '../../base/secrets.js'
import { fieldOf } from '../../storage/unknown.js'

/** What tells signed payments apart, without what makes them pay. */
export interface PaymentMarks {
  readonly payer?: string | undefined
  /** The nonce of the signed transfer, which a chain would show to everybody. */
  readonly eip3009?: string | undefined
  /** Digests: equal ones are seen to be equal. */
  readonly 'payment-identifier'?: string | undefined
  readonly mpp?: string | undefined
}

/** The marks of a payment of x402, which may stand in the body of a settlement, or of a credential of MPP. */
export function marksOfPayment(sent: unknown): PaymentMarks {
  const payment = fieldOf(sent, 'paymentPayload') ?? sent
  const payload = fieldOf(payment, 'payload')
  const signed = fieldOf(payload, 'authorization') ?? payload
  return {
    payer: matching(fieldOf(signed, 'from'), /^0x[0-9a-f]{40}$/i),
    eip3009: matching(fieldOf(signed, 'nonce'), /^0x[0-9a-f]{64}$/i),
    'payment-identifier': hidden(['extensions', 'payment-identifier', 'info', 'id'].reduce(fieldOf, payment)),
    mpp: hidden(fieldOf(fieldOf(payment, 'challenge'), 'id')),
  }
}

/** The same as ` payer=… eip3009=…`, for a header that is JSON in base64 or base64url. Empty if it is none. */
export function shownMarks(value: string): string {
  const marks = Object.entries(marksOfPayment(decoded(value))).filter(([, mark]) => mark !== undefined)
  return marks.map(([name, mark]) => ` ${name}=${mark}`).join('')
}

/** The marks in a header that `shownMarks` has written. */
export const readMarks = (shown: string): PaymentMarks =>
  Object.fromEntries([...shown.matchAll(/ (payer|eip3009|payment-identifier|mpp)=(\S+)/g)].map(([, ...mark]) => mark))

const matching = (value: unknown, form: RegExp): string | undefined =>
  typeof value === 'string' && form.test(value) ? value.toLowerCase() : undefined

const hidden = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? hiddenKey(value) : undefined

function decoded(value: string): unknown {
  try {
    return JSON.parse(atob(value.replaceAll('-', '+').replaceAll('_', '/')))
  } catch {
    return undefined
  }
}
