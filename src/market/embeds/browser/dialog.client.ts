import type { PaidRecord } from './paid.client.js'
import {
  cancelQuestion,
  closeWindow,
  handleWindow,
  inOwnWindow,
  isAwaited,
  onMessage,
  openWindow,
  resized,
  sendDone,
  sendMessage,
} from './parent.client.js'
import { cancelPayment, Refused } from './service.client.js'
import { isDoubtful, isSeen, isSeenPress, stopWatching, watchVisibility } from './visibility.client.js'

/** The closed button and the dialog that it opens, for every kind of embed. */

/** Returns the element with an id. Throws if the page has none of this kind. */
export function elementById<E extends HTMLElement>(id: string, kind: new () => E): E {
  const found = document.getElementById(id)
  if (found instanceof kind) return found
  throw new Error(`The page has no ${kind.name} with the id "${id}".`)
}

export const byId = (id: string): HTMLElement => elementById(id, HTMLElement)

const openButton = elementById('open', HTMLButtonElement)
const dialog = elementById('dialog', HTMLDialogElement)
const alertLine = byId('alert')
const doneLine = byId('paid')
const windowOffer = byId('other-way')
/** Shown in place of the button when something is paid. */
const receipt = document.getElementById('receipt')
const steps = [...dialog.querySelectorAll('form')]

export interface Flow {
  begin(): Promise<void>
  /** Shows a step when `begin` failed before it showed one. */
  resume(): void
  /** Handles a refusal, and returns the sentence for the user. */
  refused(refused: Refused): Promise<string>
}
let flow: Flow
let finished = () => {}
let moving = false
let busy = false
/** Value may be moving, so the dialog stays open until the answer arrives. */
let committed = false
/** The page opened the dialog. Then the focus must not start on a button that pays. */
let openedByPage = false
/** Steps that agree to something. They need a press that the user could see. */
const agreements = new Set<HTMLElement>()
/** The button of the current step, if that step agrees to something. */
let agreeing: HTMLElement | null = null

/** Enables the dialog. Call it once. */
export function start(given: Flow): void {
  flow = given
  openButton.addEventListener('click', () => openDialog())
  onMessage('_TQMToggle', () => (dialog.open ? closeDialog() : openDialog(true)))
  onClick('own-window', async () => {
    const blocked = 'Your browser blocked the new window. Allow pop-ups on this page, then try again.'
    if (!openWindow()) throw new Refused('window_refused', 400, blocked)
  })
  handleWindow(finish)
  sendMessage('_TQMResize', closedSize())
  if (!inOwnWindow) return
  document.documentElement.classList.add('window')
  openDialog()
}

async function openDialog(byPage = false): Promise<void> {
  if (dialog.open || moving || isPaid()) return
  openedByPage = byPage
  await resizeFrame(async () => {
    openButton.hidden = true
    openButton.classList.remove('paid')
    doneLine.textContent = alertLine.textContent = ''
    showStep(undefined)
    sendMessage('_TQMFullScreen')
    await resized()
    dialog.showModal()
  })
  const begun = await runAction(async () => {
    // The answer contains the page's origin.
    await isAwaited()
    await flow.begin()
  })
  if (!begun && dialog.open && steps.every(({ hidden }) => hidden)) flow.resume()
}

function closeDialog(): void {
  if (dialog.open && !moving && !committed) dialog.close()
}

async function shrink(): Promise<void> {
  if (moving) return
  stopWatching()
  if (!committed) cancelPayment()
  cancelQuestion()
  if (inOwnWindow) window.close()
  await resizeFrame(async () => {
    sendMessage('_TQMRelativeScreen')
    sendMessage('_TQMResize', closedSize())
    await resized()
    const shown = closedPart()
    shown.hidden = false
    shown.focus()
  })
}

const isPaid = (): boolean => receipt?.classList.contains('is-paid') ?? false
/** What the frame shows while its dialog is closed. */
const closedPart = (): HTMLElement => (receipt && isPaid() ? receipt : openButton)

/** Shows that something is paid in place of the button that sells it, or the button again. */
export function showPaid(paid: Pick<PaidRecord, 'payment_id' | 'price' | 'descriptor'> | undefined): void {
  if (!receipt || inOwnWindow) return
  receipt.classList.toggle('is-paid', paid !== undefined)
  if (paid) {
    byId('receipt-price').textContent = `Paid ${paid.price}`
    byId('receipt-line').textContent = `${paid.descriptor}, payment ${paid.payment_id}`
  }
  // It comes when the dialog closes.
  if (dialog.open) return
  receipt.hidden = paid === undefined
  openButton.hidden = paid !== undefined
  sendMessage('_TQMResize', closedSize())
}

// A browser may close the dialog by itself, even if the Escape key is handled here.
dialog.addEventListener('close', shrink)
dialog.addEventListener('cancel', (event) => {
  event.preventDefault()
  closeDialog()
})
for (const button of document.querySelectorAll('[value=cancel]')) button.addEventListener('click', closeDialog)

