/** An embed on a page. */
export interface Frame {
  readonly node: HTMLIFrameElement
  /** Resolves when the embed listens. */
  readonly loaded: Promise<unknown>
  remove(): void
}

/** How long after its load an embed may be silent: it speaks before it, but the page may hear of that later. */
const SILENCE_MS = 1000

/** What is to be shown, and who is told what came of it. */
export interface Shown {
  readonly url: URL
  /** What people hear the frame called. */
  readonly title: string
  /** What the embed is, for developers. */
  readonly kind: string
  /** CSS pixels that the closed button begins with. */
  readonly width: number
  onSuccess(told: object): void
  onFail(): void
}

/** Puts an embed into `place`, and does as it says (clients.md 9 to 11). */
export function showFrame(place: Element, { url, title, kind, width, onSuccess, onFail }: Shown): Frame {
  const node = document.createElement('iframe')
  // Keeps the place of a frame that fills the window.
  const box = document.createElement('div')
  const root = document.documentElement
  const { overflow } = root.style
  let size = `width:${width}px;height:48px`
  let spoke = false

  // The embed's scheme, by which the browser keeps it transparent, is light under any theme.
  function restore(): void {
    if (node.popover) node.hidePopover()
    node.removeAttribute('popover')
    box.style.cssText = `${size};max-width:100%`
    node.style.cssText = 'display:block;width:100%;height:100%;border:0;color-scheme:light'
    root.style.overflow = overflow
  }

  /** Over the whole window; in the top layer, as a transformed ancestor would hold a fixed frame in its own box. */
  function fill(): void {
    node.style.cssText =
      'position:fixed;inset:0;width:100%;height:100%;max-width:none;max-height:none;margin:0;padding:0;border:0;background:none;color-scheme:light;z-index:2147483647'
    root.style.overflow = 'hidden'
    if (!node.showPopover) return
    node.popover = 'manual'
    node.showPopover()
  }

  function hear({ source, origin, data }: MessageEvent): void {
    if (source !== node.contentWindow || origin !== url.origin || typeof data !== 'string') return
    const end = data.indexOf(';')
    const name = end < 0 ? data : data.slice(0, end)
    const detail = end < 0 ? {} : JSON.parse(data.slice(end + 1))
    if (name.startsWith('_TQM')) spoke = true
    if (name === '_TQMFullScreen') fill()
    else if (name === '_TQMRelativeScreen') restore()
    else if (name === '_TQMSuccess') {
      // The page may take the element away as soon as it hears.
      restore()
      onSuccess(detail)
    } else if (name === '_TQMFail') onFail()
    else if (name === '_TQMResize' && detail.width > 0 && detail.height > 0) {
      size = `width:${+detail.width}px;height:${+detail.height}px`
      if (node.style.position !== 'fixed') restore()
    }
  }

  /** A frame is silent where nothing answers it, and where what does is no embed: to people it is an empty box. */
  function reportSilence(): void {
    if (spoke || !node.isConnected) return
    console.error(
      `MicroPayments: ${url.origin}${url.pathname} did not answer as a ${kind} embed. A mocking worker answers no frames: under one, embeds need a sandbox server at that origin, or farthing/service-worker.`,
    )
  }

  node.src = url.href
  node.title = title
  node.allow = 'payment *'
  // Where the browser does not tell the embed which page it is on, the referrer does.
  node.referrerPolicy = 'origin'
  restore()
  const loaded = new Promise((resolve) => node.addEventListener('load', resolve, { once: true }))
  loaded.then(() => setTimeout(reportSilence, SILENCE_MS))
  addEventListener('message', hear)
  box.append(node)
  place.append(box)
  return {
    node,
    loaded,
    remove() {
      removeEventListener('message', hear)
      restore()
      box.remove()
    },
  }
}
