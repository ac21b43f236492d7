import { inline } from '../../http/pages/html.js'
import type { Reply } from '../../http/reply.js'
import script from './browser/payback.client.ts?script'
import type { EmbedConsent } from './consent.js'
import { Embed, EmbedActions, type EmbedLook, embedPage, outboxFrom, PriceLabel, Who } from './embed.js'
import type { EmbedOffer } from './offer.js'

const paybackScript = inline(script)

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
