import { problem } from '../../base/problem.js'
import type { Maker, ServiceContext } from '../../http/context.js'
import { addDaily, type DailyLimit, waitOfDaily, waitText } from '../../jobs/rates/rate.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { countedOwner } from './new-per-day.js'

/** The name of the count. */
const STORED_BYTES = 'stored_bytes'

/** The answers up to this size, in bytes, are not counted, so that an ordinary call costs no read more. */
const SMALL = 8192

type Limited = Pick<ServiceContext, 'limits' | 'clock' | 'sandbox'>

/**
 * Counts the bytes of a large answer that is to be stored for its maker. False if they have reached
 * `limits.storedBytesPerDay`, so that it should not be stored.
 */
export async function countStored(tx: Writer, bytes: number, maker: Maker, service: Limited): Promise<boolean> {
  if (bytes <= SMALL) return true
  const limit = await limitOf(tx, maker, service)
  return limit === undefined || addDaily(tx, limit, bytes)
}

/** Throws `too_many_new` if a maker has reached `limits.storedBytesPerDay`, before they pay for what must be stored. */
export async function checkStored(tx: Reader, maker: Maker, service: Limited): Promise<void> {
  const limit = await limitOf(tx, maker, service)
  const seconds = limit && (await waitOfDaily(tx, limit))
  if (seconds === undefined) return
  const most = service.limits.storedBytesPerDay
  throw problem('too_many_new', {
    detail: `The limit is ${most} stored bytes a day. ${waitText(seconds, { option: 'limits.storedBytesPerDay', sandbox: service.sandbox })}`,
    fields: { of: STORED_BYTES, limit: most },
    headers: { 'retry-after': String(seconds) },
  })
}

async function limitOf(tx: Reader, maker: Maker, { limits, clock }: Limited): Promise<DailyLimit | undefined> {
  const subject = await countedOwner(tx, maker)
  const most = limits.storedBytesPerDay
  return subject === undefined ? undefined : { kind: STORED_BYTES, subject, most, at: clock.now() }
}
