import type { SessionRow } from '../../../identity/sessions/session.js'
import { users } from '../../../identity/users/user.js'
import type { Reader } from '../../../storage/storage.js'
import type { AuthorizationRequest, InteractionRow } from './interaction-row.js'

/** Whether the user must sign in again: as a different user, because it was too long ago, or because the request demands it. */
export function mustSignIn({ request, signed_in }: InteractionRow, session: SessionRow, at: number): boolean {
  const { hinted_user_id, prompt, max_age } = request
  if (hinted_user_id !== null && hinted_user_id !== session.user_id) return true
  if (signed_in) return false
  const stale = max_age === 0 || (max_age !== null && at - session.created_at > max_age * 1000)
  return stale || prompt.includes('login') || prompt.includes('select_account')
}

/** The email address that the sign-in form starts with. */
export async function emailHint(tx: Reader, { hinted_user_id, login_hint }: AuthorizationRequest): Promise<string> {
  const hinted = hinted_user_id === null ? undefined : await tx.get(users, hinted_user_id)
  return hinted?.email ?? login_hint ?? ''
}
