import type { ServiceContext } from '../../http/context.js'
import { takeOverAll } from '../../jobs/flows/flow.js'
import { checkoutAttempts } from '../../market/checkout/attempt.js'
import { settleImports } from '../../payments/binder-imports/settle.js'
import { heldPayments } from '../../payments/payments/held-payment.js'

/** Ends what processes left unfinished that have ended. With `alone`, no other process uses the storage. */
export async function endUnfinished(service: ServiceContext, alone: boolean): Promise<void> {
  const claimant = alone ? { ...service, storage: { exclusive: true } } : service
  await service.storage.write(async (tx) => {
    await takeOverAll(tx, checkoutAttempts, { service, claimant })
    await takeOverAll(tx, heldPayments, { service, claimant })
  })
  // An import goes on over the pieces that it wrote, and those of a replaced state may be gone.
  await settleImports(service, alone ? { ...claimant, ongoing: new Map() } : claimant)
}
