import type { ServiceContext } from '../context.js'
import { listUnsettled, retryUnsettled } from '../schedule/unsettled.js'
import type { Reader, Writer } from '../storage/storage.js'
import { seconds } from '../time.js'

export const showUnsettled = async (tx: Reader) => ({
  unsettled: (await listUnsettled(tx)).map(({ parkedAt, ...work }) => ({ ...work, parked_at: seconds(parkedAt) })),
})

/** Throws `not_found`. */
export const retryWork = (tx: Writer, id: string, { clock }: Pick<ServiceContext, 'clock'>): Promise<void> =>
  retryUnsettled(tx, id, clock.now())
