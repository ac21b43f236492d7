/**
 * The payment element: puts an embed on a page and tells the page what came of it (clients.md 8 to 13).
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
  /** Of the commodity; for `verify`, of the persona. */
  hash: string
  /** Default: as the reader prefers. */
  theme?: 'light' | 'dark'
  styles?: ElementStyles
  /** Before the price or the persona's name, in place of `Pay`, `Get` or `Verify`. */
  leading?: string
  /** After the price or name. */
  middle?: string
  /** After the price or name and `middle`. */
  trailing?: string
  /** How many decimals of the price the button shows. */
  decimalPoints?: number
}

/** A text that readers are asked to consent to. */
export type Consent = string | { title?: string; text?: string }

export interface PaybackOptions extends ElementOptions {
  /** What readers consent to: at most 20 texts, of 2,000 characters each. */
  consent?: Consent | readonly Consent[]
}

export interface VerifyOptions extends ElementOptions {
  /** The least number of a delegate that counts. */
  issueMin?: number
  /** The greatest one. */
  issueMax?: number
}

/** What each type of element takes. */
export interface ElementTypes {
  /** Pays for a commodity: the events `payment` and `purchase`. */
  payment: ElementOptions
  /** The same, for the session that the page gets: the event `authorized`. */
  auth: ElementOptions
  /** Pays the reader a commodity's price for their consent: the event `payback`. */
  payback: PaybackOptions
  /** Proves that the reader holds a delegate of a persona: the events `verified` and `verify`, or `unverified`. */
  verify: VerifyOptions
}

export type ElementType = keyof ElementTypes

/** The detail of the events `payment`, `purchase` and `payback`: what the seller's server validates. */
export interface PaymentDetail {
  hash: string
  /** The reader's twin. */
  hostname: string
  nonce: string
  /** Unix milliseconds. */
  timestamp: number
}

/** The detail of the event `authorized`. */
export interface AuthorizedDetail {
  /** Sent as `X-Session-ID`, it asks the paywall for payments that the reader approves. */
  session: { session: string }
}

/** The detail of the events `verified` and `verify`. The nonce proves the twin, to `PUT /v2/twin/nonce`. */
export interface VerifiedDetail extends PaymentDetail {
  /** The hashes of the delegates that the twin holds. */
  instances: string[]
}

/** The detail of the event `unverified`. */
export interface UnverifiedDetail {
  /** Of the persona. */
  hash: string
}

export interface MicroPaymentElement {
  /** Puts the element into a place of the page; resolves once it listens. Rejects where there is no such place, commodity or persona. */
  mount(place: string | Element): Promise<void>
  /** Opens the dialog, or closes it. */
  toggle(): void
  /** Takes the element off the page; it may be mounted again. */
  destroy(): void
}

export interface MicroPayments {
  elements(): { create<T extends ElementType>(type: T, options: ElementTypes[T]): MicroPaymentElement }
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

/** What is known of a type of element. */
interface Kind {
  /** Under the version; the hash comes after it. */
  readonly path: string
  /** The version that it came with. */
  readonly since: string
  /** What its hash is of: where that is read, and the field that names it. */
  readonly of: 'commodity' | 'persona'
  readonly called: string
  readonly width: number
  succeeded(hash: string, told: Partial<VerifiedDetail & AuthorizedDetail>): void
  failed?(hash: string): void
}

const paid = (...events: string[]): Pick<Kind, 'of' | 'succeeded'> => ({
  of: 'commodity',
  succeeded(hash, { hostname, nonce, timestamp }) {
    for (const name of events) dispatch(name, { hash, hostname, nonce, timestamp })
  },
})

const kinds: Record<ElementType, Kind> = {
  payment: { path: 'embed', since: 'v2', called: 'Payment', width: 137, ...paid('purchase', 'payment') },
  auth: {
    path: 'embed',
    since: 'v2',
    called: 'Sign-in',
    width: 137,
    of: 'commodity',
    succeeded(_, { session }) {
      if (session) return dispatch('authorized', { session })
      console.error(
        'MicroPayments: the reader signed in, and no session came for this page: the embed could not learn its origin, as of a sandboxed frame or a file, or the service gave none.',
      )
    },
  },
  payback: { path: 'payback/embed', since: 'v3', called: 'Payback', width: 171, ...paid('payback') },
  verify: {
    path: 'verify/embed',
    since: 'v3',
    called: 'Verification',
    width: 171,
    of: 'persona',
    succeeded(hash, { hostname, nonce, timestamp, instances }) {
      for (const name of ['verify', 'verified']) dispatch(name, { hash, hostname, nonce, timestamp, instances })
    },
    failed: (hash) => dispatch('unverified', { hash }),
  },
}

/** Listeners on the document, and on its root element, both hear of it (clients.md 11). */
function dispatch(name: string, detail: object): void {
  document.documentElement.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }))
}

