import { isPublicAddress, networkOf } from '../../base/ip-address.js'
import { userIdOf } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { digest } from '../../base/secrets.js'
import { normalEmail } from '../../base/text/email.js'
import { secondsDigits } from '../../base/time.js'
import type { Limiting, Maker, ServiceContext } from '../../http/context.js'
import { type EventOwner, findEvents, type NewEvent, putEvent, recordEvent } from '../../jobs/events/event.js'
import { addDaily, countDaily, type DailyLimit, waitOfDaily, waitText } from '../../jobs/rates/rate.js'
import { firstQuantity } from '../../money/digital-quantities/digital-quantity.js'
import { createTwin, type TwinContext } from '../../money/twins/twin.js'
import { countedDaily } from '../../storage/growth.js'
import { getExisting, newestFirst, type PageBounds } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { type ClientRow, clientsOf, createClient, isNewer, userClientSecret } from '../tokens/token.js'

/** A person with an email address and a twin. */
export interface UserRow {
  readonly id: number
  /** In the form of `normalEmail`. */
  readonly email: string
  readonly made_by: number | null
  /** Rises when all ends with which others could act for the user. What has a lower one is dead, and swept later. */
  readonly generation: number
  /** When a code that was mailed to the email was first entered; null until then. */
  readonly email_verified_at: number | null
  /** The subject of OpenID Connect, if it is not the id. See `subjectOf`. */
  readonly subject?: string
  readonly is_android: boolean
  readonly is_ios: boolean
  readonly created_at: number
  readonly updated_at: number
  readonly deleted_at: number | null
}

export const users = collection<UserRow>()(
  'users',
  { byEmail: { fields: ['email'], unique: true }, byMaker: { fields: ['made_by'] } },
  { growth: countedDaily('an account, by createUser'), retention: { forever: 'A user owns value.' } },
)

/** Records an event that the user sees. `actor`: default the user. */
export async function recordUserEvent(
  tx: Writer,
  userId: number,
  { actor = `user:${userId}`, ...event }: Omit<NewEvent, 'owners' | 'actor'> & { readonly actor?: string },
): Promise<void> {
  await recordEvent(tx, { owners: [`user:${userId}`], actor, ...event })
}

/** The generation of an owner. 0 of an owner that is no user. */
export async function generationOf(tx: Reader, owner: string): Promise<number> {
  return (await userOf(tx, owner))?.generation ?? 0
}

/** Whether the user has proven their email. */
export const isProven = ({ email_verified_at }: UserRow): boolean => email_verified_at !== null

/** The `sub` of apps. The first proof of the email changes it, so that no app takes the owner for whoever used the user before. */
export const subjectOf = ({ id, subject = String(id) }: UserRow): string => subject

/** The subject of a user from their first proof on. */
export const provenSubject = ({ id }: UserRow): string => `${id}.1`

/** Returns the user that apps know by this subject now. */
export async function userBySubject(tx: Reader, subject: string): Promise<UserRow | undefined> {
  const user = await tx.get(users, Number.parseInt(subject, 10))
  return user && subjectOf(user) === subject ? user : undefined
}

export interface NewUser {
  readonly email: string
  readonly at: number
  readonly madeBy: number | null
  /** Whether the email is proven. Default: false, because anyone can name any address. */
  readonly proven?: boolean
  /** Whether to create client credentials. Default: true. */
  readonly credentials?: boolean
  /** Fixed by a seed. */
  readonly clientId?: string | undefined
  readonly hostname?: string | undefined
}

/** Creates a user, their client credentials, and a primary twin in the first digital quantity. Throws `email_taken`. */
export async function createUser(
  tx: Writer,
  { email, at, madeBy, proven = false, credentials = true, clientId, hostname }: NewUser,
  context: TwinContext,
): Promise<UserRow> {
  if (await userByEmail(tx, email)) throw problem('email_taken')
  const user: UserRow = {
    id: await tx.nextId('users'),
    email: normalEmail(email),
    made_by: madeBy,
    generation: 0,
    email_verified_at: proven ? at : null,
    is_android: false,
    is_ios: false,
    created_at: at,
    updated_at: at,
    deleted_at: null,
  }
  tx.put(users, user)
  if (credentials) await createClient(tx, { kind: 'user', id: user.id, at, clientId }, context)
  const { id: dq } = await firstQuantity(tx)
  await createTwin(tx, { owner: `user:${user.id}`, dq, at, hostname }, context)
  return user
}

export async function userByEmail(tx: Reader, email: string): Promise<UserRow | undefined> {
  const [user] = await tx.find(users, { index: 'byEmail', prefix: [normalEmail(email)], limit: 1 })
  return user
}

/** Returns the user with this email, if they have proven it. */
export async function provenUserByEmail(tx: Reader, email: string): Promise<UserRow | undefined> {
  const user = await userByEmail(tx, email)
  return user && isProven(user) ? user : undefined
}

/** Returns the email of an owner, if that is a user. It may be unproven. */
export const emailOf = async (tx: Reader, owner: string): Promise<string | undefined> =>
  (await userOf(tx, owner))?.email

/** Returns the email of an owner, if that is a user who has proven it. */
export async function provenEmailOf(tx: Reader, owner: string): Promise<string | undefined> {
  const user = await userOf(tx, owner)
  return user && isProven(user) ? user.email : undefined
}

async function userOf(tx: Reader, owner: string): Promise<UserRow | undefined> {
  const id = userIdOf(owner)
  return id === undefined ? undefined : tx.get(users, id)
}

