import { byId, commit, finish, goButton, onSubmit, show, start } from './dialog.client.js'
import { pageOrigin, tell } from './parent.client.js'
import { trimmed } from './price.js'
import { isKnown } from './refusals.client.js'
import { callSignedIn, once, ownTwins } from './service.client.js'
import { signInFlow } from './sign-in.client.js'

/** Pays for a commodity. One that is free is paid for to sign in: the page gets a session either way. */

const offer = (document.querySelector('main') as HTMLElement).dataset as Record<
  'hash' | 'dq' | 'price' | 'shortcode' | 'decimals',
  string
>
const free = 'free' in offer
const price = `${offer.price} ${offer.shortcode}`
const step = byId('pay-step')

/** How long the answer to a payment waits for the page's session. */
const SESSION_PATIENCE_MS = 5000

start(
  signInFlow({
    step,
    async offer() {
      byId('fund-hint')?.setAttribute('hidden', '')
      byId('balance').textContent = `BALANCE … ${offer.shortcode}`
      show(step, goButton(step))
      await showBalance()
    },
    sentences: {
      insufficient_funds: () => `Your balance does not cover ${price}. Add funds, then pay.`,
      not_found: () => 'This is no longer for sale.',
    },
    async refused(refused) {
      if (refused.code === 'insufficient_funds') {
        byId('fund-hint')?.removeAttribute('hidden')
        await showBalance().catch(() => {})
      }
      if (free) return ''
      // Its key does not let a payment be made twice.
      return isKnown(refused) ? 'Nothing was charged.' : 'Trying again cannot pay twice.'
    },
  }),
)

if (pageOrigin !== undefined) {
  byId('grant').textContent = `${new URL(pageOrigin).host} can then ask you for payments; each waits for your approval.`
  byId('grant').hidden = false
}

onSubmit(step, async () => {
  await commit(pay)
  finish(free ? 'Signed in.' : `Paid ${price}.`)
})

interface Paid {
  hostname: string
  nonce: string
  timestamp: number
}

const pay = (): Promise<void> =>
  once(offer.hash, async (headers) => {
    const path = `/v4/payment/${encodeURIComponent(offer.hash)}`
    const { hostname, nonce, timestamp } = await callSignedIn<Paid>('POST', path, { headers })
    const session = await pageSession()
    tell('_TQMSuccess', { hostname, nonce, timestamp, ...(session !== undefined && { session: { session } }) })
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
  let first = { hostname: '', balances: {} as Record<string, number> }
  for await (const twin of ownTwins()) first = twin
  byId('balance').textContent = `BALANCE ${trimmed(decimal(first.balances[offer.dq] ?? 0))} ${offer.shortcode}`
  const payer = byId('hostname')
  if (payer) payer.textContent = first.hostname
}

/** A JSON number with every decimal of the quantity. */
function decimal(amount: number): string {
  const places = Number(offer.decimals)
  const [whole = '0', fraction = ''] = (amount < 1e-6 ? amount.toFixed(places) : String(amount)).split('.')
  return places === 0 ? whole : `${whole}.${fraction.padEnd(places, '0')}`
}
