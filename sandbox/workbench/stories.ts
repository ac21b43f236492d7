import type { Entry } from '../../src/sandbox/onion/entry.js'
import { jsonIn } from './json.js'
import { isOffer, saleText } from './sales.js'
import { money, nameOf } from './state.js'

/** Requests that belong together, told as a sentence. */
export interface Story {
  readonly id: string
  readonly who: string
  readonly at: string
  /** Oldest first. */
  readonly steps: readonly Step[]
  readonly isRefused: boolean
}

export interface Step {
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
