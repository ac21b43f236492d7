import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { listUnsettled, retryUnsettled } from '../../jobs/unsettled/unsettled.js'
import type { Reader, Writer } from '../../storage/storage.js'

export const showUnsettled = async (tx: Reader) => ({
  unsettled: (await listUnsettled(tx)).map(({ parkedAt, ...work }) => ({ ...work, parked_at: seconds(parkedAt) })),
})

/** Retries unsettled work. Throws `not_found`. */
export const retryWork = (tx: Writer, id: string, { clock }: Pick<ServiceContext, 'clock'>): Promise<void> =>
  retryUnsettled(tx, id, clock.now())
