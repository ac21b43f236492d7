import { problem } from '../../base/problem.js'
import { digest, randomHex } from '../../base/secrets.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { recordEvent } from '../../jobs/events/event.js'
import type { TwinContext } from '../../money/twins/twin.js'
import { allRows, newestFirst } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'
import { createUser, isProven, showUser, userByEmail, users } from '../users/user.js'
import { type ProofContext, proveEmail } from './first-proof.js'

const LIFETIME = 24 * 3_600_000

/** A signed-in session. One that holds nothing is not stored. */
export interface SessionRow {
  readonly id: number
  readonly digest: string
  readonly user_id: number
  readonly created_at: number
  readonly expires_at: number
  /** How its user showed who they are. */
  readonly by: 'code' | 'token' | 'page'
  /** Where an embed gave it to the page around it; null for the user's own. */
  readonly page: PageOfSession | null
  /** Of the id that it had until its user signed in. Absent in older rows, and where there was none. */
  readonly previous_digest?: string | null
}

export interface PageOfSession {
  /** Of the commodity whose embed it was. */
  readonly account_id: number
  readonly origin: string
  /** The user's own session that it comes from, and ends with. */
  readonly session_id: number
}

export interface PageSessionRow extends SessionRow {
  readonly page: PageOfSession
}

export const sessions = collection<SessionRow>()('sessions', {
  byDigest: { fields: ['digest'], unique: true },
  byUser: { fields: ['user_id'] },
  byPrevious: { fields: ['previous_digest'] },
})

export const newSessionId = ({ random }: Pick<ServiceContext, 'random'>): string => `ms_${randomHex(random, 16)}`

/** The signed-in session of that id, the user's own; undefined when it holds nothing, has expired or is a page's. */
export async function findSession(tx: Reader, sessionId: string, at: number): Promise<SessionRow | undefined> {
  const row = await sessionOf(tx, sessionId, at)
  return row?.page ? undefined : row
}

/** The session of that id that an embed gave to its page. */
export async function findPageSession(tx: Reader, sessionId: string, at: number): Promise<PageSessionRow | undefined> {
  const row = await sessionOf(tx, sessionId, at)
  return row && isOfPage(row) ? row : undefined
}

const isOfPage = (row: SessionRow): row is PageSessionRow => row.page !== null && row.page !== undefined

async function sessionOf(tx: Reader, sessionId: string, at: number): Promise<SessionRow | undefined> {
  const row = await findAnySession(tx, sessionId)
  return row && row.expires_at > at ? row : undefined
}

/** The session of that id, or what is left of one that has expired. */
export async function findAnySession(tx: Reader, sessionId: string): Promise<SessionRow | undefined> {
  const [row] = await tx.find(sessions, { index: 'byDigest', prefix: [digest(sessionId)], limit: 1 })
  return row
}

/** Whether a session of that id goes on under another, by which its user signed in. */
export async function hasNewId(tx: Reader, sessionId: string, at: number): Promise<boolean> {
  const [row] = await tx.find(sessions, { index: 'byPrevious', prefix: [digest(sessionId)], limit: 1 })
  return row !== undefined && row.expires_at > at
}

/** They make client credentials when they want some: none are shown here. */
const NEW_USER = { madeBy: null, proven: true, credentials: false }

/**
 * Signs in the user who reads an email, once a code that was mailed there has been entered: made here when there is none yet.
 * The session goes on under a new id, so that one set by somebody else is worth nothing (no fixation).
 */
export async function signIn(
  tx: Writer,
  { email, previousSessionId, at }: { email: string; previousSessionId: string; at: number },
  context: TwinContext & ProofContext & Pick<ServiceContext, 'onSignIn'>,
) {
  const known = (await userByEmail(tx, email)) ?? (await createUser(tx, { ...NEW_USER, email, at }, context))
  const endSessions = () => endSessionsOf(tx, known.id, at)
  const user = isProven(known) ? known : await proveEmail(tx, known, { endSessions, at }, context)
  const previous = await sessionOf(tx, previousSessionId, at)
  await endSession(tx, previousSessionId, at)
  const { session_id } = await startSession(tx, { userId: user.id, by: 'code', previousSessionId, at }, context)
  const previousUserId = previous?.user_id ?? null
  const signedIn = { userId: user.id, email: user.email, sessionId: session_id, previousSessionId, previousUserId, at }
  for (const follow of context.onSignIn) await follow(tx, signedIn)
  return { session_id, user: showUser(user) }
}

interface NewSession {
  readonly userId: number
  readonly by: SessionRow['by']
  readonly page?: PageOfSession | null
  /** Of the session that goes on as this one. */
  readonly previousSessionId?: string
  readonly at: number
}