/** Shows that the flow has succeeded, and closes the dialog. */
export function finish(line: string): void {
  sendDone(line)
  closeWindow()
  doneLine.textContent = line
  openButton.classList.add('paid')
  closeDialog()
  finished()
}

export const onFinish = (then: () => void): void => {
  finished = then
}

/** Keeps the dialog open while `act` runs. */
export async function commit<T>(act: () => Promise<T>): Promise<T> {
  committed = true
  refresh()
  try {
    return await act()
  } finally {
    committed = false
    refresh()
  }
}

export function onSubmit(form: HTMLElement, act: () => Promise<void>): void {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    runAction(act)
  })
}

/** Like `onSubmit`, for a step that agrees to something. The user must have seen it, and the page must still be there. */
export function onAgree(form: HTMLElement, act: () => Promise<void>): void {
  let seen = false
  agreements.add(form)
  goButton(form)?.addEventListener('click', (event) => {
    seen = isSeenPress(event)
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (seen) runAction(() => agree(act))
    seen = false
  })
}

async function agree(act: () => Promise<void>): Promise<void> {
  if (await isAwaited()) return act()
  throw new Refused('unawaited', 409, 'The page that opened this window is closed. Close this window.')
}

/** Buttons beside that of the step. */
const further: HTMLElement[] = []
const needsSight = (button: HTMLElement): boolean => button === agreeing || further.includes(button)

/** A further button that needs a press that the user could see. */
export function onSeenClick(button: HTMLElement, act: () => Promise<void>): void {
  further.push(button)
  button.addEventListener('click', (event) => {
    if (isSeenPress(event)) runAction(() => agree(act))
  })
}
export function onClick(id: string, act: () => Promise<void>): void {
  byId(id).addEventListener('click', () => runAction(act))
}

async function resizeFrame(act: () => Promise<void>): Promise<void> {
  moving = true
  await act()
  moving = false
}

async function runAction(act: () => Promise<void>): Promise<boolean> {
  if (busy) return false
  setBusy(true)
  alertLine.textContent = ''
  try {
    await act()
    return true
  } catch (error) {
    await showRefusal(error)
    return false
  } finally {
    setBusy(false)
  }
}

async function showRefusal(error: unknown): Promise<void> {
  if (!(error instanceof Refused)) {
    alertLine.textContent = 'Something went wrong. Cancel and try again.'
    throw error
  }
  if (error.code === 'cancelled') return
  const sentence = await flow.refused(error)
  // Waiting or adding funds solves these, so they are not shown as errors.
  alertLine.classList.toggle('mild', [402, 429].includes(error.status))
  alertLine.textContent = sentence
}

/** Shows one step, or none, and sets the focus. */
export function showStep(step: HTMLElement | undefined, focused?: HTMLElement | null): void {
  for (const form of steps) form.hidden = form !== step
  agreeing = step && agreements.has(step) ? goButton(step) : null
  watchAgain()
  if (!openedByPage || focused !== agreeing) focused?.focus()
  if (step) openedByPage = false
}

/** Starts to watch anew whether the user sees what they agree to. Call it when a further button appears. */
export function watchAgain(): void {
  const others = further.filter((button) => button.offsetParent)
  if (agreeing) watchVisibility(dialog, [agreeing, dialog.querySelector('.price') ?? byId('about'), ...others], refresh)
  else stopWatching()
  refresh()
}

export const goButton = (step: HTMLElement): HTMLButtonElement | null => step.querySelector('[value=go]')

function setBusy(now: boolean): void {
  busy = now
  dialog.setAttribute('aria-busy', String(now))
  refresh()
}

/** Updates which buttons are disabled, and offers a new window if this dialog cannot be seen. */
function refresh(): void {
  for (const button of dialog.querySelectorAll('button')) {
    const waits = button.value === 'cancel' ? committed : busy || (needsSight(button) && !isSeen())
    button.setAttribute('aria-disabled', String(waits))
  }
  const hidden = inOwnWindow || agreeing === null || !isDoubtful()
  if (windowOffer.hidden === hidden) return
  windowOffer.hidden = hidden
  if (!hidden) windowOffer.scrollIntoView({ block: 'nearest' })
}

/** Size of the closed button. Its style makes it at least as large as the frame's initial size. */
function closedSize(): { width: number; height: number } {
  const shown = closedPart()
  const { hidden } = shown
  shown.hidden = false
  shown.classList.add('measured')
  const { width, height } = shown.getBoundingClientRect()
  shown.classList.remove('measured')
  shown.hidden = hidden
  return { width: Math.ceil(width), height: Math.ceil(height) }
}

/** Tab stays within the dialog, because the page behind it is hidden. */
dialog.addEventListener('keydown', (event) => {
  if (event.key !== 'Tab') return
  const all = [...dialog.querySelectorAll<HTMLElement>('a, button, input, [tabindex]')]
  const stops = all.filter((each) => each.offsetParent)
  const [first, last] = [stops[0], stops.at(-1)]
  if (document.activeElement !== (event.shiftKey ? first : last)) return
  event.preventDefault()
  ;(event.shiftKey ? last : first)?.focus()
})
