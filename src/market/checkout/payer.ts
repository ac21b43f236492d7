import type { OnSignIn } from '../../http/context.js'
import { type ChargeStatus, checkoutCharges } from './charge.js'
import { checkouts, type Payer, payerOfSession } from './checkout.js'

/** Charges that something is yet to come of for their payer. */
const OPEN: readonly ChargeStatus[] = ['pending', 'charged', 'refunding', 'unrefunded', 'refund_lost']

/** More than a guest begins, and few enough for one transaction. */
const MOST = 1000

/**
 * A guest who signs in stays the payer of what they began: what their card was charged pays for them, and what they paid shows its
 * receipt to them. The old session id is nobody's then.
 */
export const keepPayer: OnSignIn = async (tx, { previousSessionId, userId }) => {
  const guest = payerOfSession(previousSessionId, null)
  const payer: Payer = `user:${userId}`
  for (const status of OPEN)
    for (const charge of await tx.find(checkoutCharges, { index: 'byPayer', prefix: [guest, status], limit: MOST }))
      tx.put(checkoutCharges, { ...charge, payer })
  for (const checkout of await tx.find(checkouts, { index: 'byPayer', prefix: [guest], limit: MOST }))
    tx.put(checkouts, { ...checkout, payer })
}
