import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { listDeadLetters, retryDeadLetter } from '../../jobs/dead-letters/dead-letter.js'
import type { Reader, Writer } from '../../storage/storage.js'

export const showDeadLetters = async (tx: Reader) => ({
  dead_letters: (await listDeadLetters(tx)).map(({ parkedAt, ...work }) => ({ ...work, parked_at: seconds(parkedAt) })),
})

/** Retries a dead letter. Throws `not_found`. */
export const retryWork = (tx: Writer, id: string, { clock }: Pick<ServiceContext, 'clock'>): Promise<void> =>
  retryDeadLetter(tx, id, clock.now())
