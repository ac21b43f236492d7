import { isPublicAddress, networkOf } from '../../base/ip-address.js'
import { userIdOf } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { digest } from '../../base/secrets.js'
import type { Maker, ServiceContext } from '../../http/context.js'
import { addDaily, countDaily, type DailyLimit, waitOfDaily, waitText } from '../../jobs/rates/rate.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { isProven, users } from './user.js'

/** The owner whose limits count what `owner` causes. An account makes any number of users, so unproven ones count against it. */
export async function responsibleFor<O extends string>(tx: Reader, owner: O): Promise<O | `account:${number}`> {
  const id = userIdOf(owner)
  const user = id === undefined ? undefined : await tx.get(users, id)
  return user && !isProven(user) && user.made_by !== null ? `account:${user.made_by}` : owner
}

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

/** Whom a daily limit counts. Undefined for a private address: many are behind those of proxies and of this machine. */
const countedOwner = async (tx: Reader, { owner, address }: Maker): Promise<string | undefined> =>
  owner === undefined ? networkAt(address) : responsibleFor(tx, owner)

/** A network, whose name does not say its address. */
export type ClientNetwork = `address:${string}`

/** The network that limits count for a client's address. Undefined if it is unknown or private. */
export const networkAt = (address: string | undefined): ClientNetwork | undefined =>
  address !== undefined && isPublicAddress(address) ? `address:${digest(networkOf(address))}` : undefined

const STORED_BYTES = 'stored_bytes'

/** The answers up to this size, in bytes, are not counted, so that an ordinary call costs no read more. */
const SMALL = 8192

type Limited = Pick<ServiceContext, 'limits' | 'clock' | 'sandbox'>

/** Counts the bytes of a large answer to store for its maker. False if that would exceed `limits.storedBytesPerDay`. */
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
