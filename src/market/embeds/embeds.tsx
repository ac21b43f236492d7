import type { ComponentChildren } from 'preact'
import { parsedJson } from '../../base/json.js'
import { type Inline, inline, page } from '../../http/pages/html.js'
import { Coin } from '../../http/pages/parts.js'
import type { Reply } from '../../http/reply.js'
import paybackSource from './browser/payback.client.ts?script'
import paymentSource from './browser/payment.client.ts?script'
import verifySource from './browser/verify.client.ts?script'
import type { EmbedOffer, PersonaOffer } from './offer.js'
import { embedStyle, styleDeclarations, type Theme } from './style.js'

const paymentScript = inline(paymentSource)

/** The embed that takes a payment. For a free commodity it only signs the user in. */
export const paymentPage = (offer: EmbedOffer, look: EmbedLook): Reply =>
  embedPage({
    ...{ title: `${offer.free ? 'Sign in:' : 'Pay'} ${offer.seller}`, script: paymentScript, look },
    body: <PaymentEmbed {...offer} />,
  })

const factsOf = ({ hash, dq, price, shortcode }: EmbedOffer) =>
  ({ 'data-hash': hash, 'data-dq': dq, 'data-price': price, 'data-shortcode': shortcode }) as const

const OfferHeader = ({ offer, before }: { offer: EmbedOffer; before?: ComponentChildren }) => (
  <>
    <h1 id="about">{offer.seller}</h1>
    <p class="muted receipt">{offer.descriptor}</p>
    <p class="price">
      {before}
      {offer.price} <span>{offer.shortcode}</span>
    </p>
  </>
)

const PaymentEmbed = (offer: EmbedOffer) => (
  <Embed
    facts={{
      ...factsOf(offer),
      'data-decimals': offer.decimals,
      'data-balances': offer.balances,
      'data-free': offer.free || undefined,
      'data-descriptor': offer.descriptor,
    }}
    label={<PriceLabel {...offer} />}
    closed={<PaidReceipt />}
    needsScript="Paying needs JavaScript."
    header={<OfferHeader offer={offer} />}
    signIn={{
      why: offer.free ? 'Sign in to continue.' : 'Sign in to pay.',
      outbox: outboxFrom('../..', offer.sandbox),
    }}
  >
    <form id="pay-step" novalidate hidden>
      <Who />
      <p id="balance" class="balance" aria-live="polite" />
      <p id="grant" class="muted" hidden />
      <EmbedActions go={offer.free ? 'Continue' : 'Pay'} />
      {(offer.sandbox || offer.cards) && <Funds {...offer} />}
    </form>
  </Embed>
)

/** Ways to more funds, for a payer whose balance is short. */
const Funds = ({ sandbox, cards }: EmbedOffer) => (
  <div id="funds" hidden>
    {sandbox && (
      <button type="button" id="fund" data-path="/_sandbox/fund">
        Add test funds
      </button>
    )}
    {cards && <button type="button" id="top-up" hidden />}
  </div>
)

/** In place of the closed button, once it is paid. */
const PaidReceipt = () => (
  <p id="receipt" tabindex={-1} hidden>
    <strong id="receipt-price" />
    <span id="receipt-line" class="muted" />
  </p>
)

const paybackScript = inline(paybackSource)

/** The embed that pays its user a commodity's price for their consent. */
export const paybackPage = (offer: EmbedOffer, consents: readonly EmbedConsent[], look: EmbedLook): Reply =>
  embedPage({
    ...{ title: `Get ${offer.price} ${offer.shortcode} from ${offer.seller}`, script: paybackScript, look },
    body: <PaybackEmbed offer={offer} consents={consents} />,
  })

const PaybackEmbed = ({ offer, consents }: { offer: EmbedOffer; consents: readonly EmbedConsent[] }) => (
  <Embed
    facts={factsOf(offer)}
    label={<PriceLabel {...offer} />}
    wide
    needsScript="This needs JavaScript."
    header={
      <OfferHeader
        offer={offer}
        before={
          <>
            <span>You get</span>{' '}
          </>
        }
      />
    }
    signIn={{ why: 'Sign in to get it.', outbox: outboxFrom('../../..', offer.sandbox) }}
  >
    <form id="payback-step" novalidate hidden>
      <Who />
      {consents.length > 0 && (
        <div>
          <p id="consent-title" class="muted">
            In return you allow:
          </p>
          <ul id="consent" aria-labelledby="consent-title">
            {consents.map(({ title, text }) => (
              <li>
                {title && <strong>{title}</strong>}
                {title && text && '\n'}
                {text}
              </li>
            ))}
          </ul>
        </div>
      )}
      <EmbedActions go="Allow" />
    </form>
  </Embed>
)

/** A text that a user consents to, of at most 2,000 characters with its title. */
interface EmbedConsent {
  readonly title: string
  readonly text: string
}

const MAX_CONSENTS = 20
const MAX_LENGTH = 2000

