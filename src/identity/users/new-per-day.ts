import { isPublicAddress, networkOf } from '../../base/ip-address.js'
import { digest } from '../../base/secrets.js'
import type { Maker, ServiceContext } from '../../http/context.js'
import { countDaily } from '../../jobs/rates/daily-count.js'
import type { Writer } from '../../storage/storage.js'
import { responsibleFor } from './responsible.js'

/**
 * Counts a new row of the collection `kind` for whoever is responsible for its maker. Private addresses are those of
 * proxies and of this machine, behind which are many, so they are not counted. Throws `too_many_new`.
 */
export async function countNew(
  tx: Writer,
  kind: string,
  { owner, address }: Maker,
  { limits, clock }: Pick<ServiceContext, 'limits' | 'clock'>,
): Promise<void> {
  const subject = owner === undefined ? subjectAt(address) : await responsibleFor(tx, owner)
  if (subject !== undefined) await countDaily(tx, { kind, subject, most: limits.newPerDay, at: clock.now() })
}

const subjectAt = (address: string | undefined): string | undefined =>
  address !== undefined && isPublicAddress(address) ? `address:${digest(networkOf(address))}` : undefined
