import { inline } from '../../http/pages/html.js'
import type { Reply } from '../../http/reply.js'
import paybackSource from './browser/payback.client.ts?script'
import paymentSource from './browser/payment.client.ts?script'
import verifySource from './browser/verify.client.ts?script'
import { Embed, EmbedActions, type EmbedLook, embedPage, Hint, outboxFrom, PriceLabel, Who } from './embed.js'
import type { EmbedOffer, PersonaOffer } from './offer.js'

const paymentScript = inline(paymentSource)

/** The embed that takes a payment. For a free commodity it only signs the user in. */
export const paymentPage = (offer: EmbedOffer, look: EmbedLook): Reply =>
  embedPage({
    title: `${offer.free ? 'Sign in:' : 'Pay'} ${offer.seller}`,
    script: paymentScript,
    look,
    body: <PaymentEmbed {...offer} />,
  })

const PaymentEmbed = (offer: EmbedOffer) => (
  <Embed
    facts={{
      'data-hash': offer.hash,
      'data-dq': offer.dq,
      'data-price': offer.price,
      'data-shortcode': offer.shortcode,
      'data-decimals': offer.decimals,
      'data-balances': offer.balances,
      'data-free': offer.free || undefined,
    }}
    label={<PriceLabel {...offer} />}
    needsScript="Paying needs JavaScript."
    header={
      <>
        <h1 id="about">{offer.seller}</h1>
        <p class="muted receipt">{offer.descriptor}</p>
        <p class="price">
          {offer.price} <span>{offer.shortcode}</span>
        </p>
      </>
    }
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
      {offer.sandbox && (
        <Hint id="fund-hint">
          This is a sandbox: add funds with POST /_sandbox/fund to <strong id="hostname" />
        </Hint>
      )}
    </form>
  </Embed>
)

const paybackScript = inline(paybackSource)

/** The embed that pays its user a commodity's price for their consent. */
export const paybackPage = (offer: EmbedOffer, consents: readonly EmbedConsent[], look: EmbedLook): Reply =>
  embedPage({
    title: `Get ${offer.price} ${offer.shortcode} from ${offer.seller}`,
    script: paybackScript,
    look,
    body: <PaybackEmbed offer={offer} consents={consents} />,
  })

const PaybackEmbed = ({ offer, consents }: { offer: EmbedOffer; consents: readonly EmbedConsent[] }) => (
  <Embed
    facts={{
      'data-hash': offer.hash,
      'data-dq': offer.dq,
      'data-price': offer.price,
      'data-shortcode': offer.shortcode,
    }}
    label={<PriceLabel {...offer} />}
    wide
    needsScript="This needs JavaScript."
    header={
      <>
        <h1 id="about">{offer.seller}</h1>
        <p class="muted receipt">{offer.descriptor}</p>
        <p class="price">
          <span>You get</span> {offer.price} <span>{offer.shortcode}</span>
        </p>
      </>
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
export interface EmbedConsent {
  readonly title: string
  readonly text: string
}

const MAX_CONSENTS = 20
const MAX_LENGTH = 2000

/**
 * Parses the consents of a page: JSON of a text, of `{title, text}` or of an array of them, or plain text. Anything
 * else is ignored, and so is everything beyond 20 texts or 2,000 characters.
 */
export function consentsOf(sent: string | undefined): EmbedConsent[] {
  const asked = parse(sent)
  return (Array.isArray(asked) ? asked : [asked])
    .map(consentOf)
    .filter(({ title, text }) => title !== '' || text !== '')
    .slice(0, MAX_CONSENTS)
}

function parse(sent: string | undefined): unknown {
  if (sent === undefined) return undefined
  try {
    return JSON.parse(sent)
  } catch {
    return sent
  }
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
