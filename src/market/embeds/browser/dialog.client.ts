import {
  closeWindow,
  heedWindow,
  inOwnWindow,
  isAwaited,
  onTold,
  openWindow,
  resized,
  tell,
  tellDone,
} from './parent.client.js'
import { cancelPayment, Refused } from './service.client.js'
import { ignore, isDoubtful, isSeen, isSeenPress, watchSight } from './visibility.client.js'

/** The closed button and the dialog that it grows into, whatever the dialog is for. */

/** The element of this id. Throws where the page has none of that kind. */
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
const otherWay = byId('other-way')
/** Each is a form of the dialog; one is shown at a time. */
const steps = [...dialog.querySelectorAll('form')]

/** What the dialog does between opening and closing. */
export interface Flow {
  /** Shows the first step. */
  begin(): Promise<void>
  /** Shows the step to go on with where `begin` failed before it showed any. */
  unbegun(): void
  /** Does what a refusal asks for; gives what people are told of it. */
  refused(refused: Refused): Promise<string>
}
let flow: Flow

/** The frame grows or shrinks. */
let moving = false
/** Something was asked of the service. */
let busy = false
/** Value may be under way: there is no going back until the answer is here. */
let committed = false
/** The page opened the dialog by itself: whoever types there must not find themselves on a button that pays. */
let uninvited = false
/** The steps that agree to something, which takes a press that was seen. */
const agreements = new Set<HTMLElement>()
/** The button of the step that is shown, where that agrees to something. */
let agreeing: HTMLElement | null = null

/** Lets the dialog open. To be called once. */
export function start(given: Flow): void {
  flow = given
  openButton.addEventListener('click', () => openDialog())
  onTold('_TQMToggle', () => (dialog.open ? closeDialog() : openDialog(true)))
  onClick('own-window', async () => {
    if (!openWindow())
      throw new Refused('window_refused', 400, 'Your browser opened no window. Allow pop-ups here, then try again.')
  })
  heedWindow(finish)
  tell('_TQMResize', closedSize())
  if (!inOwnWindow) return
  document.documentElement.classList.add('window')
  openDialog()
}

async function openDialog(byPage = false): Promise<void> {
  if (dialog.open || moving) return
  uninvited = byPage
  await move(async () => {
    openButton.hidden = true
    openButton.classList.remove('paid')
    doneLine.textContent = alertLine.textContent = ''
    show(undefined)
    tell('_TQMFullScreen')
    await resized()
    dialog.showModal()
  })
  const begun = await attempt(async () => {
    // It tells the page's origin.
    await isAwaited()
    await flow.begin()
  })
  if (!begun && dialog.open && steps.every(({ hidden }) => hidden)) flow.unbegun()
}

function closeDialog(): void {
  if (dialog.open && !moving && !committed) dialog.close()
}

async function shrink(): Promise<void> {
  if (moving) return
  ignore()
  if (!committed) cancelPayment()
  if (inOwnWindow) window.close()
  await move(async () => {
    tell('_TQMRelativeScreen')
    tell('_TQMResize', closedSize())
    await resized()
    openButton.hidden = false
    openButton.focus()
  })
}

// A browser may close the dialog by itself, whatever is made of Escape.
dialog.addEventListener('close', shrink)
dialog.addEventListener('cancel', (event) => {
  event.preventDefault()
  closeDialog()
})
for (const button of document.querySelectorAll('[value=cancel]')) button.addEventListener('click', closeDialog)

/** What the dialog was for is done: says so, and closes it. */
export function finish(line: string): void {
  tellDone(line)
  closeWindow()
  doneLine.textContent = line
  openButton.classList.add('paid')
  closeDialog()
}

/** While it runs, nothing closes the dialog. */
export async function commit<T>(act: () => Promise<T>): Promise<T> {
  setCommitted(true)
  try {
    return await act()
  } finally {
    setCommitted(false)
  }
}

export function onSubmit(form: HTMLElement, act: () => Promise<void>): void {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    attempt(act)
  })
}

/** As `onSubmit`, for what readers agree to: they must have seen it, and somebody must wait for what comes of it. */
export function onAgree(form: HTMLElement, act: () => Promise<void>): void {
  let seen = false
  agreements.add(form)
  goButton(form)?.addEventListener('click', (event) => {
    seen = isSeenPress(event)
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (seen) attempt(() => agree(act))
    seen = false
  })
}

async function agree(act: () => Promise<void>): Promise<void> {
  if (await isAwaited()) return act()
  throw new Refused('unawaited', 409, 'The page that this is for is gone. Close this window.')
}

export function onClick(id: string, act: () => Promise<void>): void {
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
  const sentence = await flow.refused(error)
  // What time or money mends is no error.
  alertLine.classList.toggle('mild', [402, 429].includes(error.status))
  alertLine.textContent = sentence
}

/** Shows one step, or none, and puts the focus where it goes on. */
export function show(step: HTMLElement | undefined, focused?: HTMLElement | null): void {
  for (const form of steps) form.hidden = form !== step
  agreeing = step && agreements.has(step) ? goButton(step) : null
  if (agreeing) watchSight({ dialog, parts: [agreeing, dialog.querySelector('.price') ?? byId('about')] }, refresh)
  else ignore()
  refresh()
  if (!uninvited || focused !== agreeing) focused?.focus()
  if (step) uninvited = false
}

export const goButton = (step: HTMLElement): HTMLButtonElement | null => step.querySelector('[value=go]')

function setBusy(now: boolean): void {
  busy = now
  dialog.setAttribute('aria-busy', String(now))
  refresh()
}

function setCommitted(now: boolean): void {
  committed = now
  refresh()
}

/** Says which buttons wait, and shows another way where this one leads nowhere. */
function refresh(): void {
  for (const button of dialog.querySelectorAll('button')) {
    const waits = button.value === 'cancel' ? committed : busy || (button === agreeing && !isSeen())
    button.setAttribute('aria-disabled', String(waits))
  }
  const hidden = inOwnWindow || agreeing === null || !isDoubtful()
  if (otherWay.hidden === hidden) return
  otherWay.hidden = hidden
  if (!hidden) otherWay.scrollIntoView({ block: 'nearest' })
}

/** What the closed button needs; its style makes that no less than the frame's first size. */
function closedSize(): { width: number; height: number } {
  const { hidden } = openButton
  openButton.hidden = false
  openButton.classList.add('measured')
  const { width, height } = openButton.getBoundingClientRect()
  openButton.classList.remove('measured')
  openButton.hidden = hidden
  return { width: Math.ceil(width), height: Math.ceil(height) }
}

/** Tab goes round within the dialog: behind it lies the page, which a full window of frame hides. */
dialog.addEventListener('keydown', (event) => {
  if (event.key !== 'Tab') return
  const all = [...dialog.querySelectorAll<HTMLElement>('a, button, input, [tabindex]')]
  const stops = all.filter((each) => each.offsetParent)
  const [first, last] = [stops[0], stops.at(-1)]
  if (document.activeElement !== (event.shiftKey ? first : last)) return
  event.preventDefault()
  ;(event.shiftKey ? last : first)?.focus()
})
