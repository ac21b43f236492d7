import { isPublicAddress, networkOf } from '../../base/ip-address.js'
import { digest } from '../../base/secrets.js'
import type { Maker, ServiceContext } from '../../http/context.js'
import { countDaily } from '../../jobs/rates/rate.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { responsibleFor } from './responsible.js'

/** Counts a new row of the collection `kind` for whoever is responsible for its maker. Throws `too_many_new`. */
export async function countNew(
  tx: Writer,
  kind: string,
  maker: Maker,
  { limits, clock, sandbox }: Pick<ServiceContext, 'limits' | 'clock' | 'sandbox'>,
): Promise<void> {
  const subject = await countedOwner(tx, maker)
  if (subject !== undefined)
    await countDaily(tx, { kind, subject, most: limits.newPerDay, at: clock.now() }, { sandbox })
}

/**
 * Whom a daily limit counts. Undefined for a private address: those are of proxies and of this machine, behind which are
 * many.
 */
export const countedOwner = async (tx: Reader, { owner, address }: Maker): Promise<string | undefined> =>
  owner === undefined ? networkAt(address) : responsibleFor(tx, owner)

/** A network, whose name does not say its address. */
export type ClientNetwork = `address:${string}`

/** The network that limits count for a client's address. Undefined if it is unknown or private. */
export const networkAt = (address: string | undefined): ClientNetwork | undefined =>
  address !== undefined && isPublicAddress(address) ? `address:${digest(networkOf(address))}` : undefined
