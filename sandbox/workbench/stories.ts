import { parsedJson } from '../../src/base/json.js'
import type { Entry } from '../../src/sandbox/onion/entry.js'
import { money, nameOf, quantities } from './state.js'

/** Requests that belong together, told as a sentence. */
export interface Story {
  readonly id: string
  readonly who: string
  readonly at: string
  /** Oldest first. */
  readonly steps: readonly Step[]
  readonly isRefused: boolean
}

interface Step {
  readonly entry: Entry
  /** What happened, in a few words. */
  readonly text: string
  /** How often it happened in a row. The entry is the last one. */
  readonly times: number
}

/** Without a link between them, requests of one caller belong together if no more than this lies between them. */
const PAUSE_MS = 120_000

/** Groups entries, which are newest first: by what caused them, by trace, and by caller. Newest first too. */
export function storiesOf(entries: readonly Entry[]): readonly Story[] {
  const groups: Entry[][] = []
  const byEntry = new Map<string, Entry[]>()
  const byTrace = new Map<string, Entry[]>()
  const byCaller = new Map<string, Entry[]>()
  for (const entry of entries.toReversed()) {
    const caller = callerOf(entry)
    const recent = byCaller.get(caller)
    const isRecent = recent && Date.parse(entry.at) - Date.parse(recent.at(-1)?.at ?? '') < PAUSE_MS
    const group =
      byEntry.get(entry.caused_by ?? '') ?? byTrace.get(entry.trace ?? '') ?? (isRecent ? recent : undefined) ?? []
    if (group.length === 0) groups.push(group)
    group.push(entry)
    byEntry.set(entry.id, group)
    if (entry.trace !== undefined) byTrace.set(entry.trace, group)
    byCaller.set(caller, group)
  }
  return groups.map(storyOf).sort((a, b) => (a.at < b.at ? 1 : -1))
}

/** A token is asked for by a client, and then used as its owner: both have one name. */
const callerOf = ({ principal, request }: Entry): string =>
  principal === null ? `guest ${request.headers['user-agent'] ?? ''}` : nameOf(principal)

function storyOf(entries: readonly Entry[]): Story {
  const [first] = entries
  const known = entries.find(({ principal }) => principal !== null)
  const prices = new Map<string, string>()
  return {
    id: first?.id ?? '',
    who: nameOf(known?.principal ?? null),
    at: entries.at(-1)?.at ?? '',
    steps: inRows(
      entries.filter(isStep).flatMap((entry) => [{ entry, text: told(entry, prices), times: 1 }, ...effects(entry)]),
    ),
    isRefused: entries.some(isRefused),
  }
}

/** What causes a delivery says that it was sent. */
const isStep = (entry: Entry): boolean =>
  entry.origin !== 'delivery' || entry.caused_by === undefined || isRefused(entry)

/** The same again and again is one step. */
function inRows(steps: readonly Step[]): readonly Step[] {
  const rows: Step[] = []
  for (const step of steps) {
    const last = rows.at(-1)
    const isSame = last?.text === step.text && last.entry.code === step.entry.code
    if (isSame) rows[rows.length - 1] = { ...step, times: last.times + 1 }
    else rows.push(step)
  }
  return rows
}

/** A timer and a delivery have no status. They have a code if they failed. An offer is no refusal. */
export function isRefused(entry: Entry): boolean {
  const { origin, status, code } = entry
  if (origin === 'timer' || origin === 'delivery') return code !== undefined
  return (status === null || status >= 400) && !isOffer(entry)
}

/** What a request caused that a person notices. Movements and events stand for the request itself. */
const effects = (entry: Entry): Step[] =>
  entry.caused.flatMap(({ kind, id }) => {
    const text = caused[kind]
    return text === undefined ? [] : [{ entry: { ...entry, id: `${entry.id}#${kind}${id}` }, text, times: 1 }]
  })

const caused: Readonly<Record<string, string>> = {
  mail: 'mail sent',
  push: 'push sent',
  card: 'card charged',
  webhook: 'webhook sent',
}

function told(entry: Entry, prices: Map<string, string>): string {
  const does = saleText(entry, prices) ?? phrases[entry.operation_id ?? ''] ?? words(entry)
  const text = typeof does === 'string' ? does : does(jsonIn(entry.response.body))
  return entry.fault === undefined ? text : `${text} (fault)`
}