/** Parses a page's consents: JSON of a text, `{title, text}` or an array of them, or plain text. Ignores anything else. */
export function consentsOf(sent: string | undefined): EmbedConsent[] {
  const parsed = sent === undefined ? undefined : parsedJson(sent)
  const asked = parsed === undefined ? sent : parsed
  return (Array.isArray(asked) ? asked : [asked])
    .map(consentOf)
    .filter(({ title, text }) => title !== '' || text !== '')
    .slice(0, MAX_CONSENTS)
}

function consentOf(asked: unknown): EmbedConsent {
  const { title, text }: { title?: unknown; text?: unknown } =
    typeof asked === 'object' && asked !== null ? asked : { text: asked }
  const heading = trimmedText(title).slice(0, MAX_LENGTH - 1)
  // Leaves room for the line break between title and text.
  return { title: heading, text: trimmedText(text).slice(0, MAX_LENGTH - 1 - heading.length) }
}

const trimmedText = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')
const verifyScript = inline(verifySource)

/** The embed that proves to a page that its user has a delegate of a persona. */
export const verifyPage = (persona: PersonaOffer, look: EmbedLook): Reply =>
  embedPage({ title: `Verify ${persona.name}`, script: verifyScript, look, body: <VerifyEmbed {...persona} /> })

const VerifyEmbed = (persona: PersonaOffer) => (
  <Embed
    facts={{
      'data-hash': persona.hash,
      'data-name': persona.name,
      'data-issue-min': persona.issueMin,
      'data-issue-max': persona.issueMax,
    }}
    label={[persona.label.leading, persona.name, ...persona.label.after].join(' ')}
    wide
    needsScript="Verifying needs JavaScript."
    header={
      <>
        <h1 id="about">{persona.name}</h1>
        <p class="muted receipt">{persona.issuer}</p>
        {persona.description !== null && <p class="about">{persona.description}</p>}
      </>
    }
    signIn={{ why: 'Sign in to show this page that you have it.', outbox: outboxFrom('../../..', persona.sandbox) }}
  >
    <form id="verify-step" novalidate hidden>
      <Who />
      <p>The page learns that you have it, and the hostname of your wallet.</p>
      <EmbedActions go="Verify" />
    </form>
    <form id="none-step" novalidate hidden>
      <p class="actions">
        <button type="button" value="cancel">
          Cancel
        </button>
        <button type="button" id="another-email" value="go">
          Use another email
        </button>
      </p>
    </form>
  </Embed>
)

interface EmbedLook {
  readonly theme: Theme | undefined
  /** As the page sent it. Not checked yet. */
  readonly style: string | undefined
}

/** Any page may show an embed. The embed signs its user in by itself and uses no cookie. */
const policy = { 'frame-ancestors': '*', 'connect-src': "'self'" }
type EmbedPage = Pick<Parameters<typeof page>[0], 'title' | 'body'> & { script: Inline; look: EmbedLook }

function embedPage({ title, script, look: { theme, style }, body }: EmbedPage): Reply {
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
  /** What may stand in place of the closed button. */
  readonly closed?: ComponentChildren
  readonly wide?: boolean
  readonly needsScript: string
  /** Header of the dialog. Its heading has the id `about`. */
  readonly header: ComponentChildren
  /** `outbox`: URL of a sandbox's outbox. Default: no hint. */
  readonly signIn: { readonly why: string; readonly outbox: string | undefined }
  readonly children: ComponentChildren
}

/** Relative URL of a sandbox's outbox, because the service may not be at the root of its origin. */
const outboxFrom = (up: string, sandbox: boolean): string | undefined => (sandbox ? `${up}/_sandbox/outbox` : undefined)

const PriceLabel = ({ label, shortcode }: EmbedOffer) => (
  <>
    {label.leading}{' '}
    <span class="amount">
      {label.price} {shortcode}
    </span>
    {label.after.map((part) => ` ${part}`)}
  </>
)

const Embed = ({ facts, label, closed, wide, needsScript, header, signIn, children }: EmbedProps) => (
  <main {...facts}>
    <button id="open" type="button" aria-haspopup="dialog" class={wide ? 'wide' : undefined}>
      <span>{label}</span>
    </button>
    {closed}
    <p id="paid" class="unseen" role="status" />
    <noscript>
      <p class="notice">{needsScript}</p>
    </noscript>
    <dialog id="dialog" aria-labelledby="about">
      <header>
        <Coin />
        {header}
      </header>
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

const EmailStep = ({ why }: { why: string }) => (
  <form id="email-step" novalidate hidden>
    <p>{why} We mail you a code, so there is no password.</p>
    <div>
      <label for="email">Email</label>
      <input id="email" type="email" autocomplete="email" inputmode="email" autocapitalize="none" spellcheck={false} />
    </div>
    <EmbedActions go="Continue" />
  </form>
)

const CodeStep = ({ outbox }: { outbox: string | undefined }) => (
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

const Who = () => (
  <p class="who">
    <span id="signed-in-as" class="muted" />
    <button type="button" id="sign-out">
      Not you?
    </button>
  </p>
)

const EmbedActions = ({ go }: { go: string }) => (
  <p class="actions">
    <button type="button" value="cancel">
      Cancel
    </button>
    <button type="submit" value="go">
      {go}
    </button>
  </p>
)

const Hint = ({ children }: { children: ComponentChildren }) => <p class="muted hint">{children}</p>