/** Returns a user without client secrets, for their sessions. */
export const readUserWithoutSecrets = async (tx: Reader, id: number) => showUser(await getExisting(tx, users, id))

/** Returns a user without client secrets, for callers who know the user's email. Throws `not_found`. */
export async function readUserByEmail(tx: Reader, id: number, email: string | undefined) {
  const user = await tx.get(users, id)
  if (!user || email === undefined || normalEmail(email) !== normalEmail(user.email)) throw problem('not_found')
  return showUser(user)
}

/** Returns a user who was just created, with their client secrets. */
export const showNewUser = async (tx: Reader, user: UserRow, context: Pick<ServiceContext, 'keys'>) => ({
  ...showUser(user),
  secrets: showSecrets(await clientsOf(tx, 'user', user.id), context),
})

/** The user for a program of theirs. Secrets of newer credentials are null, so that whoever stole old ones cannot follow. */
export async function readOwnUser(
  tx: Reader,
  { id, clientId }: { readonly id: number; readonly clientId: string | undefined },
  context: Pick<ServiceContext, 'keys'>,
) {
  const user = await getExisting(tx, users, id)
  const known = await clientsOf(tx, 'user', id)
  const own = known.find((client) => client.id === clientId)
  const secrets = showSecrets(known, context).map((shown, i) => {
    const client = required(known[i], 'the client of a shown secret')
    return own && !isNewer(client, own) ? shown : { ...shown, client_secret: null }
  })
  return { ...showUser(user), secrets }
}

export async function listUsers(tx: Reader, accountId: number, page: PageBounds) {
  const { rows, next } = await newestFirst(tx, users, { index: 'byMaker', prefix: [accountId], ...page })
  return { users: rows.map(showUser), next }
}

export interface ShownUser {
  id: number
  email: string
  created_at: string
  updated_at: string
  deleted_at: string | null
  is_android: boolean
  is_ios: boolean
  secrets: ShownSecret[]
}

interface ShownSecret {
  client_id: string
  client_secret: string
  created_at: string
  updated_at: string
  deleted_at: string | null
}

export const showUser = (user: UserRow): Omit<ShownUser, 'secrets'> => ({
  id: user.id,
  email: user.email,
  created_at: secondsDigits(user.created_at),
  updated_at: secondsDigits(user.updated_at),
  deleted_at: user.deleted_at === null ? null : secondsDigits(user.deleted_at),
  is_android: user.is_android,
  is_ios: user.is_ios,
})

export const showSecrets = (rows: readonly ClientRow[], context: Pick<ServiceContext, 'keys'>): ShownSecret[] =>
  rows.map((client) => ({
    client_id: client.id,
    client_secret: userClientSecret(client.id, context),
    created_at: secondsDigits(client.created_at),
    updated_at: secondsDigits(client.updated_at),
    deleted_at: client.deleted_at === null ? null : secondsDigits(client.deleted_at),
  }))

/** How many events of mails from before the first proof a user gets. */
const MOST_SHOWN = 20
const addressOf = (email: string): EventOwner => `address:${digest(normalEmail(email))}`

/** Who sees what happens to a mail: the user who has proven the address, or else whoever proves it later. */
export async function mailOwner(tx: Reader, to: string): Promise<EventOwner> {
  const user = await provenUserByEmail(tx, to)
  return user ? `user:${user.id}` : addressOf(to)
}

/** Gives a user who has just proven their email the events of the last mails to it, with their times. */
export async function showMailsBefore(tx: Writer, { id, email }: UserRow): Promise<void> {
  const waiting = { owner: addressOf(email), type: undefined, past: undefined, limit: MOST_SHOWN, reverse: true }
  for (const { type, actor, subject, data, created_at } of (await findEvents(tx, waiting)).reverse())
    await putEvent(tx, { owners: [`user:${id}`], type, actor, subject, data, at: created_at })
}

/** The owner whose limits count what `owner` causes. An account makes any number of users, so unproven ones count against it. */
export async function responsibleFor<O extends string>(tx: Reader, owner: O): Promise<O | `account:${number}`> {
  const id = userIdOf(owner)
  const user = id === undefined ? undefined : await tx.get(users, id)
  return user && !isProven(user) && user.made_by !== null ? `account:${user.made_by}` : owner
}

/** Counts a new row of the collection `kind` for whoever is responsible for its maker. Throws `too_many_new`. */
export async function countNew(tx: Writer, kind: string, maker: Maker, { limits, clock, sandbox }: Limiting) {
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

/** Counts the bytes of a large answer to store for its maker. False if that would exceed `limits.storedBytesPerDay`. */
export async function countStored(tx: Writer, bytes: number, maker: Maker, service: Limiting): Promise<boolean> {
  if (bytes <= SMALL) return true
  const limit = await limitOf(tx, maker, service)
  return limit === undefined || addDaily(tx, limit, bytes)
}

/** Throws `too_many_new` if a maker has reached `limits.storedBytesPerDay`, before they pay for what must be stored. */
export async function checkStored(tx: Reader, maker: Maker, service: Limiting): Promise<void> {
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

async function limitOf(tx: Reader, maker: Maker, { limits, clock }: Limiting): Promise<DailyLimit | undefined> {
  const subject = await countedOwner(tx, maker)
  const most = limits.storedBytesPerDay
  return subject === undefined ? undefined : { kind: STORED_BYTES, subject, most, at: clock.now() }
}
