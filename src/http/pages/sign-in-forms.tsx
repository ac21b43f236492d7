import type { VNode } from 'preact'
import { Actions, Button, Form, GoOn } from './parts.js'

/** The forms by which people sign in with a mailed code. */

/** Attributes of a field: where what was filled in is refused, the alert says why. */
const invalid = (isRefused: boolean) => (isRefused ? { 'aria-invalid': true, 'aria-describedby': 'alert' } : {})

const EmailField = ({ email, isRefused, autofocus }: { email: string; isRefused: boolean; autofocus: boolean }) => (
  <div>
    <label for="email">Email</label>
    <input
      id="email"
      name="email"
      type="email"
      value={email}
      autocomplete="email"
      inputmode="email"
      autocapitalize="none"
      spellcheck={false}
      autofocus={autofocus}
      {...invalid(isRefused)}
    />
  </div>
)

const CodeField = ({ email, isRefused }: { email: string; isRefused: boolean }) => (
  <>
    <p>
      We mailed a six-digit code to <strong>{email}</strong>. It works once, within ten minutes.
    </p>
    <div>
      <label for="code">Code</label>
      <input
        id="code"
        name="code"
        type="text"
        autocomplete="one-time-code"
        inputmode="numeric"
        spellcheck={false}
        autofocus
        {...invalid(isRefused)}
      />
    </div>
  </>
)

/** `outbox`: the address, as seen from the page. */
const SandboxMail = ({ outbox }: { outbox: string }) => (
  <p class="muted">
    This is a sandbox: the mail waits in{' '}
    <a href={outbox} target="_blank" rel="noopener">
      the outbox
    </a>
    .
  </p>
)

export const WaitsForDevice = () => (
  <p role="status">We sent a request to your device. This page goes on by itself once you approved it there.</p>
)

export interface SignInForms {
  readonly at: { readonly step: 'email' | 'code' | 'device'; readonly email: string }
  readonly isRefused: boolean
  /** The outbox's address, as seen from the page, where the service is a sandbox. */
  readonly outbox: string | undefined
  /** Under the field for the email. */
  readonly note?: string
  /** The way back to the email: a button that answers `other_email`, unless this says otherwise. */
  readonly another?: VNode | null
  /** The answer that mails another code. */
  readonly resend?: string
  /** Whether there is a button that leaves. */
  readonly cancel?: boolean
  /** Whether the page begins in the field for the email. */
  readonly autofocus?: boolean
}

const NOTE = 'You get a code by mail; there is no password.'

/** `continue` mails a code to what was filled in as `email`; `verify` takes the `code`. */
export const SignInForms = ({ at: { step, email }, isRefused, outbox, ...options }: SignInForms): VNode => {
  const { note = NOTE, resend = 'continue', cancel = false, autofocus = true } = options
  const { another = <Button answer="other_email">Use another email</Button> } = options
  switch (step) {
    case 'email':
      return (
        <Form>
          <EmailField email={email} isRefused={isRefused} autofocus={autofocus} />
          <p class="muted">{note}</p>
          <GoOn answer="continue" cancel={cancel}>
            Continue
          </GoOn>
        </Form>
      )
    case 'code':
      return (
        <>
          <Form>
            <CodeField email={email} isRefused={isRefused} />
            <GoOn answer="verify" cancel={cancel}>
              Verify
            </GoOn>
          </Form>
          <form method="post" class="more">
            <input type="hidden" name="email" value={email} />
            <Button answer={resend}>Send a new code</Button>
            {another}
          </form>
          {outbox !== undefined && <SandboxMail outbox={outbox} />}
        </>
      )
    case 'device':
      return (
        <Form>
          <WaitsForDevice />
          {another && <p class="more">{another}</p>}
          {cancel && (
            <Actions>
              <Button answer="cancel">Cancel</Button>
            </Actions>
          )}
        </Form>
      )
  }
}

/** Who is signed in, and the way for someone else: a button that answers `switch`, unless `another` says otherwise. */
export const SignedInAs = ({ email, another }: { email: string; another?: VNode }) => (
  <form method="post" class="more">
    <span class="muted">Signed in as {email}</span>
    {another ?? <Button answer="switch">Not you?</Button>}
  </form>
)
