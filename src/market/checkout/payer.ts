import type { OnSignIn } from '../../http/context.js'
import { type ChargeStatus, checkoutCharges } from './charge.js'
import { checkouts, type Payer, payerOfSession } from './checkout-row.js'

/** Statuses of charges that are not settled for their payer. */
const UNSETTLED: readonly ChargeStatus[] = ['pending', 'charged', 'refunding', 'unrefunded', 'refund_lost']

/** More than a guest ever begins, and few enough for one transaction. */
const MAX_ROWS = 1000

/**
 * Makes a guest who signs in the payer of what they began: their charges pay for the user, and the user sees their
 * receipts. The old session id becomes useless.
 */
export const moveCheckoutsAtSignIn: OnSignIn = async (tx, { previousSessionId, userId }) => {
  const guest = payerOfSession(previousSessionId, null)
  const payer: Payer = `user:${userId}`
  for (const status of UNSETTLED)
    for (const charge of await tx.find(checkoutCharges, { index: 'byPayer', prefix: [guest, status], limit: MAX_ROWS }))
      tx.put(checkoutCharges, { ...charge, payer })
  for (const checkout of await tx.find(checkouts, { index: 'byPayer', prefix: [guest], limit: MAX_ROWS }))
    tx.put(checkouts, { ...checkout, payer })
}
