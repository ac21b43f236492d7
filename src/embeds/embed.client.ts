import { onTold, resized, tell } from './parent.client.js'
import { trimmed } from './price.js'
import { sentenceFor } from './refusals.client.js'
import {
  cancel,
  forgetSession,
  pay,
  payingTwin,
  Refused,
  sendCode,
  signedInAs,
  signOut,
  verifyCode,
} from './service.client.js'

const byId = <E extends HTMLElement>(id: string): E => document.getElementById(id) as E

const offer = (document.querySelector('main') as HTMLElement).dataset as Record<
  'hash' | 'dq' | 'price' | 'shortcode' | 'decimals',
  string
>
const price = `${offer.price} ${offer.shortcode}`
const openButton = byId<HTMLButtonElement>('open')
const dialog = byId<HTMLDialogElement>('dialog')
const alertLine = byId('alert')
const paidLine = byId('paid')
const emailField = byId<HTMLInputElement>('email')
const codeField = byId<HTMLInputElement>('code')
const steps = { email: byId('email-step'), code: byId('code-step'), pay: byId('pay-step') }

/** The frame grows or shrinks. */
let moving = false
/** Something was asked of the service. */
let busy = false
/** Money may be under way: there is no going back until the answer is here. */
let paying = false

// The way through: closed, email, code, pay, closed.

async function openDialog(): Promise<void> {
  if (dialog.open || moving) return
  await move(async () => {
    openButton.hidden = true
    openButton.classList.remove('paid')
    paidLine.textContent = alertLine.textContent = ''
    show(undefined)
    tell('_TQMFullScreen')
    await resized()
    dialog.showModal()
  })
  const begun = await attempt(begin)
  // Who is signed in is not known: paying will tell.
  if (!begun && dialog.open && steps.email.hidden) show('pay')
}

function closeDialog(): void {
  if (dialog.open && !moving && !paying) dialog.close()
}

async function shrink(): Promise<void> {
  if (moving) return
  if (!paying) cancel()
  await move(async () => {
    tell('_TQMRelativeScreen')
    tell('_TQMResize', closedSize())
    await resized()
    openButton.hidden = false
    openButton.focus()
  })
}

async function begin(): Promise<void> {
  // So long that the second half of a double click reaches no button of the dialog.
  const [email] = await Promise.all([signedInAs(), new Promise((resolve) => setTimeout(resolve, 400))])
  await (email === null ? askForEmail() : offerToPay(email))
}

function askForEmail(): void {
  show('email', emailField)
}

function askForCode(): void {
  byId('sent-to').textContent = emailField.value.trim()
  codeField.value = ''
  show('code', codeField)
}

async function offerToPay(email: string): Promise<void> {
  emailField.value = byId('signed-in-as').textContent = email
  byId('fund-hint')?.setAttribute('hidden', '')
  byId('balance').textContent = `BALANCE … ${offer.shortcode}`
  show('pay', steps.pay.querySelector<HTMLElement>('[value=go]'))
  await showBalance()
}

async function showBalance(): Promise<void> {
  const { hostname, balance } = await payingTwin(offer.dq)
  byId('balance').textContent = `BALANCE ${trimmed(decimal(balance))} ${offer.shortcode}`
  const payer = byId('hostname')
  if (payer) payer.textContent = hostname
}

async function payNow(): Promise<void> {
  setPaying(true)
  try {
    const { hostname, nonce, timestamp } = await pay(offer.hash)
    tell('_TQMSuccess', { hostname, nonce, timestamp })
    paidLine.textContent = `Paid ${price}.`
    openButton.classList.add('paid')
  } finally {
    setPaying(false)
  }
}

// What the payer does.

openButton.addEventListener('click', openDialog)
onTold('_TQMToggle', () => (dialog.open ? closeDialog() : openDialog()))
// A browser may close the dialog by itself, whatever is made of Escape.
dialog.addEventListener('close', shrink)
dialog.addEventListener('cancel', (event) => {
  event.preventDefault()
  closeDialog()
})
for (const button of document.querySelectorAll('[value=cancel]')) button.addEventListener('click', closeDialog)

