import { required } from '../../src/base/required.js'
import type {
  loadMicroPayments,
  MicroPaymentElement,
  PaymentDetail,
} from '../../src/market/embeds/browser/element.client.js'

declare global {
  interface Window {
    /** Set by /micropay.js. */
    loadMicroPayments: typeof loadMicroPayments
  }
}

const byId = (id: string): HTMLElement => required(document.getElementById(id), `The element #${id}`)
const { publicSecret = '', hash = '' } = required(document.querySelector('main'), 'The element main').dataset
const alertLine = byId('alert')
let element: MicroPaymentElement | undefined

/** What this browser was shown for its payment, so that a reader who comes back has it. */
const SHELF = 'farthing shop'
let unlocking = false

document.addEventListener('payment', ({ detail }) => unlock(detail))
document.addEventListener('paid', ({ detail }) => {
  if (unlocking) return
  const bought: Bought | null = JSON.parse(localStorage.getItem(SHELF) ?? 'null')
  if (bought?.payment.id === detail.payment_id) reveal(bought)
  // The page was closed before the shop's server had answered.
  else unlock(detail)
})
show().catch(() => {
  alertLine.textContent = 'The payment button did not load. Reload this page.'
})

async function show(): Promise<void> {
  const payments = await window.loadMicroPayments(publicSecret)
  element = payments.elements().create('payment', { hash, leading: 'Read on for' })
  await element.mount('#pay')
}

/** Any script can send a payment event, so the shop's server asks the service to validate the payment. */
async function unlock({ nonce, timestamp }: PaymentDetail): Promise<void> {
  unlocking = true
  alertLine.textContent = ''
  const answer = await fetch('/shop/unlock', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ nonce, timestamp }),
  }).catch(() => undefined)
  const body = await answer?.json().catch(() => undefined)
  if (!answer || !body) return refuse("The shop's server did not answer. Reload this page.")
  if (!answer.ok) return refuse(`The payment is not valid (${body.code}). ${body.error}`)
  localStorage.setItem(SHELF, JSON.stringify(body))
  reveal(body)
}

function refuse(why: string): void {
  alertLine.textContent = `The article stays locked. ${why}`
}

interface Bought {
  readonly paragraphs: readonly string[]
  readonly payment: { readonly id: number; readonly descriptor: string }
}

function reveal({ paragraphs, payment }: Bought): void {
  const rest = byId('rest')
  rest.replaceChildren(...paragraphs.map((textContent) => Object.assign(document.createElement('p'), { textContent })))
  rest.hidden = false
  document.querySelector('.locked')?.classList.remove('locked')
  element?.destroy()
  document.querySelector('.offer')?.remove()
  const receipt = byId('receipt')
  receipt.hidden = false
  receipt.textContent = `Paid and validated: ${payment.descriptor}, payment ${payment.id}.`
  rest.focus()
}