/** `createWebhook` becomes “create webhook”. */
const words = ({ operation_id, method, path }: Entry): string =>
  operation_id?.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`) ?? `${method} ${path.split('?')[0]}`

// biome-ignore lint/suspicious/noExplicitAny: each phrase knows its answer
const phrases: Readonly<Record<string, string | ((answer: any) => string)>> = {
  createAccount: 'opened an account',
  createAccountToken: 'got a token',
  createUserToken: 'got a token',
  createUser: ({ email }) => (email ? `created ${email}` : 'created a user'),
  createCommodity: ({ descriptor, cost, dq }) =>
    cost === undefined ? 'new article' : `new article ${descriptor}, ${money(Number(cost), dq)}`,
  createTwin: 'made a wallet',
  readTwin: 'read a wallet',
  listTwins: 'read the wallets',
  listPayments: 'read the payments',
  createPayment: ({ amount, dq, descriptor }) =>
    amount === undefined ? 'tried to pay' : `paid ${money(Number(amount), dq)} for ${descriptor}`,
  validatePayment: 'validated the payment',
  createSession: 'began a session',
  createPageSession: 'opened the element',
  sendSessionCode: 'asked for a code',
  verifySessionCode: 'signed in',
  deleteSession: 'signed out',
  embedPayment: 'saw the pay button',
  createCheckout: 'made a checkout',
  completeCheckout: 'paid the checkout',
  createPurchase: 'bought an item',
  payCart: 'paid a cart',
  createApproval: 'asked for an approval',
  approveApproval: 'approved',
  rejectApproval: 'refused',
  callPaywall: 'called the paywall',
  callMcp: 'spoke MCP',
  verifyX402Payment: ({ isValid, invalidReason }) =>
    isValid ? 'verified an x402 payment' : `refused an x402 payment: ${invalidReason}`,
  settleX402Payment: ({ success, errorReason }) =>
    success ? 'settled an x402 payment' : `settled no x402 payment: ${errorReason}`,
  linkWallet: 'linked an address',
  fundTwin: ({ amount, hostname, dq }) =>
    amount === undefined ? 'fund' : `funded ${hostname.split('.')[0]} with ${money(Number(amount), dq)}`,
  actAsCaller: 'acted as a caller',
  updateCommodity: ({ descriptor, cost, dq }) =>
    cost === undefined ? 'changed an article' : `changed ${descriptor} to ${money(Number(cost), dq)}`,
  setPhone: 'set a phone',
  createWebhook: 'made a webhook',
  testWebhook: 'tested a webhook',
  redeliverWebhook: 'sent a webhook again',
  readSession: 'looked at the session',
  mail: 'sent a mail',
  push: 'sent a push',
  webhook: 'sent a webhook',
  armFault: 'armed a fault',
  disarmFault: 'disarmed a fault',
  updateClock: ({ now }) => (now ? `moved the clock to ${now.slice(0, 16).replace('T', ' ')}` : 'moved the clock'),
  resetSandbox: 'reset the sandbox',
  rewindSandbox: 'rewound the sandbox',
  saveNamedState: ({ name }) => `saved the state ${name ?? ''}`,
  seedSandbox: 'seeded the sandbox',
  signInAsUser: 'signed in by hand',
}

/** Calls that pay for themselves, by x402 or MPP. */

const SOLD = new Set<string | null>(['callCatalogItem', 'callCatalogItemByGet', 'callPaywall'])

/** Whether an answer only says what a call costs, to whoever has not paid yet. */
export const isOffer = ({ code, response }: Entry): boolean =>
  code === 'payment_required' && jsonIn(response.body).reason === undefined

/** What a call that pays for itself was asked or paid, in a few words. Undefined for any other. `prices`: by path, of the offers before it. */
function saleText(entry: Entry, prices: Map<string, string>): string | undefined {
  const { operation_id, path, status, code, response } = entry
  if (!SOLD.has(operation_id)) return undefined
  const what = whatOf(entry)
  if (code === 'payment_required') {
    const price = priceIn(response.headers['payment-required'])
    if (price !== undefined) prices.set(path, price)
    const { reason } = jsonIn(response.body)
    return reason === undefined ? `asked ${price ?? 'a price'} for ${what}` : `tried to pay for ${what}: ${reason}`
  }
  const dialect = dialectOf(response.headers)
  if (status === null || dialect === undefined) return operation_id === 'callPaywall' ? undefined : `called ${what}`
  return ['paid', prices.get(path), 'for', what, 'by', dialect].filter(Boolean).join(' ')
}

/** By the receipt in an answer. */
function dialectOf(headers: Entry['response']['headers']): string | undefined {
  if ('payment-receipt' in headers) return 'MPP'
  return 'payment-response' in headers || 'x-payment-response' in headers ? 'x402' : undefined
}

/** The price in the header of an offer: `0.25 USDC`. */
function priceIn(header: string | undefined): string | undefined {
  const [way] = jsonIn(headerText(header)).accepts ?? []
  if (way === undefined) return undefined
  const known = [...quantities.value.values()]
  // A token's address is made of the hash, but that of USDC is the network's own.
  const quantity =
    known.find(({ dq }) => `0x${dq.slice(2, 42)}` === String(way.asset).toLowerCase()) ??
    known.find(({ shortcode }) => shortcode === 'USDC')
  return quantity && money(Number(way.amount) / 10 ** quantity.decimals, quantity.dq)
}

function whatOf({ path, request }: Entry): string {
  const [, item] = /\/items\/(\d+)\/call/.exec(path) ?? []
  if (item !== undefined) return `item ${item}`
  const { serviceUrl, destination } = jsonIn(request.body)
  if (typeof serviceUrl === 'string' && URL.canParse(serviceUrl)) return new URL(serviceUrl).host
  return typeof destination === 'string' ? destination : 'the paywall'
}

function headerText(header: string | undefined): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(header ?? ''), (each) => each.charCodeAt(0)))
  } catch {
    return ''
  }
}

/** The JSON in a text. An empty object if it is none. */
// biome-ignore lint/suspicious/noExplicitAny: whoever reads it knows what it may be
const jsonIn = (text: string | null | undefined): any => parsedJson(text ?? '') ?? {}
