/**
 * The payment element: puts a payment embed on a page and tells the page of payments (clients.md 8 to 13).
 * Loaded from a service as `/micropay.js` it also sets the global `loadMicroPayments`.
 */

import { type Frame, showFrame } from './frame.client.js'

/** How an embed looks; every value is text, and one that does not fit is dropped. */
export interface ElementStyles {
  colorPrimary?: string
  colorBackground?: string
  colorText?: string
  colorError?: string
  colorSuccess?: string
  colorWarning?: string
  borderRadius?: string
  border?: string
  fontFamily?: string
  padding?: string
  spacingUnit?: string
}

export interface ElementOptions {
  /** Of the commodity to be paid for. */
  hash: string
  /** Default: as the reader prefers. */
  theme?: 'light' | 'dark'
  styles?: ElementStyles
  /** Before the price, in place of `Pay`. */
  leading?: string
  /** After the price. */
  middle?: string
  /** After the price and `middle`. */
  trailing?: string
  /** How many decimals of the price the button shows. */
  decimalPoints?: number
}

export type ElementType = 'payment'

/** The detail of the events `payment` and `purchase`: what the seller's server validates. */
export interface PaymentDetail {
  hash: string
  /** The payer's twin. */
  hostname: string
  nonce: string
  /** Unix milliseconds. */
  timestamp: number
}

export interface MicroPaymentElement {
  /** Puts the element into a place of the page; resolves once it listens. Rejects where there is no such place or commodity. */
  mount(place: string | Element): Promise<void>
  /** Opens the payment, or closes it. */
  toggle(): void
  /** Takes the element off the page; it may be mounted again. */
  destroy(): void
}

export interface MicroPayments {
  elements(): { create(type: ElementType, options: ElementOptions): MicroPaymentElement }
}

export interface LoadOptions {
  /** Default `v2`. */
  apiVersion?: 'v2' | 'v4' | 2 | 4 | '2' | '4'
  /** Where the service is: its base URL. Default: where this script came from. */
  serviceUrl?: string
}

const fail = (what: string): never => {
  throw new Error(`MicroPayments: ${what}`)
}

/** Gives the elements of the account with that publishable secret; works with and without `await`. */
export function loadMicroPayments(
  public_secret: string,
  { apiVersion = 'v2', serviceUrl = new URL('.', import.meta.url).href }: LoadOptions = {},
): MicroPayments & Promise<MicroPayments> {
  if (typeof public_secret !== 'string' || !public_secret.startsWith('mp_'))
    fail(
      'loadMicroPayments takes the public_secret of an account, which begins with mp_. Keep the client_secret (mc_) on your server.',
    )
  const version = `v${String(apiVersion).replace(/^v/, '')}`
  if (version !== 'v2' && version !== 'v4') fail(`apiVersion "${apiVersion}" is not known; there are v2 and v4.`)
  const service = { base: serviceUrl.replace(/\/+$/, ''), version }
  const api: MicroPayments = { elements: () => ({ create: (type, options) => createElement(service, type, options) }) }
  return Object.assign(Promise.resolve(api), api)
}

interface ServiceAddress {
  /** Without a trailing slash. */
  readonly base: string
  readonly version: string
}

function createElement(service: ServiceAddress, type: ElementType, options: ElementOptions): MicroPaymentElement {
  if (type !== 'payment') fail(`there is no element of type "${type}"; there is: payment.`)
  if (typeof options?.hash !== 'string' || !options.hash) fail('create needs { hash }, the hash of a commodity.')
  let mounted: { frame?: Frame; listens?: boolean; toggled?: boolean } | undefined
  return {
    async mount(place) {
      const target = typeof place === 'string' ? document.querySelector(place) : place
      if (!target) return fail(`mount found nothing that matches "${place}".`)
      if (mounted) fail('this element is mounted already; destroy() it first.')
      const mine: NonNullable<typeof mounted> = (mounted = {})
      const descriptor = await readDescriptor(service, options.hash).catch((error) => {
        if (mounted === mine) mounted = undefined
        throw error
      })
      // Destroyed meanwhile.
      if (mounted !== mine) return
      mine.frame = showFrame(target, embedUrl(service, options), `Payment: ${descriptor}`, (paid) =>
        tell(options.hash, paid),
      )
      await mine.frame.loaded
      mine.listens = true
      if (mine.toggled) send(service, mine.frame)
    },
    toggle() {
      if (!mounted) fail('this element is not mounted.')
      else if (mounted.listens && mounted.frame) send(service, mounted.frame)
      else mounted.toggled = !mounted.toggled
    },
    destroy() {
      mounted?.frame?.remove()
      mounted = undefined
    },
  }
}

const send = ({ base }: ServiceAddress, { node }: Frame): void =>
  node.contentWindow?.postMessage('_TQMToggle', new URL(base).origin)

async function readDescriptor({ base, version }: ServiceAddress, hash: string): Promise<string> {
  const url = `${base}/${version}/commodity/${encodeURIComponent(hash)}?embed=false`
  const answer = await fetch(url, { headers: { accept: 'application/json' }, credentials: 'omit' }).catch((cause) => {
    throw new Error(`MicroPayments: ${base} cannot be reached.`, { cause })
  })
  if (answer.status === 404) fail(`no commodity has the hash "${hash}".`)
  if (!answer.ok) fail(`the commodity could not be read: ${answer.status}.`)
  return (await answer.json()).descriptor
}

function embedUrl({ base, version }: ServiceAddress, { hash, styles, ...options }: ElementOptions): URL {
  const url = new URL(`${base}/${version}/embed/${encodeURIComponent(hash)}`)
  const { theme, leading, middle, trailing, decimalPoints } = options
  const query = { theme, style: styles && JSON.stringify(styles), leading, middle, trailing, decimalPoints }
  for (const [name, value] of Object.entries(query)) if (value != null) url.searchParams.set(name, String(value))
  return url
}

/** Listeners on the document, and on its root element, both hear of it (clients.md 11). */
function tell(hash: string, { hostname, nonce, timestamp }: Partial<PaymentDetail>): void {
  for (const name of ['purchase', 'payment']) {
    const detail = { hash, hostname, nonce, timestamp }
    document.documentElement.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }))
  }
}

declare global {
  interface DocumentEventMap {
    payment: CustomEvent<PaymentDetail>
    purchase: CustomEvent<PaymentDetail>
  }
}

Object.assign(globalThis, { loadMicroPayments })