/** A new session in which a user is signed in already. */
export async function startSession(
  tx: Writer,
  { userId, by, page = null, previousSessionId, at }: NewSession,
  context: Pick<ServiceContext, 'random'>,
): Promise<{ session_id: string; expires_at: number }> {
  for (const old of await sessionsOf(tx, userId)) if (old.expires_at <= at) tx.remove(sessions, old.id)
  const session_id = newSessionId(context)
  const expires_at = at + LIFETIME
  const id = await tx.nextId('sessions')
  const previous_digest = previousSessionId === undefined ? null : digest(previousSessionId)
  const made = { user_id: userId, created_at: at, expires_at, by, page, previous_digest }
  const session: SessionRow = { id, digest: digest(session_id), ...made }
  tx.put(sessions, session)
  await recordSessionEvent(tx, 'sign_in', session, { at, by, ...(page && { origin: page.origin }) })
  return { session_id, expires_at: seconds(expires_at) }
}

const sessionsOf = (tx: Reader, userId: number): Promise<SessionRow[]> =>
  tx.find(sessions, { index: 'byUser', prefix: [userId], limit: 1000 })

/** Ends a session wherever it was used, and those that pages got from it. */
export async function endSession(tx: Writer, sessionId: string, at: number): Promise<void> {
  const [row] = await tx.find(sessions, { index: 'byDigest', prefix: [digest(sessionId)], limit: 1 })
  if (row) await end(tx, row, at)
}

/** Ends a session of the user's, by the id that their list shows. Throws `not_found`, for another's too. */
export async function deleteSessionById(
  tx: Writer,
  { userId, id, at }: { userId: number; id: number; at: number },
): Promise<SessionRow> {
  const row = await tx.get(sessions, id)
  if (row?.user_id !== userId || row.expires_at <= at) throw problem('not_found')
  await end(tx, row, at)
  return row
}

/** Ends every session of a user, those of pages too. Gives how many that were. */
async function endSessionsOf(tx: Writer, userId: number, at: number): Promise<number> {
  let count = 0
  for await (const session of allRows(tx, sessions, { index: 'byUser', prefix: [userId] })) {
    tx.remove(sessions, session.id)
    if (session.expires_at <= at) continue
    await recordSessionEvent(tx, 'sign_out', session, { at })
    count++
  }
  return count
}

async function end(tx: Writer, session: SessionRow, at: number): Promise<void> {
  tx.remove(sessions, session.id)
  for (const given of await sessionsOf(tx, session.user_id))
    if (given.page?.session_id === session.id) tx.remove(sessions, given.id)
  if (session.expires_at > at) await recordSessionEvent(tx, 'sign_out', session, { at })
}

interface SessionEvent {
  readonly at: number
  readonly by?: string
  readonly origin?: string
}

const recordSessionEvent = (tx: Writer, type: string, { id, user_id }: SessionRow, { at, ...data }: SessionEvent) =>
  recordEvent(tx, { owners: [`user:${user_id}`], type, actor: `user:${user_id}`, subject: `session:${id}`, data, at })

export const isSessionOf = (row: SessionRow, sessionId: string | undefined): boolean =>
  sessionId !== undefined && row.digest === digest(sessionId)

/** The user's signed-in sessions, newest first; `current` is the one that asks. */
export async function listSessions(
  tx: Reader,
  { userId, sessionId, at, ...page }: SessionsQuery,
): Promise<{ sessions: ShownSession[]; next: number | null }> {
  const { rows, next } = await newestFirst(tx, sessions, { index: 'byUser', prefix: [userId], ...page })
  const shown = rows.filter(({ expires_at }) => expires_at > at)
  return {
    sessions: shown.map((row) => ({
      id: row.id,
      current: isSessionOf(row, sessionId),
      origin: row.page?.origin ?? null,
      created_at: seconds(row.created_at),
      expires_at: seconds(row.expires_at),
    })),
    next,
  }
}

interface SessionsQuery {
  readonly userId: number
  /** Of the caller, where a session calls. */
  readonly sessionId: string | undefined
  readonly limit?: number | undefined
  readonly after?: number | undefined
  readonly at: number
}

interface ShownSession {
  id: number
  current: boolean
  /** Of the page that an embed gave it to; null for the user's own. */
  origin: string | null
  created_at: number
  expires_at: number
}

/** The session as its caller sees it: the user, or null while nobody is signed in. */
export async function readSession(tx: Reader, sessionId: string, at: number) {
  const row = await sessionOf(tx, sessionId, at)
  const user = row && (await tx.get(users, row.user_id))
  return {
    session_id: sessionId,
    user: user ? showUser(user) : null,
    expires_at: seconds(row?.expires_at ?? at + LIFETIME),
  }
}
