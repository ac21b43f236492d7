import { byId, commit, finish, goButton, onAgree, showStep, start } from './dialog.client.js'
import { changeSentence, shownOffer as offer, showChange, shownPrice, shownQuote } from './offer.client.js'
import { pageOrigin, sendMessage } from './parent.client.js'
import { callSignedIn, sendOnce } from './service.client.js'
import { isKnown, signInFlow } from './sign-in.client.js'

/** Pays a commodity's price to a user who consents. */

const step = byId('payback-step')
const consents = document.getElementById('consent')
const showPaybackStep = (): void => showStep(step, goButton(step))

start(
  signInFlow({
    step,
    async offer() {
      showPaybackStep()
      // Keyboard users must be able to scroll a long list.
      if (consents && consents.scrollHeight > consents.clientHeight) consents.tabIndex = 0
    },
    sentences: {
      insufficient_funds: () => `The sender cannot pay ${shownPrice()} at the moment. Try again later.`,
      not_found: () => 'This is no longer available.',
      item_inactive: () => 'This is not available at the moment.',
      price_changed: () => changeSentence('Allow it if you agree.'),
      payback_taken: () => `You already got this. Everybody gets it once.`,
    },
    async refused(refused) {
      await showChange(refused, showPaybackStep)
      return isKnown(refused) ? '' : 'If you try again, you do not get it twice.'
    },
  }),
)

onAgree(step, async () => {
  await commit(requestPayback)
  finish(`You got ${shownPrice()}.`)
})

interface PaidBack {
  payee_hostname: string
  nonce: string
  timestamp: number
}

const requestPayback = (): Promise<void> =>
  sendOnce(offer.hash, shownQuote(), async (headers, quote) => {
    // Sends exactly the text that the user saw.
    const consent = [...(consents?.children ?? [])].map(({ textContent }) => textContent)
    const body = { consent, ...quote, ...(pageOrigin !== undefined && { origin: pageOrigin }) }
    const path = `/v4/payback/${encodeURIComponent(offer.hash)}`
    const { payee_hostname: hostname, nonce, timestamp } = await callSignedIn<PaidBack>('POST', path, { headers, body })
    sendMessage('_TQMSuccess', { hostname, nonce, timestamp })
  })
