import { moneyText } from '../../../money/ledger/amount.js'
import { byId, commit, finish, goButton, onAgree, onFinish, showPaid, showStep, start } from './dialog.client.js'
import { offerFunds, onFunds } from './funds.client.js'
import { changeSentence, shownOffer as offer, showChange, shownPrice, shownQuote } from './offer.client.js'
import {
  isStillPaid,
  onPaidElsewhere,
  type PaidRecord,
  readPaid,
  sellsOnce,
  storePaid,
  tellPaid,
} from './paid.client.js'
import { handOver, inOwnWindow, onHandedOver, pageOrigin, sendMessage } from './parent.client.js'
import { moneyOf, smallestUnits } from './price.js'
import { callSignedIn, ownTwins, sendOnce } from './service.client.js'
import { isKnown, signInFlow } from './sign-in.client.js'

/** Pays for a commodity. Paying for a free one signs the user in. The page gets a session in both cases. */

/** As shown now. The seller may have changed it since. */
const isFree = (): boolean => 'free' in offer
const step = byId('pay-step')

/** How long a successful payment waits for the page's session. */
const SESSION_TIMEOUT_MS = 5000
const showPayStep = (): void => showStep(step, goButton(step))

start(
  signInFlow({
    step,
    async offer() {
      byId('balance').textContent = `BALANCE … ${offer.shortcode}`
      showGrant()
      showPayStep()
      await showBalance()
    },
    sentences: {
      insufficient_funds: () => `Your balance does not cover ${shownPrice()}. Add funds and try again.`,
      not_found: () => 'This is no longer for sale.',
      item_inactive: () => 'This is not for sale at the moment.',
      price_changed: () => changeSentence(isFree() ? 'Continue if you agree.' : 'Check it and pay again.'),
    },
    async refused(refused) {
      await showChange(refused, showPayStep)
      if (['insufficient_funds', 'price_changed'].includes(refused.code)) await showBalance().catch(() => {})
      // The Idempotency-Key prevents a second payment.
      if (!isKnown(refused)) return isFree() ? '' : 'If you try again, you do not pay twice.'
      return isFree() && refused.code !== 'price_changed' ? '' : 'Nothing was charged.'
    },
  }),
)

function showGrant(): void {
  if (pageOrigin === undefined) return
  byId('grant').textContent = `${new URL(pageOrigin).host} can then request payments from you. You approve each one.`
  byId('grant').hidden = false
}

onAgree(step, async () => finish(await commit(pay)))

onFunds(async () => {
  await showBalance()
  showPayStep()
})

function keep(paid: PaidRecord): void {
  if (!sellsOnce) return
  if (inOwnWindow) return handOver(paid)
  storePaid(offer.hash, paid)
  showPaid(paid)
}

onHandedOver((paid) => keep(JSON.parse(paid)))
onFinish(() => {
  const paid = readPaid(offer.hash)
  if (paid && !inOwnWindow) tellPaid(paid)
})

/** Shows what was paid here before, or in another frame of the page. */
async function recallPaid(): Promise<void> {
  const paid = readPaid(offer.hash)
  if (!paid) return
  showPaid(paid)
  if (await isStillPaid(offer.hash, paid)) tellPaid(paid)
  else showPaid(undefined)
}

recallPaid()
onPaidElsewhere(offer.hash, recallPaid)

interface Paid {
  id: number
  amount: number
  hostname: string
  nonce: string
  timestamp: number
}

const pay = (): Promise<string> =>
  sendOnce(offer.hash, shownQuote(), async (headers, body) => {
    const path = `/v4/payment/${encodeURIComponent(offer.hash)}`
    const { id, amount, hostname, nonce, timestamp } = await callSignedIn<Paid>('POST', path, { headers, body })
    const session = await pageSession()
    const price = moneyOf(amount, quantity())
    // First: the page may remove this frame as soon as it hears of the payment.
    if (amount > 0) keep({ payment_id: id, price, descriptor: offer.descriptor, hostname, nonce, timestamp })
    sendMessage('_TQMSuccess', { hostname, nonce, timestamp, ...(session !== undefined && { session: { session } }) })
    return amount === 0 ? 'Signed in.' : `Paid ${price}.`
  })

/** Creates a session for the page. Returns undefined on failure, because the payment counts without it. */
async function pageSession(): Promise<string | undefined> {
  if (pageOrigin === undefined) return undefined
  const body = { hash: offer.hash, origin: pageOrigin }
  // Written here, so that a misspelled option does not compile.
  const made = callSignedIn<{ session_id: string }>('POST', '/v4/session/page', { body, timeoutMs: SESSION_TIMEOUT_MS })
  return made.then(
    ({ session_id }) => session_id,
    () => undefined,
  )
}

async function showBalance(): Promise<void> {
  let first: { hostname: string; balances: Record<string, number> } = { hostname: '', balances: {} }
  for await (const twin of ownTwins()) first = twin
  const balance = first.balances[offer.dq] ?? 0
  const shown = offer.balances === 'smallest' ? moneyText(String(balance), quantity()) : moneyOf(balance, quantity())
  byId('balance').textContent = `BALANCE ${shown}`
  offerFunds({
    hostname: first.hostname,
    balance: offer.balances === 'smallest' ? BigInt(balance) : smallestUnits(balance, quantity()),
  })
}

const quantity = () => ({ decimals: Number(offer.decimals), shortcode: offer.shortcode })
