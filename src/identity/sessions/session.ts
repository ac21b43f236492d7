import { accountIdOf } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { digest, hexOf, randomHex } from '../../base/secrets.js'
import { parsedUrl } from '../../base/text/foreign-url.js'
import { isCurrent, seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { fieldRefused } from '../../http/fields/field.js'
import { recordEvent } from '../../jobs/events/event.js'
import { commodityOf } from '../../money/commodities/commodity.js'
import type { TwinContext } from '../../money/twins/twin.js'
import { getExisting, getOrNotFound, newestFirst, ReadOnce } from '../../storage/page.js'
import { DAY } from '../../storage/retention.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { clients } from '../tokens/token.js'
import { createUser, isProven, showMailsBefore, showUser, type UserRow, userByEmail, users } from '../users/user.js'
import { type ProofContext, proveEmail } from './first-proof.js'

const SESSION_MS = 24 * 3_600_000
/** Another session ends the oldest of its kind, so programs and pages end none that was signed in by a code. */
const MOST_OF_KIND = 100

/** A signed-in session. A session without a user is not stored. */
export interface SessionRow {
  readonly id: number
  readonly digest: string
  readonly user_id: number
  /** The user's generation at the sign-in. */
  readonly generation: number
  readonly created_at: number
  readonly expires_at: number
  /** How the user signed in. */
  readonly by: 'code' | 'token' | 'page'
  /** The page that it belongs to, if it is a page session. Null for the user's own session. */
  readonly page: PageOfSession | null
  /** The client credentials whose access token it was made with. Null if it was made otherwise. It ends with them. */
  readonly client_id: string | null
  /** The digest of the id that the session had before its user signed in. Null if it had none. */
  readonly previous_digest: string | null
}

export interface PageOfSession {
  readonly account_id: number
  readonly origin: string
  /** The user's own session that it was created from. It ends with that, and is removed later. */
  readonly session_id: number
}

/** Whether a person signed in to a session, by a mailed code. Whoever makes one with an access token proves nothing of that. */
export const isSignedInByPerson = ({ by }: Pick<SessionRow, 'by'>): boolean => by === 'code'

export type PageSessionRow = SessionRow & { readonly page: PageOfSession }

export const sessions = collection<SessionRow>()(
  'sessions',
  {
    byDigest: { fields: ['digest'], unique: true },
    byExpiry: { fields: ['expires_at'] },
    byUser: { fields: ['user_id'] },
    byKind: { fields: ['user_id', 'by'] },
    byPrevious: { fields: ['previous_digest'] },
  },
  // Until then its browser has a limit of its own for sign-in codes.
  {
    refs: { client_id: 'clients', user_id: 'users' },
    secrets: ['digest', 'previous_digest'],
    growth: {
      by: 'anybody, by signing in',
      bound:
        'A hundred of each kind for one user: by code, by access token, and of pages. One more ends the oldest. It ends after a day, and guests have none.',
    },
    retention: { after: 'it expires, a day after the sign-in', keepMs: 30 * DAY, index: 'byExpiry' },
  },
)

/** A session id. `secret` always gives the same one. */
export const newSessionId = ({ random, keys }: Pick<ServiceContext, 'random' | 'keys'>, secret?: string): string =>
  `ms_${secret === undefined ? randomHex(random, 16) : hexOf(keys.derive('guest session', secret)).slice(0, 32)}`

/** Returns the user's own session with this id. Undefined if nobody is signed in, if it has expired, or if it is a page session. */
export async function findSession(tx: Reader, sessionId: string, at: number): Promise<SessionRow | undefined> {
  const row = await sessionOf(tx, sessionId, at)
  return row?.page ? undefined : row
}

export async function findPageSession(tx: Reader, sessionId: string, at: number): Promise<PageSessionRow | undefined> {
  const row = await sessionOf(tx, sessionId, at)
  return row && isOfPage(row) ? row : undefined
}

const isOfPage = (row: SessionRow): row is PageSessionRow => row.page !== null

async function sessionOf(tx: Reader, sessionId: string, at: number): Promise<SessionRow | undefined> {
  const row = await findAnySession(tx, sessionId)
  return row && (await isSessionValid(tx, row, at)) ? row : undefined
}

/** Whether a session has ended neither by itself, nor with its user's generation, nor with the session or credentials it came from. */
async function isSessionValid(tx: Reader, row: SessionRow, at: number): Promise<boolean> {
  if (!isSessionCurrent(row, at)) return false
  if ((await tx.get(users, row.user_id))?.generation !== row.generation) return false
  if (isOfPage(row)) {
    const source = await tx.get(sessions, row.page.session_id)
    return source !== undefined && isSessionValid(tx, source, at)
  }
  return row.client_id === null || (await tx.get(clients, row.client_id))?.deleted_at === null
}

const isSessionCurrent = ({ expires_at }: SessionRow, at: number): boolean => isCurrent(expires_at, SESSION_MS, at)

export async function findAnySession(tx: Reader, sessionId: string): Promise<SessionRow | undefined> {
  const [row] = await tx.find(sessions, { index: 'byDigest', prefix: [digest(sessionId)], limit: 1 })
  return row
}

/** Whether the session with this id got a new id because its user signed in. */
export async function hasNewId(tx: Reader, sessionId: string, at: number): Promise<boolean> {
  const [row] = await tx.find(sessions, { index: 'byPrevious', prefix: [digest(sessionId)], limit: 1 })
  return row !== undefined && isSessionCurrent(row, at)
}

/** A user who signs up creates client credentials later, if they want any. */
const NEW_USER = { madeBy: null, proven: true, credentials: false }

/** Signs in, or up, whoever entered the code of this email. The session gets a new id, which nobody has planted (session fixation). */
export async function signIn(
  tx: Writer,
  { email, previousSessionId, at }: { email: string; previousSessionId: string; at: number },
  context: TwinContext & ProofContext & Pick<ServiceContext, 'rules'>,
) {
  const known = await userByEmail(tx, email)
  const user = known && isProven(known) ? known : await provenNow(tx, { known, email, at }, context)
  const previous = await sessionOf(tx, previousSessionId, at)
  await endSession(tx, previousSessionId, at)
  const { session_id } = await startSession(tx, { userId: user.id, by: 'code', previousSessionId, at }, context)
  const previousUserId = previous?.user_id ?? null
  const signedIn = { userId: user.id, email: user.email, sessionId: session_id, previousSessionId, previousUserId, at }
  for (const follow of context.rules.onSignIn) await follow(tx, signedIn)
  return { session_id, user: showUser(user) }
}

async function provenNow(
  tx: Writer,
  { known, email, at }: { readonly known: UserRow | undefined; readonly email: string; readonly at: number },
  context: TwinContext & ProofContext,
): Promise<UserRow> {
  const user = known
    ? await proveEmail(tx, known, { hasSessions: await hasSession(tx, known.id, at), at }, context)
    : await createUser(tx, { ...NEW_USER, email, at }, context)
  await showMailsBefore(tx, user)
  return user
}

interface NewSession {
  readonly userId: number
  readonly by: SessionRow['by']
  readonly of?: { readonly page: PageOfSession; readonly expiresAt: number }
  readonly clientId?: string | null | undefined
  readonly previousSessionId?: string
  readonly at: number
}

/** Starts a session in which the user is signed in. `expires_at` is in Unix seconds. */
export async function startSession(
  tx: Writer,
  { userId, by, of, clientId = null, previousSessionId, at }: NewSession,
  context: Pick<ServiceContext, 'random' | 'keys'>,
): Promise<{ session_id: string; expires_at: number }> {
  const session_id = newSessionId(context)
  const { page, expiresAt: expires_at } = of ?? { page: null, expiresAt: at + SESSION_MS }
  const id = await tx.nextId('sessions')
  const previous_digest = previousSessionId === undefined ? null : digest(previousSessionId)
  const { generation } = await getExisting(tx, users, userId)
  const times = { created_at: at, expires_at }
  const made = { user_id: userId, generation, ...times, by, page, client_id: clientId, previous_digest }
  await makeRoom(tx, { userId, by, at })
  const session: SessionRow = { id, digest: digest(session_id), ...made }
  tx.put(sessions, session)
  await recordSessionEvent(tx, 'sign_in', session, { at, by, ...(page && { origin: page.origin }) })
  return { session_id, expires_at: seconds(expires_at) }
}

async function makeRoom(tx: Writer, { userId, by, at }: Pick<NewSession, 'userId' | 'by' | 'at'>) {
  const kept = await tx.find(sessions, { index: 'byKind', prefix: [userId, by], limit: MOST_OF_KIND })
  const [oldest] = kept
  if (oldest && kept.length === MOST_OF_KIND) await end(tx, oldest, at)
}

/** Ends a session, and with it the page sessions created from it. Does nothing if there is none. */
export async function endSession(tx: Writer, sessionId: string, at: number): Promise<void> {
  const row = await findAnySession(tx, sessionId)
  if (row) await end(tx, row, at)
}

/** Ends one of the user's sessions, by the id that `listSessions` shows. Throws `not_found`, also for a different user's session. */
export async function deleteSessionById(tx: Writer, { userId, id, at }: { userId: number; id: number; at: number }) {
  const row = await getOrNotFound(tx, sessions, id, { user_id: userId })
  if (!(await isSessionValid(tx, row, at))) throw problem('not_found')
  await end(tx, row, at)
  return row
}

/** Whether one of the user's newest sessions has not ended. The last may have ended, and not be removed yet. */
async function hasSession(tx: Reader, userId: number, at: number): Promise<boolean> {
  const newest = await tx.find(sessions, { index: 'byUser', prefix: [userId], limit: MOST_OF_KIND, reverse: true })
  for (const session of newest) if (await isSessionValid(tx, session, at)) return true
  return false
}

async function end(tx: Writer, session: SessionRow, at: number): Promise<void> {
  const isOver = !(await isSessionValid(tx, session, at))
  tx.remove(sessions, session.id)
  if (!isOver) await recordSessionEvent(tx, 'sign_out', session, { at })
}

type SessionEvent = { readonly at: number; readonly by?: string; readonly origin?: string }

const recordSessionEvent = (
  tx: Writer,
  type: 'sign_in' | 'sign_out',
  { id, user_id }: SessionRow,
  { at, ...data }: SessionEvent,
) =>
  recordEvent(tx, { owners: [`user:${user_id}`], type, actor: `user:${user_id}`, subject: `session:${id}`, data, at })

export const isSessionOf = (row: SessionRow, sessionId: string | undefined): boolean =>
  sessionId !== undefined && row.digest === digest(sessionId)

/** Lists the user's sessions, newest first. `current` marks the caller's own. */
export async function listSessions(tx: Reader, { userId, sessionId, at, ...page }: SessionsQuery) {
  const { rows, next } = await newestFirst(tx, sessions, { index: 'byUser', prefix: [userId], ...page })
  const read = new ReadOnce(tx)
  await read.getMany(
    sessions,
    rows.flatMap(({ page }) => (page ? [page.session_id] : [])),
  )
  const shown = []
  for (const row of rows) if (await isSessionValid(read, row, at)) shown.push(row)
  const last = rows.at(-1)
  return {
    sessions: shown.map((row) => ({
      id: row.id,
      current: isSessionOf(row, sessionId),
      origin: row.page?.origin ?? null,
      created_at: seconds(row.created_at),
      expires_at: seconds(row.expires_at),
    })),
    // No session lasts longer, so those from before have expired too.
    next: last && last.created_at + SESSION_MS <= at ? null : next,
  }
}

interface SessionsQuery {
  readonly userId: number
  /** The caller's session. Undefined if the caller uses an access token. */
  readonly sessionId: string | undefined
  readonly limit?: number | undefined
  readonly after?: number | undefined
  readonly at: number
}

/** Returns the session as its caller sees it. `user` is null while nobody is signed in. */
export async function readSession(tx: Reader, sessionId: string, at: number) {
  const row = await sessionOf(tx, sessionId, at)
  const user = row && (await tx.get(users, row.user_id))
  // A site keys its visitors by what it reads here, and anybody can make a user for any address.
  const isShown = user && (row.page === null || isProven(user))
  return {
    session_id: sessionId,
    user: isShown ? showUser(user) : null,
    expires_at: seconds(row?.expires_at ?? at + SESSION_MS),
  }
}

/** The page around an embed, and the session of the user who signed in within that. */
export interface PageOrder {
  readonly sessionId: string
  /** Of the embed's commodity. */
  readonly hash: string
  /** In the spelling of browsers: scheme, host and port. */
  readonly origin: string
  readonly at: number
}

/** Creates a session for the page around an embed, which ends with that of its user. Throws `not_found`, `field_invalid`. */
export async function createPageSession(
  tx: Writer,
  { sessionId, hash, origin, at }: PageOrder,
  context: Pick<ServiceContext, 'random' | 'keys'>,
): Promise<{ session_id: string; expires_at: number }> {
  checkOrigin(origin)
  const account_id = accountIdOf((await commodityOf(tx, hash)).owner)
  if (account_id === undefined) throw problem('not_found')
  // The caller was authenticated by it.
  const own = required(await findSession(tx, sessionId, at), 'the session of the caller')
  const page = { account_id, origin, session_id: own.id }
  return startSession(tx, { userId: own.user_id, by: 'page', of: { page, expiresAt: own.expires_at }, at }, context)
}

function checkOrigin(origin: string): void {
  if (/^https?:\/\//.test(origin) && parsedUrl(origin)?.origin === origin) return
  throw fieldRefused('origin', 'must be the origin of a page, such as https://shop.example.test')
}
