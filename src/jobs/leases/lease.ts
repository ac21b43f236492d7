import type { ServiceContext } from '../../http/context.js'
import { DAY } from '../../storage/retention.js'
import { collection, type Storage } from '../../storage/storage.js'

/**
 * Says that one process works on a thing. Its holder does the work outside of transactions, and writes the result only if
 * the fence is still its own. Messages and keys hold their claims in their own rows.
 */
export interface Lease {
  /** The thing, such as the control of all processes. */
  readonly id: string
  /** The instance name of the service that works on it. A claim adds `:` and a random part. */
  readonly holder: string
  /** Grows with each holder, so a later one has a higher fence. */
  readonly fence: number
  /** When someone else may take it, in Unix milliseconds of the service's clock. */
  readonly until: number
}

export const leases = collection<Lease>()(
  'leases',
  { byEnd: { fields: ['until'] } },
  {
    growth: { by: 'the service', bound: 'One for each process and lane.' },
    retention: { after: 'it ends, if nobody released it', keepMs: DAY, index: 'byEnd' },
  },
)

/** The longest lease. A lease that ends later was taken before the clock was moved back, and counts as ended. */
export const LONGEST_LEASE_MS = 10 * 60_000

interface Judging {
  readonly at: number
  readonly ended?: ReadonlySet<string> | undefined
}

/** Whether a holder may still be working. Rows that hold their own claim ask this too. */
export function isHeld(
  { holder, until }: Pick<Lease, 'holder' | 'until'>,
  { at, ended }: Judging,
  { storage, instance }: Pick<ServiceContext, 'instance'> & { readonly storage: Pick<Storage, 'exclusive'> },
): boolean {
  if (until <= at || until > at + LONGEST_LEASE_MS) return false
  const by = instanceIn(holder)
  return by === instance || !(storage.exclusive || ended?.has(by))
}

/** The instance name of the service that holds something. */
export const instanceIn = (holder: string): string => holder.split(':', 1)[0] ?? ''

/**
 * The services among these holders that have certainly ended, by instance name. It asks the storage's presence, so call
 * it outside of a transaction.
 */
export async function findEnded(
  holders: Iterable<string>,
  {
    storage: { presence },
    instance,
  }: Pick<ServiceContext, 'instance'> & { readonly storage: Pick<Storage, 'presence'> },
): Promise<ReadonlySet<string>> {
  const ended = new Set<string>()
  if (!presence) return ended
  for (const name of new Set([...holders].map(instanceIn)))
    if (name !== instance && !(await presence.isAlive(name))) ended.add(name)
  return ended
}
