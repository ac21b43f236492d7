import type { SessionRow } from '../../../identity/sessions/session.js'
import { users } from '../../../identity/users/user.js'
import type { Reader } from '../../../storage/storage.js'
import { connectionOf } from '../connection.js'
import type { AuthorizationRequest, InteractionRow } from './interaction-row.js'

/** Whether the user must sign in again: as a different user, because it was too long ago, or because the request demands it. */
export function mustSignIn({ request, signed_in }: InteractionRow, session: SessionRow, at: number): boolean {
  const { hinted_user_id, prompt, max_age } = request
  if (hinted_user_id !== null && hinted_user_id !== session.user_id) return true
  if (signed_in) return false
  const stale = max_age === 0 || (max_age !== null && at - session.created_at > max_age * 1000)
  return stale || prompt.includes('login') || prompt.includes('select_account')
}

/**
 * The email address that the sign-in form starts with. Whoever opens the page reads it, and that may be the app's server. So
 * the address of the user of `id_token_hint` is filled in only for an app that may read it now.
 */
export async function emailHint(
  tx: Reader,
  { client_id, hinted_user_id, login_hint }: AuthorizationRequest,
): Promise<string> {
  const connection = hinted_user_id === null ? undefined : await connectionOf(tx, hinted_user_id, client_id)
  const hinted = connection?.scopes.includes('email') ? await tx.get(users, connection.user_id) : undefined
  return hinted?.email ?? login_hint ?? ''
}
