import type { PaymentDetail } from './element.client.js'

/** An embed on a page. */
export interface Frame {
  readonly node: HTMLIFrameElement
  /** Resolves when the embed listens. */
  readonly loaded: Promise<unknown>
  remove(): void
}

/** Puts the embed at `url` into `place`, and does as it says (clients.md 9 to 11). */
export function showFrame(
  place: Element,
  url: URL,
  title: string,
  onPaid: (paid: Partial<PaymentDetail>) => void,
): Frame {
  const node = document.createElement('iframe')
  // Keeps the place of a frame that fills the window.
  const box = document.createElement('div')
  const root = document.documentElement
  const { overflow } = root.style
  let size = 'width:137px;height:48px'

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
    if (name === '_TQMFullScreen') fill()
    else if (name === '_TQMRelativeScreen') restore()
    else if (name === '_TQMSuccess') {
      // The page may take the element away as soon as it hears.
      restore()
      onPaid(detail)
    } else if (name === '_TQMResize' && detail.width > 0 && detail.height > 0) {
      size = `width:${+detail.width}px;height:${+detail.height}px`
      if (node.style.position !== 'fixed') restore()
    }
  }

  node.src = url.href
  node.title = title
  node.allow = 'payment *'
  // Where the browser does not tell the embed which page it is on, the referrer does.
  node.referrerPolicy = 'origin'
  restore()
  const loaded = new Promise((resolve) => node.addEventListener('load', resolve, { once: true }))
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
