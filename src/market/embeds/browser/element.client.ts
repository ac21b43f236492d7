/**
 * The payment element: adds an embed to a page and informs the page of the result. Loaded from a service as
 * `/micropay.js`, it also sets the global `loadMicroPayments`.
 */

import { PAGE_CALL } from '../../../base/page-call.js'
import { type Frame, showFrame } from './frame.client.js'

/** Style of an embed. All values are strings. Invalid ones are ignored. */
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
  /** Hash of the commodity. For `verify`: hash of the persona. */
  hash: string
  /** Default: the user's preference. */
  theme?: 'light' | 'dark'
  styles?: ElementStyles
  /** Text before the price or the persona's name. Default: `Pay`, `Get` or `Verify`. */
  leading?: string
  /** Text after the price or name. */
  middle?: string
  /** Text after `middle`. */
  trailing?: string
  /** Number of decimals in the button's price. */
  decimalPoints?: number
}

/** A top-up that a payer asks for. */
export interface TopUpOrder {
  /** In the digital quantity. */
  amount: number
  shortcode: string
}

export interface PaymentOptions extends ElementOptions {
  /** Sells the same again to the same payer, as for a gift or a tip. Default: false. */
  repeat?: boolean
  /**
   * Lets a payer whose balance is short top it up by card. Returns the id of a payment method of the service's card
   * processor, or undefined if the payer gave none.
   */
  topUp?(order: TopUpOrder): Promise<string | undefined>
}

/** A text that users consent to. */
export type Consent = string | { title?: string; text?: string }

export interface PaybackOptions extends ElementOptions {
  /** What users consent to: at most 20 texts of 2,000 characters each. */
  consent?: Consent | readonly Consent[]
}

export interface VerifyOptions extends ElementOptions {
  /** Lowest number of a delegate that counts. */
  issueMin?: number
  /** Highest number of a delegate that counts. */
  issueMax?: number
}

/** The options of each type of element. */
export interface ElementTypes {
  /** Pays for a commodity. Events: `payment` and `purchase`, and `paid` whenever it shows that it is paid. */
  payment: PaymentOptions
  /** Pays, and gives the page a session. Event: `authorized`. */
  auth: ElementOptions
  /** Pays the user a commodity's price for their consent. Event: `payback`. */
  payback: PaybackOptions
  /** Proves that the user has a delegate of a persona. Events: `verified` and `verify`, or `unverified`. */
  verify: VerifyOptions
}

export type ElementType = keyof ElementTypes

/** Detail of the events `payment`, `purchase` and `payback`. The seller's server validates it. */
export interface PaymentDetail {
  hash: string
  /** Hostname of the user's twin. */
  hostname: string
  nonce: string
  /** Unix milliseconds. */
  timestamp: number
}

/** Detail of the event `paid`: what this payer paid for on this page, now or before. */
export interface PaidDetail extends PaymentDetail {
  payment_id: number
  /** With its unit: `0.25 USD`. */
  price: string
  /** The receipt line. */
  descriptor: string
}

/** Detail of the event `authorized`. */
export interface AuthorizedDetail {
  /** Send it as `X-Session-ID` to request payments from the paywall, which the user approves. */
  session: { session: string }
}

/** Detail of the events `verified` and `verify`. The nonce proves the twin, with `PUT /v2/twin/nonce`. */
export interface VerifiedDetail extends PaymentDetail {
  /** Hashes of the delegates that the twin has. */
  instances: string[]
}

/** Detail of the event `unverified`. */
export interface UnverifiedDetail {
  /** Hash of the persona. */
  hash: string
}

export interface MicroPaymentElement<O = ElementOptions> {
  /**
   * Adds the element to the page. Resolves when it is ready. Rejects if there is no such place, account, commodity or persona.
   */
  mount(place: string | Element): Promise<void>
  /** Opens or closes the dialog. Does nothing while the element shows that it is paid. */
  toggle(): void
  /**
   * Changes options. A mounted element is shown anew, once its dialog is closed. Resolves and rejects like `mount`.
   */
  update(changes: Partial<O>): Promise<void>
  /** What the element shows as paid. Undefined while it sells. */
  readonly paid: PaidDetail | undefined
  /** Removes the element from the page. It can be mounted again. */
  destroy(): void
}

