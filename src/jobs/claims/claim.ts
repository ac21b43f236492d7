import type { ServiceContext } from '../../http/context.js'
import type { Storage } from '../../storage/storage.js'

/** Says in a row that a process works on it, and until when a different process may not. */
export interface RowClaim {
  /** The instance name of the service that works on it, `:` and a random part. */
  readonly holder: string
  /** When another process may take it, in Unix milliseconds of the service's clock. */
  readonly until: number
}

/** The longest claim. A claim that ends later was taken before the clock was moved back, and counts as ended. */
export const LONGEST_CLAIM_MS = 10 * 60_000

interface Judging {
  readonly at: number
  readonly ended?: ReadonlySet<string> | undefined
}

/** Whether the holder of a claim may still be working. `ended` names services that have certainly ended. */
export function isHeld(
  { holder, until }: RowClaim,
  { at, ended }: Judging,
  { storage, instance }: Pick<ServiceContext, 'instance'> & { readonly storage: Pick<Storage, 'exclusive'> },
): boolean {
  if (until <= at || until > at + LONGEST_CLAIM_MS) return false
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
