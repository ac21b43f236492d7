import type { ComponentChildren } from 'preact'
import { inline, page } from '../http/html.js'
import type { Reply } from '../http/reply.js'
import script from './embed.client.ts?script'
import { embedStyle } from './embed-style.js'
import { styleDeclarations, type Theme } from './style.js'

export interface Embed {
  readonly hash: string
  /** Who is paid. */
  readonly seller: string
  /** The receipt line. */
  readonly descriptor: string
  /** The exact price. */
  readonly price: string
  readonly dq: string
  readonly shortcode: string
  readonly decimals: number
  /** What the closed button says, part by part, with the price as the page wants it. */
  readonly label: { readonly leading: string; readonly price: string; readonly after: readonly string[] }
  readonly theme: Theme | undefined
  /** As the page sent it: not yet checked. */
  readonly style: string | undefined
  readonly sandbox: boolean
}

const embedScript = inline(script)

/** Any page may show an embed: it signs the payer in by itself and acts on no cookie. */
const policy = { 'frame-ancestors': '*', 'connect-src': "'self'" }

/** The payment embed: a button that grows into a dialog. */
export function embedPage(embed: Embed): Reply {
  const declarations = styleDeclarations(embed.style, embed.theme)
  const styles = declarations === '' ? [embedStyle] : [embedStyle, inline(`:root{${declarations}}`)]
  return page({
    title: `Pay ${embed.seller}`,
    theme: embed.theme,
    styles,
    script: embedScript,
    policy,
    body: <PaymentEmbed {...embed} />,
  })
}

/** In place of an embed of something that is not sold. */
export const unknownPage = (theme: Theme | undefined): Reply =>
  page({
    title: 'Not for sale',
    status: 404,
    theme,
    styles: [embedStyle],
    policy: { 'frame-ancestors': '*' },
    body: (
      <main>
        <p class="notice">This is not for sale here.</p>
      </main>
    ),
  })

const PaymentEmbed = (embed: Embed) => (
  <main
    data-hash={embed.hash}
    data-dq={embed.dq}
    data-price={embed.price}
    data-shortcode={embed.shortcode}
    data-decimals={embed.decimals}
  >
    <button id="open" type="button" aria-haspopup="dialog">
      <span>
        {embed.label.leading}{' '}
        <span class="amount">
          {embed.label.price} {embed.shortcode}
        </span>
        {embed.label.after.map((part) => ` ${part}`)}
      </span>
    </button>
    <p id="paid" class="unseen" role="status" />
    <noscript>
      <p class="notice">Paying needs JavaScript.</p>
    </noscript>
    <dialog id="dialog" aria-labelledby="seller">
      <header>
        <h1 id="seller">{embed.seller}</h1>
        <p class="muted receipt">{embed.descriptor}</p>
        <p class="price">
          {embed.price} <span>{embed.shortcode}</span>
        </p>
      </header>
      <p id="alert" role="alert" />
      <EmailStep />
      <CodeStep sandbox={embed.sandbox} />
      <PayStep sandbox={embed.sandbox} />
    </dialog>
  </main>
)

const EmailStep = () => (
  <form id="email-step" novalidate hidden>
    <p>Sign in to pay. You get a code by mail; there is no password.</p>
    <div>
      <label for="email">Email</label>
      <input id="email" type="email" autocomplete="email" inputmode="email" autocapitalize="none" spellcheck={false} />
    </div>
    <Actions go="Continue" />
  </form>
)

const CodeStep = ({ sandbox }: { sandbox: boolean }) => (
  <form id="code-step" novalidate hidden>
    <p>
      We mailed a six-digit code to <strong id="sent-to" /> It works once, within ten minutes.
    </p>
    <div>
      <label for="code">Code</label>
      <input id="code" type="text" autocomplete="one-time-code" inputmode="numeric" spellcheck={false} />
    </div>
    <Actions go="Verify" />
    <p class="more">
      <button type="button" id="resend">
        Send a new code
      </button>
      <button type="button" id="other-email">
        Use another email
      </button>
    </p>
    {sandbox && (
      <Hint>
        This is a sandbox: the mail waits in <OutboxLink />.
      </Hint>
    )}
  </form>
)

const PayStep = ({ sandbox }: { sandbox: boolean }) => (
  <form id="pay-step" novalidate hidden>
    <p class="who">
      <span id="signed-in-as" class="muted" />
      <button type="button" id="sign-out">
        Not you?
      </button>
    </p>
    <p id="balance" class="balance" aria-live="polite" />
    <Actions go="Pay" />
    {sandbox && (
      <Hint id="fund-hint">
        This is a sandbox: POST /_sandbox/fund gives value to <strong id="hostname" />
      </Hint>
    )}
  </form>
)

const Actions = ({ go }: { go: string }) => (
  <p class="actions">
    <button type="button" value="cancel">
      Cancel
    </button>
    <button type="submit" value="go">
      {go}
    </button>
  </p>
)

const Hint = ({ id, children }: { id?: string; children: ComponentChildren }) => (
  <p class="muted hint" id={id} hidden={id !== undefined}>
    {children}
  </p>
)

const OutboxLink = () => (
  <a href="../../_sandbox/outbox" target="_blank" rel="noopener">
    the outbox
  </a>
)