export interface MicroPayments {
  elements(): { create<T extends ElementType>(type: T, options: ElementTypes[T]): MicroPaymentElement<ElementTypes[T]> }
}

export interface LoadOptions {
  /** Default: `v2`. */
  apiVersion?: 'v2' | 'v4' | 2 | 4 | '2' | '4'
  /** The service's base URL. Default: where this script came from. */
  serviceUrl?: string
}

const fail = (what: string): never => {
  throw new Error(`MicroPayments: ${what}`)
}

/** Without `new URL('…', import.meta.url)`: bundlers take that for a file to add. */
const folderOfScript = (): string => import.meta.url.replace(/[^/]*([?#].*)?$/, '')

/** Returns the elements of the account with this publishable secret. Works with and without `await`. */
export function loadMicroPayments(
  public_secret: string,
  { apiVersion = 'v2', serviceUrl = folderOfScript() }: LoadOptions = {},
): MicroPayments & Promise<MicroPayments> {
  if (typeof public_secret !== 'string' || !public_secret.startsWith('mp_'))
    fail(
      'loadMicroPayments needs the public_secret of an account, which begins with mp_. Keep the client_secret (mc_) on your server.',
    )
  const version = `v${String(apiVersion).replace(/^v/, '')}`
  if (version !== 'v2' && version !== 'v4') fail(`apiVersion "${apiVersion}" is unknown. Use v2 or v4.`)
  const service = { base: serviceUrl.replace(/\/+$/, ''), version, public_secret }
  const api: MicroPayments = { elements: () => ({ create: (type, options) => createElement(service, type, options) }) }
  return Object.assign(Promise.resolve(api), api)
}

interface ServiceAddress {
  /** Without a trailing slash. */
  readonly base: string
  readonly version: string
  readonly public_secret: string
}

interface ElementKind {
  /** Path between the version and the hash. */
  readonly path: string
  /** The first version that has it. */
  readonly since: string
  /** What its hash names. Also the path and the field that the name is read from. */
  readonly of: 'commodity' | 'persona'
  readonly called: string
  readonly width: number
  /** Whether it sells the same once. */
  readonly once?: true
  succeeded(hash: string, detail: Partial<VerifiedDetail & AuthorizedDetail>): void
  failed?(hash: string): void
}

const paid = (...events: string[]): Pick<ElementKind, 'of' | 'succeeded'> => ({
  of: 'commodity',
  succeeded(hash, { hostname, nonce, timestamp }) {
    for (const name of events) dispatch(name, { hash, hostname, nonce, timestamp })
  },
})

const kinds: Record<ElementType, ElementKind> = {
  payment: { path: 'embed', since: 'v2', called: 'Payment', width: 137, once: true, ...paid('purchase', 'payment') },
  auth: {
    path: 'embed',
    since: 'v2',
    called: 'Sign-in',
    width: 137,
    of: 'commodity',
    succeeded(_, { session }) {
      if (session) return dispatch('authorized', { session })
      console.error(
        'MicroPayments: the user signed in, but this page gets no session. Either the page has no origin, as in a sandboxed frame or a file, or the service refused.',
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

/** Listeners on the document and on its root element both get the event. */
function dispatch(name: string, detail: object): void {
  document.documentElement.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }))
}

function createElement(service: ServiceAddress, type: ElementType, given: AnyOptions): MicroPaymentElement<AnyOptions> {
  if (!Object.hasOwn(kinds, type))
    fail(`"${type}" is not an element type. Use one of ${Object.keys(kinds).join(', ')}.`)
  const kind = kinds[type]
  let options = given
  if (typeof options?.hash !== 'string' || !options.hash) fail(`create needs { hash } with the hash of a ${kind.of}.`)
  let mounted:
    | { place: string | Element; frame?: Frame; listens?: boolean; toggled?: boolean; paid?: PaidDetail }
    | undefined
  const element: MicroPaymentElement<AnyOptions> = {
    async mount(place) {
      const target = typeof place === 'string' ? document.querySelector(place) : place
      if (!target) return fail(`mount finds no element that matches "${place}".`)
      if (mounted) fail('this element is already mounted. Call destroy() first.')
      const mine: NonNullable<typeof mounted> = (mounted = { place })
      const name = await readName(service, kind, options.hash).catch((error) => {
        if (mounted === mine) mounted = undefined
        throw error
      })
      // destroy() was called meanwhile.
      if (mounted !== mine) return
      mine.frame = showFrame(target, {
        url: embedUrl(service, kind, options),
        title: `${kind.called}: ${name}`,
        kind: kind.called.toLowerCase(),
        width: kind.width,
        onSuccess: (detail) => kind.succeeded(options.hash, detail),
        onFail: () => kind.failed?.(options.hash),
        onPaid(detail) {
          mine.paid = { hash: options.hash, ...detail } as PaidDetail
          dispatch('paid', mine.paid)
        },
        // A refusal is the page's to show.
        onTopUp: async (order) => (await options.topUp?.(order as TopUpOrder)) ?? '',
      })
      await mine.frame.loaded
      mine.listens = true
      if (mine.toggled) sendToggle(service, mine.frame)
    },
    toggle() {
      if (!mounted) fail('this element is not mounted. Call mount() first.')
      else if (mounted.listens && mounted.frame) sendToggle(service, mounted.frame)
      else mounted.toggled = !mounted.toggled
    },
    async update(changes) {
      const before = mounted
      await before?.frame?.closed()
      options = { ...options, ...changes }
      if (!before || before !== mounted) return
      element.destroy()
      await element.mount(before.place)
    },
    get paid() {
      return mounted?.paid
    },
    destroy() {
      mounted?.frame?.remove()
      mounted = undefined
    },
  }
  return element
}

type AnyOptions = PaymentOptions & PaybackOptions & VerifyOptions

const sendToggle = ({ base }: ServiceAddress, { node }: Frame): void =>
  node.contentWindow?.postMessage('_TQMToggle', new URL(base).origin)

const atLeast = (since: string, version: string): string => (version < since ? since : version)

async function readName({ base, version, public_secret }: ServiceAddress, kind: ElementKind, hash: string) {
  const { of } = kind
  const under = atLeast(of === 'persona' ? 'v3' : 'v2', version)
  const url = `${base}/${under}/${of}/${encodeURIComponent(hash)}?embed=false&public_secret=${encodeURIComponent(public_secret)}`
  const answer = await fetch(url, {
    headers: { accept: 'application/json', [PAGE_CALL]: 'element' },
    credentials: 'omit',
  }).catch((cause) => {
    throw new Error(`MicroPayments: cannot reach ${base}.`, { cause })
  })
  if (answer.status === 401) {
    const what = `no account at ${base} has the public_secret "${public_secret}". Pass the public_secret of your account there.`
    // Many pages do not handle the rejection.
    console.error(`MicroPayments: ${what}`)
    fail(what)
  }
  if (answer.status === 404) fail(`there is no ${of} with the hash "${hash}".`)
  if (!answer.ok) fail(`cannot read the ${of}: the service answered ${answer.status}.`)
  const { descriptor, name } = await answer.json()
  return descriptor ?? name
}

function embedUrl({ base, version }: ServiceAddress, kind: ElementKind, options: AnyOptions): URL {
  const url = new URL(`${base}/${atLeast(kind.since, version)}/${kind.path}/${encodeURIComponent(options.hash)}`)
  const { theme, styles: style, leading, middle, trailing, decimalPoints, consent, issueMin, issueMax } = options
  const json = { style: style && JSON.stringify(style), consent: consent && JSON.stringify(consent) }
  const { once, topUp } = { once: kind.once && !options.repeat, topUp: options.topUp && true }
  const query = {
    once: once || undefined,
    topUp,
    theme,
    leading,
    middle,
    trailing,
    decimalPoints,
    issueMin,
    issueMax,
    ...json,
  }
  for (const [name, value] of Object.entries(query)) if (value != null) url.searchParams.set(name, String(value))
  return url
}

declare global {
  interface DocumentEventMap {
    payment: CustomEvent<PaymentDetail>
    paid: CustomEvent<PaidDetail>
    purchase: CustomEvent<PaymentDetail>
    authorized: CustomEvent<AuthorizedDetail>
    payback: CustomEvent<PaymentDetail>
    verify: CustomEvent<VerifiedDetail>
    verified: CustomEvent<VerifiedDetail>
    unverified: CustomEvent<UnverifiedDetail>
  }
}

Object.assign(globalThis, { loadMicroPayments })
