import { byId, commit, finish, goButton, onAgree, show, start } from './dialog.client.js'
import { changeSentence, shownOffer as offer, showChange, shownPrice, shownQuote } from './offer.client.js'
import { pageOrigin, tell } from './parent.client.js'
import { isKnown } from './refusals.client.js'
import { callSignedIn, sendOnce } from './service.client.js'
import { signInFlow } from './sign-in.client.js'

/** Pays a commodity's price to whoever consents. */

const step = byId('payback-step')
const consents = document.getElementById('consent')

const ask = (): void => show(step, goButton(step))

start(
  signInFlow({
    step,
    async offer() {
      ask()
      // Whoever has no mouse scrolls a list that is too long to be seen whole.
      if (consents && consents.scrollHeight > consents.clientHeight) consents.tabIndex = 0
    },
    sentences: {
      insufficient_funds: () => `The sender cannot pay ${shownPrice()} now. Try again later.`,
      not_found: () => 'This is no longer given.',
      item_inactive: () => 'This is not given now.',
      price_changed: () => changeSentence('Allow it if you agree.'),
      payback_taken: () => `You got this already: it is given once to everybody.`,
    },
    async refused(refused) {
      await showChange(refused, ask)
      return isKnown(refused) ? '' : 'Trying again cannot give it twice.'
    },
  }),
)

onAgree(step, async () => {
  await commit(take)
  finish(`You got ${shownPrice()}.`)
})

interface PaidBack {
  /** The reader's twin. */
  payee_hostname: string
  nonce: string
  timestamp: number
}

const take = (): Promise<void> =>
  sendOnce(offer.hash, shownQuote(), async (headers, quote) => {
    // What was read is what is kept.
    const consent = [...(consents?.children ?? [])].map(({ textContent }) => textContent)
    const body = { consent, ...quote, ...(pageOrigin !== undefined && { origin: pageOrigin }) }
    const path = `/v4/payback/${encodeURIComponent(offer.hash)}`
    const { payee_hostname: hostname, nonce, timestamp } = await callSignedIn<PaidBack>('POST', path, { headers, body })
    tell('_TQMSuccess', { hostname, nonce, timestamp })
  })
