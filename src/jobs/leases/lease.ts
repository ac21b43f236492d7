import { randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { DAY } from '../../storage/retention.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

/**
 * A lease lets one process at a time work on a thing. Its holder does the work outside of transactions, and writes the
 * result only if it still has the lease:
 *
 * ```ts
 * const lease = await storage.write((tx) => takeLease(tx, { id: 'checkout:1', ms: 60_000 }, service))
 * if (!lease) return // somebody else works on it
 * const answer = await effect({ signal }) // with a deadline below 60 seconds
 * await storage.write(async (tx) => {
 *   if (!(await isLeaseCurrent(tx, lease))) return // somebody took over
 *   store(tx, answer)
 *   await releaseLease(tx, lease)
 * })
 * ```
 */
export interface Lease {
  /** The thing, such as `checkout:1`. */
  readonly id: string
  /** The instance name of the service that works on it, `:`, and a random part. */
  readonly holder: string
  /** Grows each time that anybody takes a lease, so a later holder has a higher one. */
  readonly fence: number
  /** When somebody else may take it, in Unix milliseconds of the service's clock. */
  readonly until: number
}

export const leases = collection<Lease>()(
  'leases',
  { byEnd: { fields: ['until'] } },
  { retention: { after: 'it ends, if nobody released it', keepMs: DAY, index: 'byEnd' } },
)

/** The longest lease. A lease that ends later was taken before the clock was moved back, and counts as ended. */
export const LONGEST_LEASE_MS = 10 * 60_000

export interface WantedLease {
  readonly id: string
  /** How long, in milliseconds: at most `LONGEST_LEASE_MS`. Longer than the deadline of the work. */
  readonly ms: number
  /** Instance names of services that have certainly ended, from `findEnded`. */
  readonly ended?: ReadonlySet<string> | undefined
}

type Holding = Pick<ServiceContext, 'storage' | 'instance' | 'clock' | 'random'>

/**
 * Takes a lease. Returns undefined while another holder has it, in this process too. A process that is alone with its
 * storage takes the leases of earlier processes at once.
 */
export async function takeLease(
  tx: Writer,
  { id, ms, ended }: WantedLease,
  service: Holding,
): Promise<Lease | undefined> {
  const at = service.clock.now()
  const held = await tx.get(leases, id)
  if (held && isHeld(held, { at, ended }, service)) return undefined
  await removeOldLeases(tx, at)
  const holder = `${service.instance}:${randomHex(service.random, 8)}`
  const lease = { id, holder, fence: await tx.nextId('leases'), until: endOf(ms, at) }
  tx.put(leases, lease)
  return lease
}

/** Whether `takeLease` would return undefined. */
export async function isLeaseTaken(
  tx: Reader,
  { id, ended }: Pick<WantedLease, 'id' | 'ended'>,
  service: Holding,
): Promise<boolean> {
  const held = await tx.get(leases, id)
  return held !== undefined && isHeld(held, { at: service.clock.now(), ended }, service)
}

/** Whether nobody has taken the lease since. Ask in the transaction that writes the result. */
export async function isLeaseCurrent(tx: Reader, { id, holder, fence }: Lease): Promise<boolean> {
  const stored = await tx.get(leases, id)
  return stored?.fence === fence && stored.holder === holder
}

/** Extends a lease to `ms` from now. Returns false if somebody else has taken it. */
export async function renewLease(
  tx: Writer,
  lease: Lease,
  { ms, at }: { readonly ms: number; readonly at: number },
): Promise<boolean> {
  if (!(await isLeaseCurrent(tx, lease))) return false
  tx.put(leases, { ...lease, until: endOf(ms, at) })
  return true
}

/** Frees the thing for everybody. Does nothing if somebody else has taken the lease. */
export async function releaseLease(tx: Writer, lease: Lease): Promise<void> {
  if (await isLeaseCurrent(tx, lease)) tx.remove(leases, lease.id)
}

function endOf(ms: number, at: number): number {
  if (ms > LONGEST_LEASE_MS) throw new RangeError(`a lease lasts at most ${LONGEST_LEASE_MS} ms, not ${ms}`)
  return at + ms
}

interface Judging {
  readonly at: number
  readonly ended?: ReadonlySet<string> | undefined
}

/** Whether a holder may still be working. Rows that hold their own claim ask this too. */
export function isHeld(
  { holder, until }: Pick<Lease, 'holder' | 'until'>,
  { at, ended }: Judging,
  { storage, instance }: Pick<ServiceContext, 'storage' | 'instance'>,
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
  { storage: { presence }, instance }: Pick<ServiceContext, 'storage' | 'instance'>,
): Promise<ReadonlySet<string>> {
  const ended = new Set<string>()
  if (!presence) return ended
  for (const name of new Set([...holders].map(instanceIn)))
    if (name !== instance && !(await presence.isAlive(name))) ended.add(name)
  return ended
}

/** Leases that nobody released. Each take removes more than it adds, so they never pile up. */
async function removeOldLeases(tx: Writer, at: number): Promise<void> {
  const old = await tx.find(leases, { index: 'byEnd', prefix: [], limit: 2 })
  for (const { id, until } of old) if (until < at - LONGEST_LEASE_MS) tx.remove(leases, id)
}