function createElement(service: ServiceAddress, type: ElementType, options: AnyOptions): MicroPaymentElement {
  if (!Object.hasOwn(kinds, type))
    fail(`there is no element of type "${type}"; there are: ${Object.keys(kinds).join(', ')}.`)
  const kind = kinds[type]
  if (typeof options?.hash !== 'string' || !options.hash) fail(`create needs { hash }, the hash of a ${kind.of}.`)
  let mounted: { frame?: Frame; listens?: boolean; toggled?: boolean } | undefined
  return {
    async mount(place) {
      const target = typeof place === 'string' ? document.querySelector(place) : place
      if (!target) return fail(`mount found nothing that matches "${place}".`)
      if (mounted) fail('this element is mounted already; destroy() it first.')
      const mine: NonNullable<typeof mounted> = (mounted = {})
      const name = await readName(service, kind, options.hash).catch((error) => {
        if (mounted === mine) mounted = undefined
        throw error
      })
      // Destroyed meanwhile.
      if (mounted !== mine) return
      mine.frame = showFrame(target, {
        url: embedUrl(service, kind, options),
        title: `${kind.called}: ${name}`,
        kind: kind.called.toLowerCase(),
        width: kind.width,
        onSuccess: (told) => kind.succeeded(options.hash, told),
        onFail: () => kind.failed?.(options.hash),
      })
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

type AnyOptions = PaybackOptions & VerifyOptions

const send = ({ base }: ServiceAddress, { node }: Frame): void =>
  node.contentWindow?.postMessage('_TQMToggle', new URL(base).origin)

const atLeast = (since: string, version: string): string => (version < since ? since : version)

async function readName({ base, version }: ServiceAddress, kind: Kind, hash: string): Promise<string> {
  const { of } = kind
  const under = atLeast(of === 'persona' ? 'v3' : 'v2', version)
  const url = `${base}/${under}/${of}/${encodeURIComponent(hash)}?embed=false`
  const answer = await fetch(url, { headers: { accept: 'application/json' }, credentials: 'omit' }).catch((cause) => {
    throw new Error(`MicroPayments: ${base} cannot be reached.`, { cause })
  })
  if (answer.status === 404) fail(`no ${of} has the hash "${hash}".`)
  if (!answer.ok) fail(`the ${of} could not be read: ${answer.status}.`)
  const { descriptor, name } = await answer.json()
  return descriptor ?? name
}

function embedUrl({ base, version }: ServiceAddress, kind: Kind, options: AnyOptions): URL {
  const url = new URL(`${base}/${atLeast(kind.since, version)}/${kind.path}/${encodeURIComponent(options.hash)}`)
  const { theme, styles: style, leading, middle, trailing, decimalPoints, consent, issueMin, issueMax } = options
  const json = { style: style && JSON.stringify(style), consent: consent && JSON.stringify(consent) }
  const query = { theme, leading, middle, trailing, decimalPoints, issueMin, issueMax, ...json }
  for (const [name, value] of Object.entries(query)) if (value != null) url.searchParams.set(name, String(value))
  return url
}

declare global {
  interface DocumentEventMap {
    payment: CustomEvent<PaymentDetail>
    purchase: CustomEvent<PaymentDetail>
    authorized: CustomEvent<AuthorizedDetail>
    payback: CustomEvent<PaymentDetail>
    verify: CustomEvent<VerifiedDetail>
    verified: CustomEvent<VerifiedDetail>
    unverified: CustomEvent<UnverifiedDetail>
  }
}

Object.assign(globalThis, { loadMicroPayments })
