import type { ServiceContext } from '../../http/context.js'
import { takeOverAll } from '../../jobs/flows/takeover.js'
import { checkoutAttempts } from '../../market/checkout/attempt.js'
import { settleImports } from '../../payments/binder-imports/settle.js'
import { heldPayments } from '../../payments/payments/held-payment.js'

/**
 * Ends what processes left unfinished that have ended. With `alone`, no other process uses the storage, and what this one
 * was doing belongs to the state before.
 */
export async function endUnfinished(service: ServiceContext, alone: boolean): Promise<void> {
  const claimant = alone ? { ...service, ongoing: new Map(), storage: { exclusive: true } } : service
  await service.storage.write(async (tx) => {
    await takeOverAll(tx, checkoutAttempts, { service, claimant })
    await takeOverAll(tx, heldPayments, { service, claimant })
  })
  await settleImports(service, claimant)
}
