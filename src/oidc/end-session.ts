import type { ServiceContext } from '../context.js'
import { problem } from '../problem.js'
import { endSession, findSession } from '../sessions/session.js'
import type { Reader, Writer } from '../storage/storage.js'
import { users } from '../users/user.js'
import { hintedUser } from './authorization.js'
import { clientById } from './client.js'
import { issuerOf } from './issuer.js'
import { signedClaims } from './keys.js'
import { sameRedirectUri, withParameters } from './redirect-uri.js'

/** A request to sign out (OpenID Connect RP-Initiated Logout 1.0 section 2). */
export interface EndSessionRequest {
  readonly id_token_hint?: string | undefined
  readonly client_id?: string | undefined
  readonly post_logout_redirect_uri?: string | undefined
  readonly state?: string | undefined
}

export type Ended =
  /** Nobody is signed in any more; `location` is the client's, where it named one. */
  | { readonly ended: true; readonly location: string | undefined }
  /** Somebody is, and must be asked: any page could have sent them here. */
  | { readonly ended: false; readonly email: string }

type Context = Pick<ServiceContext, 'baseUrl' | 'clock'>

/**
 * Signs out, where the client shows an id token of whoever is signed in, or `confirmed` says that they were asked.
 * Throws `invalid_request` for an address that the client did not register, and for an id token that is none of the service's.
 */
export async function endSessionFor(
  tx: Writer,
  { request, sessionId, confirmed }: { request: EndSessionRequest; sessionId: string; confirmed: boolean },
  context: Context,
): Promise<Ended> {
  const { hinted, location } = await check(tx, request, context)
  const at = context.clock.now()
  const session = await findSession(tx, sessionId, at)
  if (session && !confirmed && hinted !== session.user_id)
    return { ended: false, email: (await tx.get(users, session.user_id))?.email ?? '' }
  if (session) await endSession(tx, sessionId, at)
  return { ended: true, location }
}

async function check(tx: Reader, request: EndSessionRequest, context: Context) {
  const { id_token_hint: hint, client_id, post_logout_redirect_uri: asked, state } = request
  const audience = hint === undefined ? undefined : (await signedClaims(tx, hint, 'JWT'))?.aud
  const client = await clientById(tx, client_id ?? (typeof audience === 'string' ? audience : ''))
  const hinted = hint === undefined || !client ? undefined : await hintedUser(tx, hint, client, context)
  if (hint !== undefined && hinted === undefined)
    throw problem('invalid_request', { detail: '`id_token_hint` is no id token of the client.' })
  if (asked === undefined) return { hinted, location: undefined }
  const registered = client?.metadata.post_logout_redirect_uris ?? []
  if (!registered.some((uri) => sameRedirectUri(uri, asked)))
    throw problem('invalid_request', { detail: '`post_logout_redirect_uri` is none that the client registered.' })
  return { hinted, location: withParameters(asked, { state }) }
}

/** The same request, to be asked again by GET. */
export const endSessionAddress = (
  { id_token_hint, client_id, post_logout_redirect_uri, state }: EndSessionRequest,
  context: Pick<ServiceContext, 'baseUrl'>,
): string =>
  withParameters(`${issuerOf(context)}/session/end`, { id_token_hint, client_id, post_logout_redirect_uri, state })
