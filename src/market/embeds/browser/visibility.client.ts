import { embedder } from './parent.client.js'

/**
 * Whether the user could see what a press agrees to: visible, uncovered, and for half a second before the press.
 * Chromium reports whether the page covers or distorts a frame (IntersectionObserver v2). In other browsers size,
 * position and time count.
 */

const SEEN_MS = 500
/** How long a dialog may be out of sight before it offers a new window. */
const DOUBT_MS = 1000
/** Smallest readable size in CSS pixels, and smallest readable zoom. */
const MIN_SIZE = { width: 200, height: 150, zoom: 0.5 }
const tracksVisibility = embedder !== undefined && 'isVisible' in IntersectionObserverEntry.prototype

/** `lib.dom` does not declare this property yet. */
interface VisibilityEntry extends IntersectionObserverEntry {
  readonly isVisible?: boolean
}

let observer: IntersectionObserver | undefined
let uncovered: Element | undefined
let changed = () => {}
const unseen = new Set<Element>()
/** Since when everything has been visible, or not. */
let isVisibleNow = false
let since = 0
let timer: ReturnType<typeof setTimeout> | undefined
const now = (): number => performance.now()

/** True once the user has had time to see everything. */
export const isSeen = (): boolean => isSeenAt(now())
const isSeenAt = (time: number): boolean => isVisibleNow && time - since >= SEEN_MS

/** True if the page prevents the user from seeing it. */
export const isDoubtful = (): boolean => observer !== undefined && !isVisibleNow && now() - since >= DOUBT_MS

/**
 * Watches until `stopWatching`. Calls `then` whenever `isSeen` or `isDoubtful` may have changed. The dialog must be
 * visible, uncovered and undistorted, and its parts visible, because a dialog may scroll.
 */
export function watchVisibility(dialog: Element, parts: readonly Element[], then: () => void): void {
  stopWatching()
  changed = then
  uncovered = dialog
  observer = new IntersectionObserver(readEntries, {
    threshold: [0, 0.98],
    ...(tracksVisibility && { trackVisibility: true, delay: 100 }),
  })
  for (const each of [dialog, ...parts]) {
    unseen.add(each)
    observer.observe(each)
  }
  startTime(false)
}

export function stopWatching(): void {
  observer?.disconnect()
  observer = undefined
  unseen.clear()
  isVisibleNow = false
  clearTimeout(timer)
}

function readEntries(entries: readonly VisibilityEntry[]): void {
  for (const { target, intersectionRatio, isVisible } of entries) {
    // Rounding may cut off a fraction of a pixel. A disabled button is pale, which counts as distorted.
    const whole = intersectionRatio >= 0.98 && (!tracksVisibility || target !== uncovered || isVisible)
    unseen[whole ? 'delete' : 'add'](target)
    // After each: what was hidden and is shown again by now was hidden.
    checkVisibility()
  }
}

function checkVisibility(): void {
  if (!observer) return
  const large = innerWidth >= MIN_SIZE.width && innerHeight >= MIN_SIZE.height && devicePixelRatio >= MIN_SIZE.zoom
  const sees = unseen.size === 0 && large && document.visibilityState === 'visible'
  if (sees !== isVisibleNow) startTime(sees)
}

function startTime(sees: boolean): void {
  isVisibleNow = sees
  since = now()
  clearTimeout(timer)
  timer = setTimeout(changed, sees ? SEEN_MS : DOUBT_MS)
  changed()
}

/** Starts the time again, because the user sees or does something new. */
function restartTime(): void {
  if (isVisibleNow) startTime(true)
}

addEventListener('resize', () => {
  lastPointer = undefined
  checkVisibility()
  restartTime()
})
document.addEventListener('visibilitychange', checkVisibility)

/** How a press began. A click without one comes from assistive technology. */
let press: { readonly seen: boolean; readonly pointer: boolean } | undefined
/** When this window got the focus. A page can focus a frame while its user types. */
let focusedAt = 0
const isFocusOldAt = (time: number): boolean => time - focusedAt >= SEEN_MS

/** Whether the user could see everything when they did this, even if it is handled later, on a busy machine. */
function isSeenIn({ timeStamp }: Event): boolean {
  readEntries(observer?.takeRecords() ?? [])
  return isSeenAt(timeStamp)
}

addEventListener('focus', () => {
  focusedAt = now()
})

document.addEventListener(
  'keydown',
  (event) => {
    const { key, repeat, timeStamp } = event
    if (key === 'Enter' || key === ' ')
      press = { seen: isSeenIn(event) && !repeat && isFocusOldAt(timeStamp), pointer: false }
    // Someone who types is looking elsewhere.
    else if (key.length === 1) restartTime()
  },
  true,
)

let lastPointer: Pick<PointerEvent, 'clientX' | 'clientY' | 'screenX' | 'screenY'> | undefined

/** Detects a page that moves its frame under the pointer. */
function trackPointer({ clientX, clientY, screenX, screenY }: PointerEvent): void {
  const before = lastPointer
  lastPointer = { clientX, clientY, screenX, screenY }
  if (!before) return fillsWindow() ? undefined : restartTime()
  // Screen positions are in zoomed pixels. Browsers zoom out to a quarter.
  const jumped = (frame: number, screen: number) => Math.abs(frame) > 4 * Math.abs(screen) + 8
  if (jumped(clientX - before.clientX, screenX - before.screenX)) restartTime()
  else if (jumped(clientY - before.clientY, screenY - before.screenY)) restartTime()
}

/** Whether the frame fills the window, so that the pointer cannot come from elsewhere on the page. */
const fillsWindow = (): boolean => innerWidth >= outerWidth * 0.9 && innerHeight >= outerHeight * 0.7

for (const name of ['pointerover', 'pointermove', 'pointerdown'] as const)
  document.addEventListener(name, trackPointer, true)
document.addEventListener(
  'pointerdown',
  (event) => {
    press = { seen: isSeenIn(event), pointer: true }
  },
  true,
)
document.documentElement.addEventListener('pointerleave', ({ pointerType }) => {
  // A finger leaves whenever it is lifted.
  if (pointerType === 'mouse') lastPointer = undefined
})

/** Whether a user could see what a click does, from press to release. A rejected click starts the time again. */
export function isSeenPress(event: Event): boolean {
  const { seen = true, pointer = false } = press ?? {}
  press = undefined
  // A new window can open under a double click.
  const attentive = isFocusOldAt(event.timeStamp) || (pointer && embedder !== undefined)
  const accepted = event.isTrusted && seen && attentive && isSeenIn(event)
  if (!accepted) restartTime()
  return accepted
}
