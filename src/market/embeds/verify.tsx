import { inline } from '../../http/pages/html.js'
import type { Reply } from '../../http/reply.js'
import script from './browser/verify.client.ts?script'
import { Embed, EmbedActions, type EmbedLook, embedPage, outboxFrom, Who } from './embed.js'
import type { PersonaOffer } from './offer.js'

const verifyScript = inline(script)

/** The embed that proves to a page that its user has a delegate of a persona. */
export const verifyPage = (persona: PersonaOffer, look: EmbedLook): Reply =>
  embedPage({
    title: `Verify ${persona.name}`,
    script: verifyScript,
    look,
    body: <VerifyEmbed {...persona} />,
  })

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
    signIn={{
      why: 'Sign in to show this page that you have it.',
      outbox: outboxFrom('../../..', persona.sandbox),
    }}
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
