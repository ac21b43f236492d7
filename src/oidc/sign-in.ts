import type { ServiceContext } from '../context.js'
import { Email, z } from '../http/schema.js'
import { Problem, problem } from '../problem.js'
import type { SessionRow } from '../sessions/session.js'
import { sendCode } from '../sessions/sign-in-code.js'
import type { Reader, Writer } from '../storage/storage.js'
import { users } from '../users/user.js'
import type { AuthorizationRequest, InteractionRow } from './authorization.js'

/** Whether whoever is signed in has to do so again: as another user, or because it was too long ago or is asked for. */
export function mustSignIn({ request, signed_in }: InteractionRow, session: SessionRow, at: number): boolean {
  const { hinted_user_id, prompt, max_age } = request
  if (hinted_user_id !== null && hinted_user_id !== session.user_id) return true
  if (signed_in) return false
  const stale = max_age === 0 || (max_age !== null && at - session.created_at > max_age * 1000)
  return stale || prompt.includes('login') || prompt.includes('select_account')
}

/** The address that the request expects. */
export async function emailHint(tx: Reader, { hinted_user_id, login_hint }: AuthorizationRequest): Promise<string> {
  const hinted = hinted_user_id === null ? undefined : await tx.get(users, hinted_user_id)
  return hinted?.email ?? login_hint ?? ''
}

/** Mails a code to what was filled in. Gives the address, or why not: `field_invalid`, `too_many_codes`. */
export async function mailCode(
  tx: Writer,
  text: string,
  sessionId: string,
  service: ServiceContext,
): Promise<string | Problem> {
  const checked = z.safeParse(Email, text)
  if (!checked.success)
    return problem('field_invalid', { detail: '"email" must be an email address.', fields: { field: 'email' } })
  try {
    await sendCode(tx, { email: checked.data, sessionId, at: service.clock.now() }, service)
    return checked.data
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
}
