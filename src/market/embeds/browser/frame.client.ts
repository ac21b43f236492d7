export interface Frame {
  readonly node: HTMLIFrameElement
  /** Resolves when the embed is ready. */
  readonly loaded: Promise<unknown>
  /** Resolves when its dialog is closed. */
  closed(): Promise<void>
  remove(): void
}

/** How long after its load event an embed may take to send its first message. */
const SILENCE_MS = 1000

/** The embed to show, and callbacks for its result. */
export interface FrameOptions {
  readonly url: URL
  /** Name of the frame for assistive technology. */
  readonly title: string
  /** Kind of embed, for developers. */
  readonly kind: string
  /** Initial width of the closed button in CSS pixels. */
  readonly width: number
  onSuccess(detail: object): void
  onFail(): void
  onPaid(detail: object): void
  /** Answers a question of the embed: a payment method, or nothing. */
  onTopUp(order: object): Promise<string>
}

const FILLS =
  'position:fixed;inset:0;width:100%;height:100%;max-width:none;max-height:none;margin:0;padding:0;border:0;background:none;color-scheme:light;z-index:2147483647'

/** Sends the payment method that the page gives, or none. */
const answerTopUp = (node: HTMLIFrameElement, { origin }: URL, given: Promise<string>): Promise<void> =>
  given.catch(() => '').then((method) => node.contentWindow?.postMessage(`_TQMPaymentMethod;${method}`, origin))

/** Adds an embed to `place` and handles its messages. */
export function showFrame(place: Element, { url, title, kind, width, ...on }: FrameOptions): Frame {
  const node = document.createElement('iframe')
  // Reserves the place of a frame while it fills the window.
  const box = document.createElement('div')
  const root = document.documentElement
  const { overflow } = root.style
  let size = `width:${width}px;height:48px`
  let spoke = false
  let whenClosed = () => {}
  const isOpen = () => node.style.position === 'fixed'

  // The embed declares a light scheme under every theme. A frame with a different scheme would not be transparent.
  function restore(): void {
    if (node.popover) node.hidePopover()
    node.removeAttribute('popover')
    box.style.cssText = `${size};max-width:100%`
    node.style.cssText = 'display:block;width:100%;height:100%;border:0;color-scheme:light'
    root.style.overflow = overflow
    whenClosed()
  }

  /** Fills the window. Uses the top layer, because a transformed ancestor would confine a fixed frame. */
  function fill(): void {
    node.style.cssText = FILLS
    root.style.overflow = 'hidden'
    if (!node.showPopover) return
    node.popover = 'manual'
    node.showPopover()
  }

  function handleMessage({ source, origin, data }: MessageEvent): void {
    if (source !== node.contentWindow || origin !== url.origin || typeof data !== 'string') return
    const { name, detail } = messageIn(data)
    if (name.startsWith('_TQM')) spoke = true
    if (name === '_TQMFullScreen') fill()
    else if (name === '_TQMRelativeScreen') restore()
    else if (name === '_TQMSuccess') {
      // The page may remove the element as soon as it gets the event.
      restore()
      on.onSuccess(detail)
    } else if (name === '_TQMFail') on.onFail()
    else if (name === '_TQMPaid') on.onPaid(detail)
    else if (name === '_TQMTopUp') answerTopUp(node, url, on.onTopUp(detail))
    else if (name === '_TQMResize' && detail.width > 0 && detail.height > 0) {
      size = `width:${+detail.width}px;height:${+detail.height}px`
      if (!isOpen()) restore()
    }
  }

  Object.assign(node, { src: url.href, title, allow: 'payment *' })
  // Browsers without ancestorOrigins reveal the page by the referrer only.
  node.referrerPolicy = 'origin'
  restore()
  const loaded = new Promise((resolve) => node.addEventListener('load', resolve, { once: true }))
  loaded.then(() => setTimeout(() => spoke || !node.isConnected || reportSilence(kind, url), SILENCE_MS))
  addEventListener('message', handleMessage)
  box.append(node)
  place.append(box)
  return {
    node,
    loaded,
    closed: () => new Promise((resolve) => (isOpen() ? (whenClosed = resolve) : resolve())),
    remove() {
      removeEventListener('message', handleMessage)
      restore()
      box.remove()
    },
  }
}

function messageIn(text: string) {
  const end = text.indexOf(';')
  return end < 0 ? { name: text, detail: {} } : { name: text.slice(0, end), detail: JSON.parse(text.slice(end + 1)) }
}

/** Logs an error if a frame shows no embed, because users only see an empty box. */
function reportSilence(kind: string, { origin, pathname }: URL): void {
  console.error(
    `MicroPayments: ${origin}${pathname} does not show a ${kind} embed. A mocking worker answers only frames of its own origin, and that of MSW 2 answers none. Run a sandbox server at that origin, or use farthing/service-worker.`,
  )
}
