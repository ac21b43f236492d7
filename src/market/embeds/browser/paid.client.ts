import { pageOrigin, sendMessage } from './parent.client.js'
import { callSignedIn, hasSession, Refused, storedValue } from './service.client.js'

/** What was paid for in this browser, on this page's origin, so that the same is not sold twice by accident. */

/** Tells the page too. It got the nonce when the payment was made. */
export interface PaidRecord {
  readonly payment_id: number
  /** `0.25 USD`. */
  readonly price: string
  readonly descriptor: string
  readonly hostname: string
  readonly nonce: string
  readonly timestamp: number
}

/** Whether the page asked that the same is not sold again. */
export const sellsOnce = new URLSearchParams(location.search).get('once') === 'true'

/** Per origin: pages of other origins of the same site may share the frame's storage. */
const record = (hash: string) => storedValue('localStorage', `paid.${hash}.${encodeURIComponent(pageOrigin ?? '')}`)

export function readPaid(hash: string): PaidRecord | undefined {
  if (!sellsOnce) return undefined
  try {
    return JSON.parse(decodeURIComponent(record(hash).get() ?? 'null')) ?? undefined
  } catch {
    return undefined
  }
}

export function storePaid(hash: string, paid: PaidRecord): void {
  record(hash).set(encodeURIComponent(JSON.stringify(paid)))
}

/** Whether the service still knows the payment of the user who is signed in. Forgets a record that it does not know. */
export async function isStillPaid(hash: string, { payment_id }: PaidRecord): Promise<boolean> {
  // Paid in a window of its own, where the user signed in.
  if (!hasSession()) return true
  try {
    const known = await callSignedIn<{ hash: string; status: string }>('GET', `/v4/payments/${payment_id}`)
    if (known.hash === hash && known.status === 'posted') return true
  } catch (refused) {
    // Nobody knows while the service does not answer.
    if (!(refused instanceof Refused) || refused.status < 400 || refused.status >= 500) return true
  }
  record(hash).set(null)
  return false
}

export const tellPaid = (paid: PaidRecord): void => sendMessage('_TQMPaid', paid)

/** Calls back when another frame of this page has sold the same. */
export const onPaidElsewhere = (hash: string, then: () => void): void =>
  addEventListener('storage', ({ key, newValue }) => {
    if (newValue !== null && key?.includes(`paid.${hash}.`)) then()
  })
