import type { ComponentChildren, VNode } from 'preact'
import { Actions, Alert, Button, CodeField, EmailField, SandboxMail } from '../../../http/pages/card.js'
import type { Reply } from '../../../http/reply.js'
import { Onward, show } from '../pages/pages.js'
import type { Consent, Shown, Step } from './interaction.js'

const scopeTexts: Readonly<Record<string, readonly string[]>> = {
  openid: ['Know that it is you each time'],
  profile: ['See your name'],
  email: ['See your email address'],
  twin: [
    'See your wallets and what was bought',
    'Hold the key of the wallet that your agents pay from',
    'Pay from that without asking, up to the amount that you set: none at first',
    'Ask you to approve everything else',
  ],
  offline_access: ['Stay connected while you are away'],
}

/** Seconds between looks whether the device has answered. */
const POLL = 2

type Asking = Exclude<Step, { step: 'leave' | 'turned_back' }>

/** The page of an interaction's next step. It needs no script. */
export function interactionPage(
  shown: Shown & { readonly next: Exclude<Step, { step: 'leave' }> },
  sandbox: boolean,
): Reply {
  const { refused, next } = shown
  if (next.step === 'turned_back') return turnedBackPage(shown, next)
  return show({
    title: titles[next.step],
    status: refused?.status,
    scheme: shown.scheme,
    ...(next.step === 'wait' && !refused && { refresh: POLL }),
    body: (
      <>
        <h1>{next.step === 'consent' ? `Connect ${shown.app}` : titles[next.step]}</h1>
        <p class="muted">
          {next.step === 'consent' ? 'Its answer goes to' : `To connect ${shown.app}, at`} {shown.origin}
        </p>
        {refused && <Alert>{(refused.code === 'field_invalid' && toFillIn[next.step]) || refused.message}</Alert>}
        {bodyOf(next, refused !== undefined, sandbox)}
      </>
    ),
  })
}

const turnedBackPage = ({ app, origin }: Shown, { why, location }: Extract<Step, { step: 'turned_back' }>): Reply =>
  show({
    title: 'The app sent a wrong request',
    status: 400,
    body: (
      <>
        <h1>The app sent a wrong request</h1>
        <Alert>{why}</Alert>
        <p>
          {app} sent you here. You have not connected it as the user who is signed in now. Nothing was changed: you can
          close this page.
        </p>
        <Onward location={location} place={origin} />
      </>
    ),
  })

/** What people are told in place of the sentence for programs. */
const toFillIn: Partial<Record<Asking['step'], string>> = {
  email: 'Enter an email address, such as ada@example.test.',
  consent: 'Pick one of the accounts, or none.',
}

const titles: Record<Asking['step'], string> = {
  email: 'Sign in',
  code: 'Enter your code',
  wait: 'Approve on your device',
  ask_again: 'Your device did not answer',
  consent: 'Connect an app',
}

function bodyOf(next: Asking, isRefused: boolean, sandbox: boolean): VNode {
  switch (next.step) {
    case 'email':
      return <EmailStep hint={next.hint} isRefused={isRefused} />
    case 'code':
      return <CodeStep email={next.email} isRefused={isRefused} sandbox={sandbox} />
    case 'wait':
      return (
        <Form>
          <p role="status">We sent a request to your device. This page goes on by itself once you approved it there.</p>
          <Actions>
            <Button answer="cancel">Cancel</Button>
          </Actions>
        </Form>
      )
    case 'ask_again':
      return (
        <Form>
          <p>The request on your device was not answered in time.</p>
          <GoOn answer="ask_again">Continue</GoOn>
        </Form>
      )
    case 'consent':
      return <ConsentStep {...next} />
  }
}

const Form = ({ children }: { children: ComponentChildren }) => (
  <form method="post" novalidate>
    {children}
  </form>
)

const GoOn = ({ answer, children }: { answer: string; children: string }) => (
  <Actions>
    <Button answer={answer} go>
      {children}
    </Button>
    <Button answer="cancel">Cancel</Button>
  </Actions>
)

const EmailStep = ({ hint, isRefused }: { hint: string; isRefused: boolean }) => (
  <Form>
    <EmailField email={hint} isRefused={isRefused} autofocus />
    <p class="muted">You get a code by mail; there is no password. An address that is new here signs up.</p>
    <GoOn answer="continue">Continue</GoOn>
  </Form>
)

const CodeStep = ({ email, isRefused, sandbox }: { email: string; isRefused: boolean; sandbox: boolean }) => (
  <>
    <Form>
      <CodeField email={email} isRefused={isRefused} />
      <GoOn answer="verify">Verify</GoOn>
    </Form>
    <form method="post" class="more">
      <Button answer="resend">Send a new code</Button>
      <Button answer="other_email">Use another email</Button>
    </form>
    {sandbox && <SandboxMail outbox="../../../_sandbox/outbox" />}
  </>
)

const ConsentStep = ({ email, scopes, accounts, accountId }: Consent) => (
  <>
    <form method="post" class="more">
      <span class="muted">Signed in as {email}</span>
      <Button answer="switch">Not you?</Button>
    </form>
    <Form>
      <div>
        <h2 id="may">The app may</h2>
        <ul aria-labelledby="may">
          {scopes
            .flatMap((scope) => scopeTexts[scope] ?? [])
            .map((text) => (
              <li>{text}</li>
            ))}
        </ul>
      </div>
      {accounts.length > 0 && (
        <fieldset>
          <legend>Business account</legend>
          <p class="muted">The app may look after the one that you pick, and propose changes to it.</p>
          <Choice value="none" isChosen={!accounts.some(({ id }) => id === accountId)}>
            None
          </Choice>
          {accounts.map(({ id, name }) => (
            <Choice value={String(id)} isChosen={id === accountId}>
              {name}
            </Choice>
          ))}
        </fieldset>
      )}
      <Actions>
        <Button answer="allow" go>
          Allow
        </Button>
        <Button answer="deny">Deny</Button>
      </Actions>
    </Form>
  </>
)

const Choice = ({ value, isChosen, children }: { value: string; isChosen: boolean; children: string }) => (
  <label class="choice">
    <input type="radio" name="account" value={value} checked={isChosen} />
    {children}
  </label>
)
