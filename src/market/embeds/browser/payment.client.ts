import { byId, commit, finish, goButton, onAgree, show, start } from './dialog.client.js'
import { changeSentence, shownOffer as offer, showChange, shownPrice, shownQuote } from './offer.client.js'
import { pageOrigin, tell } from './parent.client.js'
import { trimmed } from './price.js'
import { isKnown } from './refusals.client.js'
import { callSignedIn, ownTwins, sendOnce } from './service.client.js'
import { signInFlow } from './sign-in.client.js'

/** Pays for a commodity. One that is free is paid for to sign in: the page gets a session either way. */

/** As it is shown: the seller may have changed it. */
const isFree = (): boolean => 'free' in offer
const step = byId('pay-step')

/** How long the answer to a payment waits for the page's session. */
const SESSION_PATIENCE_MS = 5000

const ask = (): void => show(step, goButton(step))

start(
  signInFlow({
    step,
    async offer() {
      document.getElementById('fund-hint')?.setAttribute('hidden', '')
      byId('balance').textContent = `BALANCE … ${offer.shortcode}`
      showGrant()
      ask()
      await showBalance()
    },
    sentences: {
      insufficient_funds: () => `Your balance does not cover ${shownPrice()}. Add funds, then pay.`,
      not_found: () => 'This is no longer for sale.',
      item_inactive: () => 'This is not for sale now.',
      price_changed: () => changeSentence(isFree() ? 'Continue if you agree.' : 'Check it, then pay.'),
    },
    async refused(refused) {
      await showChange(refused, ask)
      if (refused.code === 'insufficient_funds') document.getElementById('fund-hint')?.removeAttribute('hidden')
      if (['insufficient_funds', 'price_changed'].includes(refused.code)) await showBalance().catch(() => {})
      // Its key does not let a payment be made twice.
      if (!isKnown(refused)) return isFree() ? '' : 'Trying again cannot pay twice.'
      return isFree() && refused.code !== 'price_changed' ? '' : 'Nothing was charged.'
    },
  }),
)

function showGrant(): void {
  if (pageOrigin === undefined) return
  byId('grant').textContent = `${new URL(pageOrigin).host} can then ask you for payments; each waits for your approval.`
  byId('grant').hidden = false
}

onAgree(step, async () => finish(await commit(pay)))

interface Paid {
  amount: number
  hostname: string
  nonce: string
  timestamp: number
}

/** Gives what people are told of it. */
const pay = (): Promise<string> =>
  sendOnce(offer.hash, shownQuote(), async (headers, body) => {
    const path = `/v4/payment/${encodeURIComponent(offer.hash)}`
    const { amount, hostname, nonce, timestamp } = await callSignedIn<Paid>('POST', path, { headers, body })
    const session = await pageSession()
    tell('_TQMSuccess', { hostname, nonce, timestamp, ...(session !== undefined && { session: { session } }) })
    return amount === 0 ? 'Signed in.' : `Paid ${trimmed(decimal(amount))} ${offer.shortcode}.`
  })

/** A session for the page. A payment that was made is told without it where it cannot be had. */
async function pageSession(): Promise<string | undefined> {
  if (pageOrigin === undefined) return undefined
  const body = { hash: offer.hash, origin: pageOrigin }
  const sent = { body, patienceMs: SESSION_PATIENCE_MS }
  const made = callSignedIn<{ session_id: string }>('POST', '/v4/session/page', sent)
  return made.then(
    ({ session_id }) => session_id,
    () => undefined,
  )
}

/** Of the twin that pays: the payer's first. */
async function showBalance(): Promise<void> {
  let first: { hostname: string; balances: Record<string, number> } = { hostname: '', balances: {} }
  for await (const twin of ownTwins()) first = twin
  byId('balance').textContent = `BALANCE ${trimmed(decimal(first.balances[offer.dq] ?? 0))} ${offer.shortcode}`
  const payer = document.getElementById('hostname')
  if (payer) payer.textContent = first.hostname
}

/** A JSON number with every decimal of the quantity. */
function decimal(amount: number): string {
  const places = Number(offer.decimals)
  const [whole = '0', fraction = ''] = (amount < 1e-6 ? amount.toFixed(places) : String(amount)).split('.')
  return places === 0 ? whole : `${whole}.${fraction.padEnd(places, '0')}`
}
