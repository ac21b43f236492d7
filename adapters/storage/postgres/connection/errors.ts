import { StorageFull, StorageUnavailable } from '../../../../src/storage/storage.js'
import { messageOf } from '../../../../src/storage/unknown.js'
import { ConnectionLost } from './session.js'

export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : ''
}

/** PostgreSQL stops or starts, has no connection left, or became a copy of another server, which takes no writes. */
const UNREACHABLE = /^(08|57P|25P03$|25006$|53300$)/
/** The driver, then the system. */
const UNCONNECTED = /^(CONNECT|E(CONN|HOST|NET|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|NOENT))/

/** Whether another connection may succeed later. Nothing says what became of the statements that were under way. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof ConnectionLost || UNREACHABLE.test(codeOf(error)) || UNCONNECTED.test(codeOf(error))

/** Whether the database undid a transaction because of another one, so that it should run again. */
export const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes(codeOf(error))
/** The database refuses what one write stores. */
export const REFUSED = 'the database refuses the write'

/** An error of the storage for one of the database, whose transaction was undone. Others stay as they are. */
export function failureOf(cause: unknown): unknown {
  const code = codeOf(cause)
  const message = messageOf(cause)
  const unavailable = (what: string, reason: string) =>
    new StorageUnavailable(`${what}. Nothing of this was stored.`, { cause, reason })
  if (isUnreachable(cause) || isConflict(cause))
    return unavailable(`The database cannot be reached (${message})`, 'the database cannot be reached')
  if (code === '53100')
    return new StorageFull('The disk of the database is full, and nothing of this write was stored.', { cause })
  if (!/^[0-9A-Z]{5}$/.test(code)) return cause
  return unavailable(`The database refused a statement (${code}: ${message})`, REFUSED)
}

/** The database cannot be used. The message is one line that says what to do, without the password. */
export class DatabaseRefused extends Error {
  override name = 'DatabaseRefused'
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host could not be looked up',
  ENOENT: 'there is no such socket',
  CONNECT_TIMEOUT: 'it does not answer',
  CONNECTION_CLOSED: 'it closed the connection',
  '53300': 'it takes no more connections',
  '57P03': 'it is starting or stopping',
}

const advice: Readonly<Record<string, (address: string) => string>> = {
  '28P01': (address) => `the database refuses the user of ${address}: the password is wrong, or there is no such user`,
  '28000': (address) => `the database refuses the user of ${address}: allow it to connect, or choose another user`,
  '3D000': (address) => `there is no database ${address}: create it, for example with createdb`,
  '42501': (address) => `the user of ${address} may not create the tables of farthing: grant it CREATE on the database`,
  SASL_SIGNATURE_MISMATCH: (address) => `the server at ${address} is not the one that knows this password`,
}

/** An error of opening a database as a `DatabaseRefused`, if it is the database's. Others stay as they are. */
export function whyRefused(error: unknown, address: string): unknown {
  if (error instanceof DatabaseRefused) return error
  const code = codeOf(error)
  const refused = (message: string) => new DatabaseRefused(message, { cause: error })
  const say = Object.hasOwn(advice, code) ? advice[code] : undefined
  if (say) return refused(say(address))
  const reason = Object.hasOwn(reasons, code) ? reasons[code] : messageOf(error)
  if (isUnreachable(error)) return refused(`cannot connect to the database ${address}: ${reason}`)
  const isOfDatabase = /^[0-9A-Z]{5}$/.test(code)
  return isOfDatabase ? refused(`cannot use the database ${address}: ${messageOf(error)} (${code})`) : error
}

/** Reads the address of a database, and how messages show it. Throws `DatabaseRefused` if it is none. */
export function addressIn(url: string): string {
  // Messages never repeat what was given: it may hold a password.
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url))
    throw new DatabaseRefused('the URL of a database looks like postgres://user:password@host:5432/name')
  const { username, host, pathname } = new URL(url)
  return `${username && `${username}@`}${host}${pathname}`
}
