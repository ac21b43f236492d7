import type { ServiceContext } from '../context.js'
import { digest, randomHex } from '../secrets.js'
import { collection, type Reader, type Writer } from '../storage/storage.js'
import { seconds } from '../time.js'
import type { TwinContext } from '../twins/twin.js'
import { createUser, showUser, userByEmail, users } from '../users/user.js'

const LIFETIME = 24 * 3_600_000

/** A signed-in session. One that holds nothing is not stored. */
export interface SessionRow {
  readonly id: number
  readonly digest: string
  readonly user_id: number
  readonly created_at: number
  readonly expires_at: number
}

export const sessions = collection<SessionRow>()('sessions', {
  byDigest: { fields: ['digest'], unique: true },
  byUser: { fields: ['user_id'] },
})

export const newSessionId = ({ random }: Pick<ServiceContext, 'random'>): string => `ms_${randomHex(random, 16)}`

export const isSessionId = (text: string): boolean => /^ms_[0-9a-f]{32}$/.test(text)

/** The signed-in session of that id, or undefined when it holds nothing or has expired. */
export async function findSession(tx: Reader, sessionId: string, at: number): Promise<SessionRow | undefined> {
  const [row] = await tx.find(sessions, { index: 'byDigest', prefix: [digest(sessionId)], limit: 1 })
  return row && row.expires_at > at ? row : undefined
}

/**
 * Signs the reader of an email in, making the user when there is none yet.
 * The session goes on under a new id, so that one set by somebody else is worth nothing (no fixation).
 */
export async function signIn(
  tx: Writer,
  { email, previousSessionId, at }: { email: string; previousSessionId: string; at: number },
  context: TwinContext,
) {
  const user = (await userByEmail(tx, email)) ?? (await createUser(tx, { email, at, madeBy: null }, context))
  await endSession(tx, previousSessionId)
  for (const old of await tx.find(sessions, { index: 'byUser', prefix: [user.id], limit: 100 }))
    if (old.expires_at <= at) tx.remove(sessions, old.id)
  const session_id = newSessionId(context)
  const id = await tx.nextId('sessions')
  tx.put(sessions, { id, digest: digest(session_id), user_id: user.id, created_at: at, expires_at: at + LIFETIME })
  return { session_id, user: showUser(user) }
}

/** Ends a session wherever it was used. */
export async function endSession(tx: Writer, sessionId: string): Promise<void> {
  const [row] = await tx.find(sessions, { index: 'byDigest', prefix: [digest(sessionId)], limit: 1 })
  if (row) tx.remove(sessions, row.id)
}

/** The session as its caller sees it: the user, or null while nobody is signed in. */
export async function showSession(tx: Reader, sessionId: string, at: number) {
  const row = await findSession(tx, sessionId, at)
  const user = row && (await tx.get(users, row.user_id))
  return {
    session_id: sessionId,
    user: user ? showUser(user) : null,
    expires_at: seconds(row?.expires_at ?? at + LIFETIME),
  }
}
