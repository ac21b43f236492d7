import { Actions, Button } from '../../../http/pages/card.js'
import type { Reply } from '../../../http/reply.js'
import { Onward, show } from '../pages/pages.js'
import type { Ended, EndSessionRequest } from './end-session.js'

/** Asks whoever is signed in, as any page could have sent them here. */
export function confirmPage({ email, onward }: Extract<Ended, { ended: false }>, request: EndSessionRequest): Reply {
  return show({
    title: 'Sign out',
    body: (
      <>
        <h1>Sign out?</h1>
        <p>
          You are signed in as <strong>{email}</strong>.
        </p>
        {onward && <p class="muted">An app asks for this. Afterwards it leads to {onward.place}.</p>}
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
}

const told = (title: string, text: string, onward?: Ended['onward']): Reply =>
  show({
    title,
    body: (
      <>
        <h1>{title}</h1>
        <p>{text}</p>
        {onward && <Onward {...onward} />}
      </>
    ),
  })

export const signedOutPage = (onward: Ended['onward']): Reply => told('Signed out', 'You can close this page.', onward)
export const stillSignedInPage = (): Reply => told('Still signed in', 'Nothing was changed. You can close this page.')
