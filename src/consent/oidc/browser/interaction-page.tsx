import type { At, Pages, View } from '../../../http/pages/form-flow.js'
import { ANY_SITE, type FormPage } from '../../../http/pages/form-page.js'
import {
  Actions,
  AppOrigin,
  AppTitle,
  Button,
  Choices,
  Form,
  GoOn,
  Onward,
  SignedInAs,
  SignInForms,
} from '../../../http/pages/parts.js'
import { accountChoiceFields } from '../connection.js'
import type { ShownInteraction } from './interaction.js'

const scopeTexts: Readonly<Record<string, readonly string[]>> = {
  openid: ['Recognize you each time'],
  profile: ['See your name'],
  email: ['See your email address'],
  twin: [
    'See your wallets, your purchases and what they delivered',
    'Hold the key of the wallet that your agents pay from',
    'Pay from that wallet up to the amount that you set. At first this is 0',
    'Ask you to approve everything else',
  ],
  offline_access: ['Stay connected while you are away'],
}

/** An answer redirects to the client's site, which may redirect further. */
const frame = ({ app, origin, scheme }: ShownInteraction): Pick<FormPage, 'about' | 'leadsTo'> => ({
  about: (
    <p class="muted">
      To connect <AppTitle {...app} />, at {origin}
    </p>
  ),
  leadsTo: [...ANY_SITE, scheme],
})

const signInForms = ({ step, email }: At<ShownInteraction, 'email' | 'code'>, { isRefused, outbox }: View) => (
  <SignInForms
    at={{ step, email }}
    isRefused={isRefused}
    outbox={outbox}
    note="You get a code by mail and need no password. With a new address you sign up."
    resend="resend"
    cancel
  />
)

export const interactionPages: Pages<ShownInteraction> = {
  email: (shown, view) => ({ title: 'Sign in', ...frame(shown), body: signInForms(shown, view) }),
  code: (shown, view) => ({ title: 'Enter your code', ...frame(shown), body: signInForms(shown, view) }),
  wait: (shown, { isRefused, outbox, poll }) => ({
    title: 'Approve on your device',
    ...frame(shown),
    refresh: poll,
    body: (
      <SignInForms at={{ step: 'device', email: '' }} isRefused={isRefused} outbox={outbox} another={null} cancel />
    ),
  }),
  ask_again: (shown) => ({
    title: 'You did not answer on your device',
    ...frame(shown),
    body: (
      <Form>
        <p>The request on your device has expired. Continue to get a new one.</p>
        <GoOn answer="ask_again" cancel>
          Continue
        </GoOn>
      </Form>
    ),
  }),
  consent: (shown) => ({
    title: 'Connect an app',
    heading: `Connect ${shown.app.title}`,
    ...frame(shown),
    about: (
      <>
        <AppOrigin {...shown.app} />
        <p class="muted">The answer goes to {shown.origin}</p>
      </>
    ),
    body: <Consent {...shown} />,
  }),
  turned_back: ({ app, origin, why, location }) => ({
    title: 'The app sent an invalid request',
    status: 400,
    alert: why,
    leadsTo: ANY_SITE,
    body: (
      <>
        <p>
          <AppTitle {...app} /> sent you here. You have not connected it as the user who is signed in now. Nothing was
          changed: you can close this page.
        </p>
        <Onward to={location}>Continue to {origin}</Onward>
      </>
    ),
  }),
}

const Consent = ({ email, scopes, accounts, accountId }: At<ShownInteraction, 'consent'>) => (
  <>
    <SignedInAs email={email} />
    <Form>
      <div>
        <h2 id="may">The app may</h2>
        <ul class="list" aria-labelledby="may">
          {scopes
            .flatMap((scope) => scopeTexts[scope] ?? [])
            .map((text) => (
              <li>{text}</li>
            ))}
        </ul>
      </div>
      {accounts.length > 0 && <Choices {...accountChoiceFields(accounts, accountId)} />}
      <Actions>
        <Button answer="allow" go>
          Allow
        </Button>
        <Button answer="deny">Deny</Button>
      </Actions>
    </Form>
  </>
)
