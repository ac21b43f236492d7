import { byId, commit, finish, goButton, onSubmit, show, start } from './dialog.client.js'
import { pageOrigin, tell } from './parent.client.js'
import { isKnown } from './refusals.client.js'
import { callSignedIn, once } from './service.client.js'
import { signInFlow } from './sign-in.client.js'

/** Pays a commodity's price to whoever consents. */

const offer = (document.querySelector('main') as HTMLElement).dataset as Record<'hash' | 'price' | 'shortcode', string>
const amount = `${offer.price} ${offer.shortcode}`
const step = byId('payback-step')
const consents = byId('consent')

start(
  signInFlow({
    step,
    async offer() {
      show(step, goButton(step))
      // Whoever has no mouse scrolls a list that is too long to be seen whole.
      if (consents && consents.scrollHeight > consents.clientHeight) consents.tabIndex = 0
    },
    sentences: {
      insufficient_funds: () => `The sender cannot pay ${amount} now. Try again later.`,
      not_found: () => 'This is no longer given.',
      payback_taken: () => `You got this already: it is given once to everybody.`,
    },
    refused: async (refused) => (isKnown(refused) ? '' : 'Trying again cannot give it twice.'),
  }),
)

onSubmit(step, async () => {
  await commit(take)
  finish(`You got ${amount}.`)
})

interface PaidBack {
  /** The reader's twin. */
  payee_hostname: string
  nonce: string
  timestamp: number
}

const take = (): Promise<void> =>
  once(offer.hash, async (headers) => {
    // What was read is what is kept.
    const consent = [...(consents?.children ?? [])].map(({ textContent }) => textContent)
    const body = { consent, ...(pageOrigin !== undefined && { origin: pageOrigin }) }
    const path = `/v4/payback/${encodeURIComponent(offer.hash)}`
    const { payee_hostname: hostname, nonce, timestamp } = await callSignedIn<PaidBack>('POST', path, { headers, body })
    tell('_TQMSuccess', { hostname, nonce, timestamp })
  })
