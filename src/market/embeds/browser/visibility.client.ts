import { embedder } from './parent.client.js'

/**
 * Whether the reader could see what a press agrees to: on screen, uncovered, and for half a second before the press.
 * Chromium tells a frame whether its page covers or distorts it (IntersectionObserver v2). Elsewhere size, position and time count.
 */

const SEEN_MS = 500
/** How long a dialog may be out of sight before its reader is offered another way. */
const DOUBT_MS = 1000
/** CSS pixels below which nobody can read a dialog, and the zoom below which nobody can read a pixel. */
const LEAST = { width: 200, height: 150, zoom: 0.5 }

const tracks = embedder !== undefined && 'isVisible' in IntersectionObserverEntry.prototype

/** What `lib.dom` does not know yet: entries are cast to it. */
interface Seen extends IntersectionObserverEntry {
  readonly isVisible?: boolean
}

interface Watched {
  /** Must be neither covered nor distorted, and whole. */
  readonly dialog: Element
  /** Must be whole too: a dialog may scroll. */
  readonly parts: readonly Element[]
}

let observer: IntersectionObserver | undefined
let changed = () => {}
/** Parts that cannot be seen now. */
const unseen = new Set<Element>()
/** From when on everything could be seen, or could not. */
let inSight = false
let since = 0
let timer: ReturnType<typeof setTimeout> | undefined

const now = (): number => performance.now()
const lasts = (ms: number): boolean => now() - since >= ms

/** True once the reader has had the time to see everything. */
export const isSeen = (): boolean => inSight && lasts(SEEN_MS)

/** True where the page gives the reader no chance to see it. */
export const isDoubtful = (): boolean => observer !== undefined && !inSight && lasts(DOUBT_MS)

/** Watches a dialog until `ignore`; `then` is called whenever `isSeen` or `isDoubtful` may have changed. */
export function watchSight({ dialog, parts }: Watched, then: () => void): void {
  ignore()
  changed = then
  observer = new IntersectionObserver(
    (entries) => {
      for (const { target, intersectionRatio, isVisible } of entries as Seen[]) {
        // A rounded corner of a pixel may be cut off; a button that waits is pale, which counts as distorted.
        const whole = intersectionRatio >= 0.98 && (!tracks || target !== dialog || isVisible)
        unseen[whole ? 'delete' : 'add'](target)
      }
      judge()
    },
    { threshold: [0, 0.98], ...(tracks && { trackVisibility: true, delay: 100 }) },
  )
  for (const each of [dialog, ...parts]) {
    unseen.add(each)
    observer.observe(each)
  }
  begin(false)
}

export function ignore(): void {
  observer?.disconnect()
  observer = undefined
  unseen.clear()
  inSight = false
  clearTimeout(timer)
}

function judge(): void {
  if (!observer) return
  const large = innerWidth >= LEAST.width && innerHeight >= LEAST.height && devicePixelRatio >= LEAST.zoom
  const sees = unseen.size === 0 && large && document.visibilityState === 'visible'
  if (sees !== inSight) begin(sees)
}

/** Time counts from now on. */
function begin(sees: boolean): void {
  inSight = sees
  since = now()
  clearTimeout(timer)
  timer = setTimeout(changed, sees ? SEEN_MS : DOUBT_MS)
  changed()
}

/** The reader needs another half second: what they see, or press, is not what they did a moment ago. */
function again(): void {
  if (inSight) begin(true)
}

addEventListener('resize', () => {
  at = undefined
  judge()
  again()
})
document.addEventListener('visibilitychange', judge)

/** How a press began. A click without one comes from assistive technology. */
let press: { readonly seen: boolean; readonly pointer: boolean } | undefined
/** When this window got the focus: a page can give it to a frame while its reader types. */
let focusedAt = 0
const isFocusOld = (): boolean => now() - focusedAt >= SEEN_MS

addEventListener('focus', () => {
  focusedAt = now()
})

document.addEventListener(
  'keydown',
  ({ key, repeat }) => {
    if (key === 'Enter' || key === ' ') press = { seen: isSeen() && !repeat && isFocusOld(), pointer: false }
    // Whoever types looks elsewhere.
    else if (key.length === 1) again()
  },
  true,
)

/** Where the pointer was last, in this frame and on the screen. */
let at: Pick<PointerEvent, 'clientX' | 'clientY' | 'screenX' | 'screenY'> | undefined

/** A page may put its frame under a pointer that is about to press something else. */
function follow({ clientX, clientY, screenX, screenY }: PointerEvent): void {
  const before = at
  at = { clientX, clientY, screenX, screenY }
  if (!before) return fillsWindow() ? undefined : again()
  // The screen counts zoomed pixels; browsers zoom out to a quarter.
  const jumped = (frame: number, screen: number) => Math.abs(frame) > 4 * Math.abs(screen) + 8
  if (jumped(clientX - before.clientX, screenX - before.screenX)) again()
  else if (jumped(clientY - before.clientY, screenY - before.screenY)) again()
}

/** There is nowhere else in the window that a pointer may have come from. The rest is the browser's own. */
const fillsWindow = (): boolean => innerWidth >= outerWidth * 0.9 && innerHeight >= outerHeight * 0.7

for (const name of ['pointerover', 'pointermove', 'pointerdown'] as const) document.addEventListener(name, follow, true)
document.addEventListener(
  'pointerdown',
  () => {
    press = { seen: isSeen(), pointer: true }
  },
  true,
)
document.documentElement.addEventListener('pointerleave', ({ pointerType }) => {
  // A finger leaves whenever it is lifted.
  if (pointerType === 'mouse') at = undefined
})

/** Whether a click is one of a reader who could see what it does, from its beginning to its end. One that is not costs time. */
export function isSeenPress({ isTrusted }: Event): boolean {
  const { seen = true, pointer = false } = press ?? {}
  press = undefined
  // A window of its own can come up under a double click.
  const attentive = isFocusOld() || (pointer && embedder !== undefined)
  const accepted = isTrusted && seen && attentive && isSeen()
  if (!accepted) again()
  return accepted
}
