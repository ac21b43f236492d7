import type { ComponentChildren, VNode } from 'preact'
import { coinSvg } from './coin.js'

/** The mark of farthing. */
export const Coin = () => <span class="coin" aria-hidden="true" dangerouslySetInnerHTML={{ __html: coinSvg }} />

/**
 * The service checks what was filled in, and says what is wrong in its own words. `isAtHand`: its buttons stay in sight at the
 * bottom of the window, however long the page is.
 */
export const Form = ({ isAtHand, children }: { isAtHand?: boolean; children: ComponentChildren }) => (
  <form method="post" novalidate class={isAtHand ? 'at-hand' : undefined}>
    {children}
  </form>
)

export const Actions = ({ children }: { children: ComponentChildren }) => <p class="actions">{children}</p>

/** A button that sends the field `answer`; `go` marks the one that goes on. */
export const Button = ({ answer, go, children }: { answer: string; go?: boolean; children: string }): VNode => (
  <button type="submit" name="answer" value={answer} class={go ? 'go' : undefined}>
    {children}
  </button>
)

/** The button that goes on, and where `cancel` is set one that leaves. */
export const GoOn = ({ answer, cancel, children }: { answer: string; cancel?: boolean; children: string }) => (
  <Actions>
    <Button answer={answer} go>
      {children}
    </Button>
    {cancel && <Button answer="cancel">Cancel</Button>}
  </Actions>
)

/** The price that the page shows: the answer is refused if it has changed. */
export const QuoteFields = ({ price, dq }: { readonly price: number; readonly dq: string }): VNode => (
  <>
    <input type="hidden" name="price" value={String(price)} />
    <input type="hidden" name="dq" value={dq} />
  </>
)

interface Option {
  readonly value: string
  readonly label: string
  /** Under the label. */
  readonly note?: string
}

interface Choices {
  readonly field: string
  readonly legend: string
  readonly note: string
  readonly options: readonly Option[]
  readonly chosen?: string
}

/** One of several to pick; the first where `chosen` is none of them. */
export const Choices = ({ field, legend, note, options, chosen }: Choices): VNode => (
  <fieldset>
    <legend>{legend}</legend>
    <p class="muted">{note}</p>
    {options.map((option, place) => {
      const isChosen = options.some(({ value }) => value === chosen) ? option.value === chosen : place === 0
      return (
        <label class="choice">
          <input type="radio" name={field} value={option.value} checked={isChosen} />
          <bdi>{option.label}</bdi>
          {option.note !== undefined && <span class="muted">{option.note}</span>}
        </label>
      )
    })}
  </fieldset>
)

export const AmountText = ({ children }: { children: ComponentChildren }) => <p class="amount">{children}</p>

/** Names and values, line by line. */
export const Facts = ({ facts }: { facts: readonly (readonly [name: string, value: string])[] }) => (
  <dl class="lines">
    {facts.map(([name, value]) => (
      <div>
        <dt dir="auto">{name}</dt>
        <dd dir="auto">{value}</dd>
      </div>
    ))}
  </dl>
)

/** What someone else wrote, and who. */
export const Quotation = ({ by, children }: { by: string; children: string }) => (
  <figure>
    <figcaption>{by}</figcaption>
    <blockquote dir="auto">{children}</blockquote>
  </figure>
)

/** A link that leaves the service; `go` marks it as the way on. */
export const Onward = ({ to, go, children }: { to: string; go?: boolean; children: ComponentChildren }) => (
  <p class="onward">
    <a href={to} rel="noreferrer" class={go ? 'go' : undefined}>
      {children}
    </a>
  </p>
)

/** An app in a sentence: its name in quotation marks, and the host of its metadata document apart from it. */
export const AppTitle = ({ title, host }: { title: string; host: string | null }) => (
  <>
    <bdi>{title}</bdi>
    {host !== null && (
      <>
        {' of '}
        <Host host={host} />
      </>
    )}
  </>
)

/** Who vouches for the name of an app. */
export const AppOrigin = ({ host }: { host: string | null }) =>
  host === null ? (
    <p class="muted">The app registered itself. Nobody has checked its name.</p>
  ) : (
    <p>
      This is the app of <Host host={host} />
    </p>
  )

const Host = ({ host }: { host: string }) => (
  <strong class="host" dir="ltr">
    {host}
  </strong>
)

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
  readonly note?: string
  /** The way back to the email: a button that answers `other_email`, unless this says otherwise. */
  readonly another?: VNode | null
  /** The answer that mails another code. */
  readonly resend?: string
  readonly cancel?: boolean
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
