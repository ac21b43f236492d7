import { moneyText, toAmount } from '../../../money/ledger/amount.js'
import { onSeenClick, watchAgain } from './dialog.client.js'
import { shownOffer as offer, shownPriceUnits } from './offer.client.js'
import { askPage, inOwnWindow } from './parent.client.js'
import { callSignedIn, Refused, sendOnce } from './service.client.js'

/** What a payer whose balance is short can do about it in the dialog. Nothing of it is on a page whose service offers none. */

interface Wallet {
  readonly hostname: string
  /** In smallest units. */
  readonly balance: bigint
}

let wallet: Wallet = { hostname: '', balance: 0n }
const section = document.getElementById('funds')
const fundButton = document.getElementById('fund')
const topUpButton = document.getElementById('top-up')
/** The page may have a card processor that gives it payment methods. */
const canTopUp = topUpButton !== null && !inOwnWindow && new URLSearchParams(location.search).get('topUp') === 'true'

/** What is missing, rounded up to a whole. */
function missing(): bigint {
  const whole = 10n ** BigInt(offer.decimals)
  const short = shownPriceUnits() - wallet.balance
  return short <= 0n ? 0n : ((short + whole - 1n) / whole) * whole
}

/** Shows the ways to more funds if the balance is short. */
export function offerFunds(now: Wallet): void {
  wallet = now
  if (!section) return
  section.hidden = missing() === 0n || (!fundButton && !canTopUp)
  if (topUpButton) {
    topUpButton.hidden = !canTopUp
    topUpButton.textContent = `Top up ${moneyText(missing(), quantityOf())} by card`
  }
  watchAgain()
}

/** `funded` runs when the wallet holds more. */
export function onFunds(funded: () => Promise<void>): void {
  if (fundButton)
    onSeenClick(fundButton, async () => {
      // A little more, for the next purchase.
      const amount = amountOf(missing() + 10n ** BigInt(offer.decimals))
      const body = { hostname: wallet.hostname, amount, dq: offer.dq }
      await callSignedIn('POST', fundButton.dataset.path ?? '', { body })
      await funded()
    })
  if (topUpButton)
    onSeenClick(topUpButton, async () => {
      await topUp(amountOf(missing()))
      await funded()
    })
}

/** Charges a payment method that the page names, once, however often it is tried. */
async function topUp(amount: number): Promise<void> {
  const payment_method_id = await askPage('_TQMTopUp', '_TQMPaymentMethod', { amount, shortcode: offer.shortcode })
  if (payment_method_id === '') throw new Refused('no_payment_method', 400, 'The page gave no card. Try again.')
  await sendOnce(`topup.${wallet.hostname}`, { cost: amount, dq: offer.dq }, (headers, { cost, dq }) => {
    const body = { amount: cost, dq, payment_method_id }
    return callSignedIn('POST', `/v4/twin/${encodeURIComponent(wallet.hostname)}/topup`, { headers, body })
  })
}

const quantityOf = () => ({ decimals: Number(offer.decimals), shortcode: offer.shortcode })
const amountOf = (units: bigint): number => toAmount(units, Number(offer.decimals))
