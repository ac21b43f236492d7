import { accountIdOf } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { required } from '../../base/required.js'
import { parsedUrl } from '../../base/text/foreign-url.js'
import type { ServiceContext } from '../../http/context.js'
import { fieldRefused } from '../../http/fields/field.js'
import { commodityOf } from '../../money/commodities/commodity.js'
import type { Writer } from '../../storage/storage.js'
import { findSession, startSession } from './session.js'

/** The page around an embed, and the session of the user who signed in within that. */
export interface PageOrder {
  readonly sessionId: string
  /** Of the embed's commodity. */
  readonly hash: string
  /** In the spelling of browsers: scheme, host and port. */
  readonly origin: string
  readonly at: number
}

/**
 * Creates a session for the page around an embed. It may read itself and ask the paywall for payments, and the user
 * approves each. It ends with the session that creates it, at the latest when that expires. Throws `not_found`, and `field_invalid` if `origin` is not an origin.
 */
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
