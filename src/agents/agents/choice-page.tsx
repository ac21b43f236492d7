import type { VNode } from 'preact'
import type { Problem } from '../../base/problem.js'
import { pageStyle } from '../../consent/oidc/pages/page-style.js'
import { Actions, Alert, Button, POLL, SignedInAs, SignInForms, WaitsForDevice } from '../../http/pages/card.js'
import { type CardPage, cardPage } from '../../http/pages/card-page.js'
import type { Reply } from '../../http/reply.js'
import type { NamedAccount } from './account-choice.js'
import type { ShownChoice } from './choice-visit.js'

const show = (parts: Omit<CardPage, 'style'>): Reply => cardPage({ ...parts, style: pageStyle })

/** What has a page of its own. */
type Page = Exclude<ShownChoice, { step: 'signed_in' }>

const titles: Record<Page['step'], string> = {
  email: 'Sign in',
  code: 'Enter your code',
  device: 'Approve on your device',
  another: 'This is for another user',
  wait: 'Approve on your device',
  ask_again: 'Your device did not approve',
  choose: 'Choose a business account',
  done: 'Chosen',
}

/** The page by which a user chooses the account that an app may look after. It needs no script. */
export function choicePage(shown: Page, sandbox: boolean): Reply {
  const { app, step, refused } = shown
  return show({
    title: titles[step],
    refused,
    refresh: (step === 'wait' || step === 'device') && !refused ? POLL : undefined,
    body: (
      <>
        <h1>{titles[step]}</h1>
        <p class="muted">
          For the app <bdi>{app}</bdi>
        </p>
        {refused && <Alert>{sentenceOf(refused)}</Alert>}
        {bodyOf(shown, sandbox)}
      </>
    ),
  })
}

/** What people are told in place of the sentence for programs. */
function sentenceOf({ code, message, fields }: Problem): string {
  if (fields.field === 'account') return 'Pick one of the accounts, or none.'
  return code === 'field_invalid' ? 'Enter an email address, such as ada@example.test.' : message
}

function bodyOf(shown: Page, sandbox: boolean): VNode {
  switch (shown.step) {
    case 'email':
    case 'code':
    case 'device':
      return <SignInForms at={shown} isRefused={shown.refused !== undefined} outbox={sandbox ? OUTBOX : undefined} />
    case 'another':
      return (
        <>
          <p>You can choose nothing here: the app was connected by another user. Sign in as that user.</p>
          <SignedInAs email={shown.email} />
        </>
      )
    case 'wait':
      return <WaitsForDevice />
    case 'ask_again':
      return (
        <form method="post">
          <p>The request on your device was rejected, or not answered in time. Nothing was changed.</p>
          <Actions>
            <Button answer="ask_again" go>
              Continue
            </Button>
          </Actions>
        </form>
      )
    case 'choose':
      return <ChooseStep {...shown} />
    case 'done':
      return (
        <p role="status">
          {shown.account === null ? (
            'The app may look after no business account.'
          ) : (
            <>
              The app may now look after <bdi>{shown.account}</bdi>.
            </>
          )}{' '}
          Go back to your app.
        </p>
      )
  }
}

const OUTBOX = '../../_sandbox/outbox'

const ChooseStep = ({ email, accounts, accountId }: Extract<ShownChoice, { step: 'choose' }>) => (
  <>
    <SignedInAs email={email} />
    <form method="post">
      <fieldset>
        <legend>Business account</legend>
        <p class="muted">The app may look after the one that you pick, and propose changes to it.</p>
        <Choice value="none" isChosen={!accounts.some(({ id }) => id === accountId)}>
          None
        </Choice>
        {accounts.map((account) => (
          <Choice value={String(account.id)} isChosen={account.id === accountId}>
            {labelOf(account, accounts)}
          </Choice>
        ))}
      </fieldset>
      <Actions>
        <Button answer="choose" go>
          Choose
        </Button>
      </Actions>
    </form>
  </>
)

/** Names need not differ: those that do not are told apart by their numbers. */
const labelOf = ({ id, name }: NamedAccount, all: readonly NamedAccount[]): string =>
  all.some((other) => other.id !== id && other.name === name) ? `${name} (${id})` : name

const Choice = ({ value, isChosen, children }: { value: string; isChosen: boolean; children: string }) => (
  <label class="choice">
    <input type="radio" name="account" value={value} checked={isChosen} />
    <bdi>{children}</bdi>
  </label>
)

/** In place of the choice, to people. */
export const refusedChoice = (refused: Problem): Reply =>
  show({
    title: 'Nothing to choose here',
    refused,
    body: (
      <>
        <h1>Nothing to choose here</h1>
        <Alert>
          {refused.code === 'not_found' ? 'This is no link that an app was given: open it as it is.' : refused.message}
        </Alert>
      </>
    ),
  })
