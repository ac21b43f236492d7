import type { ComponentChildren, VNode } from 'preact'

/** Parts of the forms that stand on cards, and look as `formStyle` says. */

/** The buttons of a form. Enter presses the first. */
export const Actions = ({ children }: { children: ComponentChildren }) => <p class="actions">{children}</p>

/** A button that sends the field `answer`; `go` marks that which goes on. */
export const Button = ({ answer, go, children }: { answer: string; go?: boolean; children: string }): VNode => (
  <button type="submit" name="answer" value={answer} class={go ? 'go' : undefined}>
    {children}
  </button>
)

/** The price that the page shows: the answer is refused if it has changed. */
export const QuoteFields = ({ price, dq }: { readonly price: number; readonly dq: string }): VNode => (
  <>
    <input type="hidden" name="price" value={String(price)} />
    <input type="hidden" name="dq" value={dq} />
  </>
)

export const Alert = ({ children }: { children: string }) => (
  <p role="alert" id="alert">
    {children}
  </p>
)

/** Attributes of a field: where what was filled in is refused, the alert says why. */
const invalid = (isRefused: boolean) => (isRefused ? { 'aria-invalid': true, 'aria-describedby': 'alert' } : {})

/** Where an email is filled in. */
export const EmailField = ({
  email,
  isRefused,
  autofocus,
}: {
  email: string
  isRefused: boolean
  autofocus?: boolean
}) => (
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

/** Where the code that was mailed is filled in. */
export const CodeField = ({ email, isRefused }: { email: string; isRefused: boolean }) => (
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
export const SandboxMail = ({ outbox }: { outbox: string }) => (
  <p class="muted">
    This is a sandbox: the mail waits in{' '}
    <a href={outbox} target="_blank" rel="noopener">
      the outbox
    </a>
    .
  </p>
)

/** The mailed code, and the button that verifies it. */
export const CodeForm = ({ email, isRefused }: { email: string; isRefused: boolean }): VNode => (
  <form method="post" novalidate>
    <CodeField email={email} isRefused={isRefused} />
    <Actions>
      <Button answer="verify" go>
        Verify
      </Button>
    </Actions>
  </form>
)

/** Seconds between looks whether a device has answered. */
export const POLL = 2

export const WaitsForDevice = () => (
  <p role="status">We sent a request to your device. This page goes on by itself once you approved it there.</p>
)

/** What is filled in to sign in: `continue` mails a code, `verify` takes it, `other_email` goes back. `outbox`: its address, as seen from the page, where it is a sandbox. */
export const SignInForms = ({
  at: { step, email },
  isRefused,
  outbox,
}: {
  at: { readonly step: 'email' | 'code' | 'device'; readonly email: string }
  isRefused: boolean
  outbox: string | undefined
}): VNode =>
  step === 'device' ? (
    <form method="post">
      <WaitsForDevice />
      <p class="more">
        <Button answer="other_email">Use another email</Button>
      </p>
    </form>
  ) : step === 'email' ? (
    <form method="post" novalidate>
      <EmailField email={email} isRefused={isRefused} autofocus />
      <p class="muted">You get a code by mail; there is no password.</p>
      <Actions>
        <Button answer="continue" go>
          Continue
        </Button>
      </Actions>
    </form>
  ) : (
    <>
      <CodeForm email={email} isRefused={isRefused} />
      <form method="post" class="more">
        <input type="hidden" name="email" value={email} />
        <Button answer="continue">Send a new code</Button>
        <Button answer="other_email">Use another email</Button>
      </form>
      {outbox !== undefined && <SandboxMail outbox={outbox} />}
    </>
  )

/** Who is signed in; `switch` lets somebody else be. */
export const SignedInAs = ({ email }: { email: string }) => (
  <form method="post" class="more">
    <span class="muted">Signed in as {email}</span>
    <Button answer="switch">Not you?</Button>
  </form>
)
