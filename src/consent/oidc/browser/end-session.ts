import { problem } from '../../../base/problem.js'
import type { ServiceContext } from '../../../http/context.js'
import { endSession, findSession } from '../../../identity/sessions/session.js'
import { users } from '../../../identity/users/user.js'
import type { Reader, Writer } from '../../../storage/storage.js'
import { clientById, type OidcClientRow } from '../clients/client.js'
import { redirectOrigin, sameRedirectUri, withParameters } from '../clients/redirect-uri.js'
import { connectionOf } from '../connection.js'
import { issuerOf } from '../issuer.js'
import { signedClaims } from '../keys.js'
import { hintedUser } from './authorization.js'

/** A request to sign out (OpenID Connect RP-Initiated Logout 1.0 section 2). */
export interface EndSessionRequest {
  readonly id_token_hint?: string | undefined
  readonly client_id?: string | undefined
  readonly post_logout_redirect_uri?: string | undefined
  readonly state?: string | undefined
}

/** Where a client asks to have the browser sent afterwards. */
export interface PostLogoutRedirect {
  readonly location: string
  /** The place, as people are told. */
  readonly place: string
  /** Whether whoever signed out has the client connected. Anybody can register one, so people go on to any other by themselves. */
  readonly isTrusted: boolean
}

export type EndSessionOutcome =
  /** Nobody is signed in any more. */
  | { readonly ended: true; readonly onward: PostLogoutRedirect | undefined }
  /** Somebody is, and must be asked: any page could have sent them here. */
  | { readonly ended: false; readonly email: string; readonly onward: PostLogoutRedirect | undefined }

type Context = Pick<ServiceContext, 'baseUrl' | 'clock'>

/**
 * Signs out: at once where a client that the user has connected shows an id token of theirs, else once they were asked, as
 * `confirmed` says. Throws `invalid_request` for an address that the client did not register, and for what is no id token of its.
 */
export async function endOidcSession(
  tx: Writer,
  { request, sessionId, confirmed }: { request: EndSessionRequest; sessionId: string; confirmed: boolean },
  context: Context,
): Promise<EndSessionOutcome> {
  const { client, hinted } = await readClient(tx, request, context)
  const asked = checkPostLogoutUri(client, request)
  const at = context.clock.now()
  const session = await findSession(tx, sessionId, at)
  const connection = session && client && (await connectionOf(tx, session.user_id, client.id))
  const isTrusted = connection !== undefined
  const onward = asked === undefined ? undefined : { ...asked, isTrusted }
  if (session && !confirmed && !(isTrusted && hinted === session.user_id))
    return { ended: false, email: (await tx.get(users, session.user_id))?.email ?? '', onward }
  if (session) await endSession(tx, sessionId, at)
  return { ended: true, onward }
}

/** The client that asks, and whom its id token is about. */
async function readClient(tx: Reader, { id_token_hint: hint, client_id }: EndSessionRequest, context: Context) {
  const audience = hint === undefined ? undefined : (await signedClaims(tx, hint, 'JWT'))?.aud
  const client = await clientById(tx, client_id ?? (typeof audience === 'string' ? audience : ''))
  const hinted = hint === undefined || !client ? undefined : await hintedUser(tx, hint, client, context)
  if (hint !== undefined && hinted === undefined)
    throw problem('invalid_request', { detail: '`id_token_hint` is not an id token of the client.' })
  return { client, hinted }
}

function checkPostLogoutUri(
  client: OidcClientRow | undefined,
  { post_logout_redirect_uri: asked, state }: EndSessionRequest,
) {
  if (asked === undefined) return undefined
  const registered = client?.metadata.post_logout_redirect_uris ?? []
  if (!registered.some((uri) => sameRedirectUri(uri, asked)))
    throw problem('invalid_request', { detail: 'The client did not register this `post_logout_redirect_uri`.' })
  return { location: withParameters(asked, { state }), place: redirectOrigin(asked) }
}

/** The same request, to be asked again by GET. */
export const endSessionAddress = (
  { id_token_hint, client_id, post_logout_redirect_uri, state }: EndSessionRequest,
  context: Pick<ServiceContext, 'baseUrl'>,
): string =>
  withParameters(`${issuerOf(context)}/session/end`, { id_token_hint, client_id, post_logout_redirect_uri, state })
