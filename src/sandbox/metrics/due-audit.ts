import type { SandboxContext, ServiceContext } from '../../http/context.js'
import type { Audit } from '../../money/ledger/audit.js'
import { StorageUnavailable } from '../../storage/storage.js'
import { type SandboxParts, sandboxOf } from '../onion/context.js'

/** How long a result of the audit counts as new. */
const NEW_MS = 10 * 60_000
/** A ledger that is large is audited less often: auditing takes at most this part of the time. */
const PART_OF_TIME = 0.1

/** The sandboxes whose ledgers are audited now. */
const auditing = new WeakSet<SandboxContext>()

/**
 * Starts an audit of the ledger in the background, if the last one is old and none runs. Its result is a measurement. A
 * storage that cannot be read leaves the last result.
 */
export function startDueAudit(service: Pick<ServiceContext, 'sandbox' | 'log'>, audit: () => Promise<Audit>): void {
  const sandbox = sandboxOf(service)
  if (auditing.has(sandbox) || !isDue(sandbox)) return
  auditing.add(sandbox)
  audit()
    .catch((cause: unknown) => {
      if (!(cause instanceof StorageUnavailable)) service.log.error('the ledger could not be audited', cause)
    })
    .finally(() => auditing.delete(sandbox))
}

function isDue({ measurements, clock }: SandboxParts): boolean {
  const audit = measurements?.audit
  return audit === undefined || clock.realNow() - audit.at >= Math.max(NEW_MS, audit.ms / PART_OF_TIME)
}
