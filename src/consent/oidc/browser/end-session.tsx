import { problem } from '../../../base/problem.js'
import type { ServiceContext } from '../../../http/context.js'
import { ANY_SITE, formPage } from '../../../http/pages/form-page.js'
import { Actions, Button, Onward } from '../../../http/pages/parts.js'
import type { Reply } from '../../../http/reply.js'
import { endSession, findSession } from '../../../identity/sessions/session.js'
import { users } from '../../../identity/users/user.js'
import type { Reader, Writer } from '../../../storage/storage.js'
import { clientById, type OidcClientRow } from '../clients/client.js'
import { redirectOrigin, sameRedirectUri, withParameters } from '../clients/redirect-uri.js'
import { connectionOf } from '../connection.js'
import { issuerOf } from '../issuer.js'
import { signedClaims } from '../keys.js'
import type { EndSessionRequest } from '../schema.js'
import { hintedUser } from './authorization.js'

interface PostLogoutRedirect {
  readonly location: string
  readonly place: string
  /** Whether the user has the client connected. Anybody can register a client, so others get a link instead of a redirect. */
  readonly isTrusted: boolean
}

export type EndSessionOutcome =
  /** Nobody is signed in now. */
  | { readonly ended: true; readonly onward: PostLogoutRedirect | undefined }
  /** The user must confirm, because any page could have sent them here. */
  | { readonly ended: false; readonly email: string; readonly onward: PostLogoutRedirect | undefined }

type Context = Pick<ServiceContext, 'baseUrl' | 'clock'>

/**
 * Signs out at once if a client that the user has connected sends an id token of theirs. Otherwise the user must confirm first.
 * Throws `invalid_request` for an unregistered `post_logout_redirect_uri`, or an id token that is not the client's.
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

async function readClient(tx: Reader, { id_token_hint: hint, client_id }: EndSessionRequest, context: Context) {
  const audience = hint === undefined ? undefined : (await signedClaims(tx, hint, 'JWT'))?.aud
  const client = await clientById(tx, client_id ?? (typeof audience === 'string' ? audience : ''))
  const hinted = hint === undefined || !client ? undefined : await hintedUser(tx, hint, client, context)
  if (hint !== undefined && hinted === undefined)
    throw problem('invalid_request', { detail: '`id_token_hint` must be an id token of the client.' })
  return { client, hinted }
}

function checkPostLogoutUri(
  client: OidcClientRow | undefined,
  { post_logout_redirect_uri: asked, state }: EndSessionRequest,
) {
  if (asked === undefined) return undefined
  const registered = client?.metadata.post_logout_redirect_uris ?? []
  if (!registered.some((uri) => sameRedirectUri(uri, asked)))
    throw problem('invalid_request', { detail: '`post_logout_redirect_uri` must be one that the client registered.' })
  return { location: withParameters(asked, { state }), place: redirectOrigin(asked) }
}

export const endSessionAddress = (
  { id_token_hint, client_id, post_logout_redirect_uri, state }: EndSessionRequest,
  context: Pick<ServiceContext, 'baseUrl'>,
): string =>
  withParameters(`${issuerOf(context)}/session/end`, { id_token_hint, client_id, post_logout_redirect_uri, state })

/** Asks the user to confirm, because any page could have sent them here. */
export const signOutPage = (
  { email, onward }: Extract<EndSessionOutcome, { ended: false }>,
  request: EndSessionRequest,
): Reply =>
  formPage({
    title: 'Sign out',
    heading: 'Sign out?',
    leadsTo: ANY_SITE,
    body: (
      <>
        <p>
          You are signed in as <strong>{email}</strong>.
        </p>
        {onward && <p class="muted">An app asked for this. Afterwards you can continue to {onward.place}.</p>}
        <form method="post" action="end/confirm">
          {Object.entries(request).map(([name, value]) => value && <input type="hidden" name={name} value={value} />)}
          <Actions>
            <Button answer="sign_out" go>
              Sign out
            </Button>
            <Button answer="cancel">Cancel</Button>
          </Actions>
        </form>
      </>
    ),
  })

export const signedOutPage = (onward: EndSessionOutcome['onward']): Reply =>
  formPage({
    title: 'Signed out',
    leadsTo: ANY_SITE,
    session: null,
    body: (
      <>
        <p>You can close this page.</p>
        {onward && <Onward to={onward.location}>Continue to {onward.place}</Onward>}
      </>
    ),
  })

export const stillSignedInPage = (): Reply =>
  formPage({ title: 'Still signed in', leadsTo: ANY_SITE, body: <p>Nothing was changed. You can close this page.</p> })
