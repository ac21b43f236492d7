import { at } from './ask.js'
import type { Content } from './back-end.js'

/** What the shop's server gave for a payment. */
export interface Bought {
  readonly hash: string
  readonly content: Content
  readonly payment: { readonly id: number; readonly hostname: string; readonly created_at: number }
}

/** Of the service's state: a payment that its seller validated. */
interface PaymentRow {
  readonly id: number
  readonly hash: string
  readonly created_at: number
  readonly nonce_used_at: number | null
}

const KEPT = 50
const key = () => `farthing demo shelf ${at('')}`

/** Keeps what was bought, where it outlives the page. */
export function putOnShelf(bought: Bought): void {
  localStorage.setItem(key(), JSON.stringify([bought, ...shelf()].slice(0, KEPT)))
}

function shelf(): Bought[] {
  return JSON.parse(localStorage.getItem(key()) ?? '[]')
}

/** What was bought and is paid for in the present state, newest first: a state can be reset, or another be opened. */
export function paidFor(payments: readonly PaymentRow[]): Bought[] {
  return shelf().filter(({ hash, payment: { id, created_at } }) =>
    payments.some(
      (each) =>
        each.id === id &&
        each.hash === hash &&
        Math.floor(each.created_at / 1000) === created_at &&
        each.nonce_used_at !== null,
    ),
  )
}
