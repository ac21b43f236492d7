import type { ServiceContext } from '../../http/context.js'
import { takeOverAll } from '../../jobs/flows/flow.js'
import { checkoutAttempts } from '../../market/checkout/attempt.js'
import { settleImports } from '../../payments/binder-imports/settle.js'
import { heldPayments } from '../../payments/payments/held-payment.js'
import { sandboxOf } from '../onion/context.js'
import { keptClock, keptFaults, REAL_TIME, takeKey } from '../settings/settings.js'

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

/** Takes over the clock, the key and the faults that a different process has stored, and forgets what was of a former state. */
export async function followState(kind: 'clock' | 'faults' | 'state', service: ServiceContext): Promise<void> {
  await takeKey(service)
  const { storage } = service
  if (!service.sandbox) return
  const sandbox = sandboxOf(service)
  const { clock, armed } = await storage.read(async (tx) => ({
    clock: await keptClock(tx),
    armed: await keptFaults(tx),
  }))
  sandbox.clock.restore(clock ?? REAL_TIME)
  await sandbox.faults.follow(armed ?? [])
  if (kind === 'state') sandbox.handedApprovals.clear()
}
