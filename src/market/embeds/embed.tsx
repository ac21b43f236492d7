import type { ComponentChildren } from 'preact'
import { type Inline, inline, page } from '../../http/pages/html.js'
import type { Reply } from '../../http/reply.js'
import { embedStyle } from './embed-style.js'
import type { EmbedOffer } from './offer.js'
import { styleDeclarations, type Theme } from './style.js'

export interface EmbedLook {
  readonly theme: Theme | undefined
  /** As the page sent it. Not checked yet. */
  readonly style: string | undefined
}

/** Any page may show an embed. The embed signs its user in by itself and uses no cookie. */
const policy = { 'frame-ancestors': '*', 'connect-src': "'self'" }

interface EmbedPage {
  readonly title: string
  readonly script: Inline
  readonly look: EmbedLook
  readonly body: Parameters<typeof page>[0]['body']
}

export function embedPage({ title, script, look: { theme, style }, body }: EmbedPage): Reply {
  const declarations = styleDeclarations(style, theme)
  const styles = declarations === '' ? [embedStyle] : [embedStyle, inline(`:root{${declarations}}`)]
  return page({ title, theme, styles, script, policy, body })
}

/** A page that says why there is no embed. */
export const noticePage = (status: number, title: string, notice: string, theme: Theme | undefined): Reply =>
  page({
    title,
    status,
    theme,
    styles: [embedStyle],
    policy: { 'frame-ancestors': '*' },
    body: (
      <main>
        <p class="notice">{notice}</p>
      </main>
    ),
  })

interface EmbedProps {
  readonly facts: Readonly<Record<`data-${string}`, string | number | boolean | undefined>>
  readonly label: ComponentChildren
  /** Starts with the wider of the two initial sizes. */
  readonly wide?: boolean
  readonly needsScript: string
  /** Header of the dialog. Its heading has the id `about`. */
  readonly header: ComponentChildren
  readonly signIn: SignIn
  readonly children: ComponentChildren
}

interface SignIn {
  readonly why: string
  /** URL of a sandbox's outbox. Default: no hint. */
  readonly outbox: string | undefined
}

/** Relative URL of a sandbox's outbox, because the service may not be at the root of its origin. */
export const outboxFrom = (up: string, sandbox: boolean): string | undefined =>
  sandbox ? `${up}/_sandbox/outbox` : undefined

/** Label of a closed button: a price with the page's own words around it. */
export const PriceLabel = ({ label, shortcode }: Pick<EmbedOffer, 'label' | 'shortcode'>) => (
  <>
    {label.leading}{' '}
    <span class="amount">
      {label.price} {shortcode}
    </span>
    {label.after.map((part) => ` ${part}`)}
  </>
)

export const Embed = ({ facts, label, wide, needsScript, header, signIn, children }: EmbedProps) => (
  <main {...facts}>
    <button id="open" type="button" aria-haspopup="dialog" class={wide ? 'wide' : undefined}>
      <span>{label}</span>
    </button>
    <p id="paid" class="unseen" role="status" />
    <noscript>
      <p class="notice">{needsScript}</p>
    </noscript>
    <dialog id="dialog" aria-labelledby="about">
      <header>{header}</header>
      <p id="alert" role="alert" />
      <EmailStep why={signIn.why} />
      <CodeStep outbox={signIn.outbox} />
      {children}
      <div class="other-way" aria-live="polite">
        <div id="other-way" hidden>
          <p class="muted">
            This page covers or changes part of this dialog. Continue in a new window to see all of it.
          </p>
          <button type="button" id="own-window">
            Open a new window
          </button>
        </div>
      </div>
    </dialog>
  </main>
)

const EmailStep = ({ why }: Pick<SignIn, 'why'>) => (
  <form id="email-step" novalidate hidden>
    <p>{why} We mail you a code, so there is no password.</p>
    <div>
      <label for="email">Email</label>
      <input id="email" type="email" autocomplete="email" inputmode="email" autocapitalize="none" spellcheck={false} />
    </div>
    <EmbedActions go="Continue" />
  </form>
)

const CodeStep = ({ outbox }: Pick<SignIn, 'outbox'>) => (
  <form id="code-step" novalidate hidden>
    <p>
      We mailed a six-digit code to <strong id="sent-to" /> It works once and expires in ten minutes.
    </p>
    <div>
      <label for="code">Code</label>
      <input id="code" type="text" autocomplete="one-time-code" inputmode="numeric" spellcheck={false} />
    </div>
    <p id="device-wait" role="status" hidden>
      We sent a request to your device. This page continues when you approve it there.
    </p>
    <EmbedActions go="Verify" />
    <p class="more">
      <button type="button" id="resend">
        Send a new code
      </button>
      <button type="button" id="other-email">
        Use another email
      </button>
    </p>
    {outbox !== undefined && (
      <Hint>
        This is a sandbox: the mail waits in{' '}
        <a href={outbox} target="_blank" rel="noopener">
          the outbox
        </a>
        .
      </Hint>
    )}
  </form>
)

export const Who = () => (
  <p class="who">
    <span id="signed-in-as" class="muted" />
    <button type="button" id="sign-out">
      Not you?
    </button>
  </p>
)

export const EmbedActions = ({ go }: { go: string }) => (
  <p class="actions">
    <button type="button" value="cancel">
      Cancel
    </button>
    <button type="submit" value="go">
      {go}
    </button>
  </p>
)

export const Hint = ({ id, children }: { id?: string; children: ComponentChildren }) => (
  <p class="muted hint" id={id} hidden={id !== undefined}>
    {children}
  </p>
)
