import { onTold, resized, tell } from './parent.client.js'
import { cancel, Refused } from './service.client.js'

/** The closed button and the dialog that it grows into, whatever the dialog is for. */

export const byId = <E extends HTMLElement>(id: string): E => document.getElementById(id) as E

const openButton = byId<HTMLButtonElement>('open')
const dialog = byId<HTMLDialogElement>('dialog')
const alertLine = byId('alert')
const doneLine = byId('paid')
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

/** Lets the dialog open. To be called once. */
export function start(given: Flow): void {
  flow = given
  openButton.addEventListener('click', openDialog)
  onTold('_TQMToggle', () => (dialog.open ? closeDialog() : openDialog()))
  tell('_TQMResize', closedSize())
}

async function openDialog(): Promise<void> {
  if (dialog.open || moving) return
  await move(async () => {
    openButton.hidden = true
    openButton.classList.remove('paid')
    doneLine.textContent = alertLine.textContent = ''
    show(undefined)
    tell('_TQMFullScreen')
    await resized()
    dialog.showModal()
  })
  const begun = await attempt(() => flow.begin())
  if (!begun && dialog.open && steps.every(({ hidden }) => hidden)) flow.unbegun()
}

function closeDialog(): void {
  if (dialog.open && !moving && !committed) dialog.close()
}

async function shrink(): Promise<void> {
  if (moving) return
  if (!committed) cancel()
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
  focused?.focus()
}

export const goButton = (step: HTMLElement): HTMLElement | null => step.querySelector<HTMLElement>('[value=go]')

function setBusy(now: boolean): void {
  busy = now
  dialog.setAttribute('aria-busy', String(now))
  disable('button:not([value=cancel])', now)
}

function setCommitted(now: boolean): void {
  committed = now
  disable('[value=cancel]', now)
}

function disable(buttons: string, now: boolean): void {
  for (const button of dialog.querySelectorAll(buttons)) button.setAttribute('aria-disabled', String(now))
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
