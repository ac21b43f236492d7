import type { ServiceContext } from '../../http/context.js'
import { sandboxOf } from '../onion/context.js'
import { keptClock, keptFaults } from '../settings/settings.js'
import { takeKey } from '../settings/take-key.js'
import { REAL_TIME } from './bootstrap.js'

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
