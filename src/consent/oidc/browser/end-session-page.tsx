import { ANY_SITE, formPage } from '../../../http/pages/form-page.js'
import { Actions, Button, Onward } from '../../../http/pages/parts.js'
import type { Reply } from '../../../http/reply.js'
import type { EndSessionOutcome, EndSessionRequest } from './end-session.js'

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
  formPage({
    title: 'Still signed in',
    leadsTo: ANY_SITE,
    body: <p>Nothing was changed. You can close this page.</p>,
  })
