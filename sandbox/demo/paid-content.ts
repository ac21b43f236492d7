import type { Content } from './back-end.js'
import { urlOf } from './requests.js'

/** What the shop's server sent for a payment. */
export interface PaidContent {
  readonly hash: string
  readonly content: Content
  readonly payment: { readonly id: number; readonly hostname: string; readonly created_at: number }
}

/** A payment in the service's state. */
interface PaymentRow {
  readonly id: number
  readonly hash: string
  readonly created_at: number
  readonly nonce_used_at: number | null
}

const MAX_STORED = 50
const key = () => `farthing demo shelf ${urlOf('')}`

/** Stores paid content in the browser, where it outlives the page. */
export function storePaidContent(bought: PaidContent): void {
  localStorage.setItem(key(), JSON.stringify([bought, ...readStored()].slice(0, MAX_STORED)))
}

function readStored(): PaidContent[] {
  return JSON.parse(localStorage.getItem(key()) ?? '[]')
}

/** Returns the content that is paid for in the current state, newest first. The user may have reset or replaced the state. */
export function readPaidContent(payments: readonly PaymentRow[]): PaidContent[] {
  return readStored().filter(({ hash, payment: { id, created_at } }) =>
    payments.some(
      (each) =>
        each.id === id &&
        each.hash === hash &&
        Math.floor(each.created_at / 1000) === created_at &&
        each.nonce_used_at !== null,
    ),
  )
}
