import { inline } from '../../http/pages/html.js'
import type { Reply } from '../../http/reply.js'
import script from './browser/payment.client.ts?script'
import { Embed, EmbedActions, type EmbedLook, embedPage, Hint, outboxFrom, PriceLabel, Who } from './embed.js'
import type { EmbedOffer } from './offer.js'

const paymentScript = inline(script)

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
