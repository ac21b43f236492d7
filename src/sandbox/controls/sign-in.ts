import { normalEmail } from '../../base/text/email.js'
import type { ServiceContext } from '../../http/context.js'
import { newSessionId, signIn } from '../../identity/sessions/session.js'
import type { ShownUser } from '../../identity/users/user.js'
import type { Writer } from '../../storage/storage.js'

export interface SignedInUser {
  session_id: string
  user: Omit<ShownUser, 'secrets'>
  /** They identify the session. Send them with each call. */
  headers: { 'x-session-id': string }
}

/** Signs a user in as if they had entered a mailed code, in a new session. Returns the headers that identify it. */
export async function signInAsUser(
  tx: Writer,
  { email }: { email: string },
  service: ServiceContext,
): Promise<SignedInUser> {
  const order = { email: normalEmail(email), previousSessionId: newSessionId(service), at: service.clock.now() }
  const signedIn = await signIn(tx, order, service)
  return { ...signedIn, headers: { 'x-session-id': signedIn.session_id } }
}