onSubmit(steps.email, async () => {
  await sendCode(emailField.value.trim())
  askForCode()
})
onSubmit(steps.code, async () => {
  await verifyCode(emailField.value.trim(), codeField.value)
  await offerToPay(emailField.value.trim())
})
onSubmit(steps.pay, payNow, closeDialog)

onClick('resend', async () => {
  await sendCode(emailField.value.trim())
  askForCode()
})
onClick('other-email', async () => askForEmail())
onClick('sign-out', async () => {
  await signOut()
  emailField.value = ''
  askForEmail()
})

function onSubmit(form: HTMLElement, act: () => Promise<void>, then?: () => void): void {
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    if (await attempt(act)) then?.()
  })
}

function onClick(id: string, act: () => Promise<void>): void {
  byId(id).addEventListener('click', () => attempt(act))
}

async function move(act: () => Promise<void>): Promise<void> {
  moving = true
  await act()
  moving = false
}

/** One thing at a time; why it was refused is said in the frame, and nothing typed is lost. */
async function attempt(act: () => Promise<void>): Promise<boolean> {
  if (busy) return false
  setBusy(true)
  alertLine.textContent = ''
  try {
    await act()
    return true
  } catch (error) {
    await tellRefusal(error)
    return false
  } finally {
    setBusy(false)
  }
}

async function tellRefusal(error: unknown): Promise<void> {
  if (!(error instanceof Refused)) {
    alertLine.textContent = 'This page failed. Cancel and try again.'
    throw error
  }
  if (error.code === 'cancelled') return
  const paying = !steps.pay.hidden
  if (error.code === 'sign_in_required') {
    forgetSession()
    askForEmail()
  }
  if (error.code === 'insufficient_funds') {
    byId('fund-hint')?.removeAttribute('hidden')
    await showBalance().catch(() => {})
  }
  codeField.setAttribute('aria-invalid', String(error.code === 'code_wrong'))
  emailField.setAttribute('aria-invalid', String(error.code === 'field_invalid'))
  // What time or money mends is no error.
  alertLine.classList.toggle('mild', [402, 429].includes(error.status))
  alertLine.textContent = sentenceFor(error, { price, paying })
  for (const field of [codeField, emailField]) if (field.ariaInvalid === 'true') field.select()
}

// What is shown.

function show(step: keyof typeof steps | undefined, focused?: HTMLElement | null): void {
  for (const [name, form] of Object.entries(steps)) form.hidden = name !== step
  focused?.focus()
}

function setBusy(now: boolean): void {
  busy = now
  dialog.setAttribute('aria-busy', String(now))
  disable('button:not([value=cancel])', now)
}

function setPaying(now: boolean): void {
  paying = now
  disable('[value=cancel]', now)
}

function disable(buttons: string, now: boolean): void {
  for (const button of dialog.querySelectorAll(buttons)) button.setAttribute('aria-disabled', String(now))
}

/** A JSON number with every decimal of the quantity. */
function decimal(amount: number): string {
  const places = Number(offer.decimals)
  const [whole = '0', fraction = ''] = (amount < 1e-6 ? amount.toFixed(places) : String(amount)).split('.')
  return places === 0 ? whole : `${whole}.${fraction.padEnd(places, '0')}`
}

/** What the closed button needs: never less than the frame's first size. */
function closedSize(): { width: number; height: number } {
  const { hidden } = openButton
  openButton.hidden = false
  openButton.classList.add('measured')
  const { width, height } = openButton.getBoundingClientRect()
  openButton.classList.remove('measured')
  openButton.hidden = hidden
  return { width: Math.ceil(Math.max(width, 137)), height: Math.ceil(Math.max(height, 48)) }
}

/** Tab goes round within the dialog: behind it lies the page, which a full window of frame hides. */
dialog.addEventListener('keydown', (event) => {
  if (event.key !== 'Tab') return
  const stops = [...dialog.querySelectorAll<HTMLElement>('a, button, input')].filter((each) => each.offsetParent)
  const [first, last] = [stops[0], stops.at(-1)]
  if (document.activeElement !== (event.shiftKey ? first : last)) return
  event.preventDefault()
  ;(event.shiftKey ? last : first)?.focus()
})

tell('_TQMResize', closedSize())
