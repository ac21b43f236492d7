import type { Problem } from '../../base/problem.js'
import { accountChoiceFields } from '../../consent/oidc/connection.js'
import type { At, Pages, View } from '../../http/pages/form-flow.js'
import type { FormPage } from '../../http/pages/form-page.js'
import { AppTitle, Choices, Form, GoOn, SignedInAs, SignInForms, WaitsForDevice } from '../../http/pages/parts.js'
import type { ShownChoice } from './account-choice.js'

const ForApp = ({ app }: ShownChoice) => (
  <p class="muted">
    For the app <AppTitle {...app} />
  </p>
)

const signInTitles = { email: 'Sign in', code: 'Enter your code', device: 'Approve on your device' }

const signInPage = (shown: At<ShownChoice, 'email' | 'code' | 'device'>, { poll, ...view }: View): FormPage => ({
  title: signInTitles[shown.step],
  about: <ForApp {...shown} />,
  refresh: shown.step === 'device' ? poll : undefined,
  body: <SignInForms at={shown} {...view} />,
})

export const choicePages: Pages<ShownChoice> = {
  email: signInPage,
  code: signInPage,
  device: signInPage,
  another: (shown) => ({
    title: 'This is for a different user',
    about: <ForApp {...shown} />,
    body: (
      <>
        <p>A different user connected this app. Sign in as that user to choose.</p>
        <SignedInAs email={shown.email} />
      </>
    ),
  }),
  wait: (shown, { poll }) => ({
    title: 'Approve on your device',
    about: <ForApp {...shown} />,
    refresh: poll,
    body: <WaitsForDevice />,
  }),
  ask_again: (shown) => ({
    title: 'Not approved on your device',
    about: <ForApp {...shown} />,
    body: (
      <Form>
        <p>The request on your device was rejected or has expired. Nothing was changed.</p>
        <GoOn answer="ask_again">Continue</GoOn>
      </Form>
    ),
  }),
  choose: (shown) => ({
    title: 'Choose a business account',
    about: <ForApp {...shown} />,
    body: (
      <>
        <SignedInAs email={shown.email} />
        <Form>
          <Choices {...accountChoiceFields(shown.accounts, shown.accountId)} />
          <GoOn answer="choose">Choose</GoOn>
        </Form>
      </>
    ),
  }),
  done: (shown) => ({
    title: 'Account chosen',
    about: <ForApp {...shown} />,
    body: (
      <p role="status">
        {shown.account === null ? (
          'The app has no access to a business account.'
        ) : (
          <>
            The app now has access to <bdi>{shown.account}</bdi>.
          </>
        )}{' '}
        Go back to your app.
      </p>
    ),
  }),
}

export const choiceSentence = ({ code }: Problem): string | undefined =>
  code === 'not_found' ? 'This link is incomplete or wrong. Open the whole link that your app shows.' : undefined
