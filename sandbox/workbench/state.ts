import { computed, effect, signal } from '@preact/signals'
import type { Audit } from '../../src/money/ledger/audit.js'
import type { InboxMessage } from '../../src/sandbox/controls/people-controls.js'
import type { DueWork, Health } from '../../src/sandbox/controls/sandbox.js'
import type { ShownSnapshot } from '../../src/sandbox/controls/snapshot.js'
import type { Entry } from '../../src/sandbox/onion/entry.js'
import type { ArmedFault } from '../../src/sandbox/onion/fault.js'
import { type Answer, call, readRows, TOOL_HEADER, urlOf, whyNot } from './api.js'
import { viewNames } from './views.js'

/** What the page knows. Each view reads the signals that it shows. */

/** The part of the address behind `#/`: a view, and what is open in it. */
export const route = signal(location.hash.slice(2))
addEventListener('hashchange', () => {
  route.value = location.hash.slice(2)
})
export const parts = computed(() => route.value.split('?')[0]?.split('/').map(decodeURIComponent) ?? [])
/** An unknown one is shown as Live. */
export const view = computed(() => viewNames.find((name) => name === parts.value[0]) ?? 'live')
export const linkTo = (...path: readonly (string | number)[]): string =>
  `#/${path.map((part) => encodeURIComponent(String(part))).join('/')}`
export const go = (...path: readonly (string | number)[]): void => {
  location.hash = linkTo(...path)
}

export const health = signal<Health | undefined>(undefined)
export const ledger = signal<Audit | undefined>(undefined)
/** What the clock brings next. */
export const next = signal<DueWork | null>(null)
export const faults = signal<readonly ArmedFault[]>([])
export const snapshots = signal<readonly ShownSnapshot[]>([])
export const forks = signal<readonly { readonly id: string; readonly url: string }[]>([])
export const messages = signal<readonly InboxMessage[]>([])
export const entries = signal<readonly Entry[]>([])
/** Counts how often something may have changed. What shows rows reads them again. */
export const revision = signal(0)
/** Why the sandbox cannot be read, or undefined. */
export const trouble = signal<string | undefined>(undefined)
/** The last thing that was done, for everybody who looks or listens. */
export const said = signal<{ readonly text: string; readonly isError?: boolean } | undefined>(undefined)

export interface Quantity {
  readonly dq: string
  readonly shortcode: string
  readonly decimals: number
}
export const quantities = signal<ReadonlyMap<string, Quantity>>(new Map())
/** By principal, such as `user:1`: an email or a name. */
export const names = signal<ReadonlyMap<string, string>>(new Map())

export const nameOf = (principal: string | null): string =>
  principal === null ? 'Somebody' : (names.value.get(principal) ?? principal.replace(WALLET, '$1…$2').replace(':', ' '))

/** The owner of a wallet that nobody linked: by its address, of which people compare both ends. */
const WALLET = /^wallet:(0x[0-9a-fA-F]{4})[0-9a-fA-F]{32}([0-9a-fA-F]{4})$/

export const money = (amount: number, dq?: string): string => {
  const quantity = dq === undefined ? [...quantities.value.values()][0] : quantities.value.get(dq)
  return `${amount.toFixed(Math.max(2, digits(amount)))} ${quantity?.shortcode ?? ''}`.trim()
}
const digits = (amount: number) => String(amount).split('.')[1]?.length ?? 0

/** An amount as rows hold it, a text of whole units, in its digital quantity. */
export const amountOfUnits = (units: unknown, dq: unknown): number =>
  Number(units) / 10 ** (quantities.value.get(String(dq))?.decimals ?? 0)

export const moneyOfUnits = (units: unknown, dq: unknown): string => money(amountOfUnits(units, dq), String(dq))

export function tell(text: string, isError = false): void {
  said.value = { text, isError }
}

/** Does something by hand, and says how it went. Returns the answer's body, or undefined after a refusal. */
export async function act(done: string, what: Promise<Answer>): Promise<Answer['body']> {
  const answer = await what
  tell(answer.ok ? done : whyNot(answer), !answer.ok)
  await lookAgain()
  return answer.ok ? (answer.body ?? {}) : undefined
}

async function read<T>(path: string, into: (body: T) => void): Promise<void> {
  const answer = await call('GET', path)
  if (answer.ok) into(answer.body)
  else trouble.value = whyNot(answer)
}

/** Reads what is always visible. */
export async function refresh(): Promise<void> {
  trouble.value = undefined
  await Promise.all([
    read<Health>('_sandbox/health', (body) => (health.value = body)),
    read<{ next: DueWork | null }>('_sandbox/clock/next', (body) => (next.value = body.next)),
    read<{ faults: ArmedFault[] }>('_sandbox/faults', (body) => (faults.value = body.faults)),
    read<{ snapshots: ShownSnapshot[] }>('_sandbox/snapshots', (body) => (snapshots.value = body.snapshots)),
    read<{ forks: typeof forks.value }>('_sandbox/forks', (body) => (forks.value = body.forks)),
    read<{ messages: InboxMessage[] }>('_sandbox/outbox?limit=100', (body) => (messages.value = body.messages)),
    readNames(),
  ])
}

/** A large ledger takes long to audit, so it is audited for at most a tenth of the time. */
const AUDIT_SHARE = 10
let auditAgainAt = 0
let isAuditing = false
let audit: ReturnType<typeof setTimeout> | undefined

function auditLedger(): void {
  if (isAuditing || audit !== undefined) return
  audit = setTimeout(
    async () => {
      audit = undefined
      isAuditing = true
      const began = performance.now()
      await read<Audit>('_sandbox/ledger', (body) => (ledger.value = body))
      auditAgainAt = performance.now() + (performance.now() - began) * AUDIT_SHARE
      isAuditing = false
    },
    Math.max(0, auditAgainAt - performance.now()),
  )
}

/** Something may have changed. */
async function lookAgain(): Promise<void> {
  auditLedger()
  revision.value++
  await refresh()
}

async function readNames(): Promise<void> {
  const [users, accounts, clients, dqs] = await Promise.all(
    ['users', 'accounts', 'clients', 'digital_quantities'].map((name) => readRows(name, { limit: '100' })),
  )
  const known = new Map([
    ...(users?.rows ?? []).map((row): [string, string] => [`user:${row.id}`, String(row.email)]),
    ...(accounts?.rows ?? []).map((row): [string, string] => [
      `account:${row.id}`,
      String(row.name ?? `account ${row.id}`),
    ]),
  ])
  // A token is asked for by a client, and used by its owner.
  for (const { id, owner_kind, owner_id } of clients?.rows ?? [])
    known.set(`client:${id}`, known.get(`${owner_kind}:${owner_id}`) ?? `${owner_kind} ${owner_id}`)
  names.value = known
  quantities.value = new Map(
    (dqs?.rows ?? []).map((row) => [
      String(row.id),
      { dq: String(row.id), shortcode: String(row.shortcode), decimals: Number(row.decimals) },
    ]),
  )
}

/** How many entries the page holds. Older ones are in the journal. */
const MOST_ENTRIES = 1000
/** How long after a request everything else is read again, so that many requests cause one reading. */
const QUIET_MS = 400

let isWaiting = false

function add(added: readonly Entry[]): void {
  const own = added.filter(isWorth)
  if (own.length === 0) return
  const known = new Set(entries.value.map(({ id }) => id))
  const all = [...own.filter(({ id }) => !known.has(id)), ...entries.value]
  entries.value = all.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, MOST_ENTRIES)
  if (isWaiting) return
  isWaiting = true
  setTimeout(() => {
    isWaiting = false
    void lookAgain()
  }, QUIET_MS)
}

/** How long entries are gathered, so that many requests are one change of the page. */
const GATHER_MS = 100

let gathered: Entry[] = []

function addSoon(entry: Entry): void {
  gathered.push(entry)
  if (gathered.length > 1) return
  setTimeout(() => {
    const all = gathered
    gathered = []
    add(all)
  }, GATHER_MS)
}

/** Controls that read, and what the workbench and the phone do for themselves, are no part of a story. */
const isWorth = ({ method, path, request }: Entry): boolean =>
  !(TOOL_HEADER in request.headers) && !(method === 'GET' && path.startsWith('/_sandbox/')) && !isFile.test(path)

const isFile = /^\/(workbench\/|favicon|micropay\.js|v4\/openapi|$)/

/** Follows the journal until the page closes. */
export async function follow(): Promise<void> {
  listen()
  await lookAgain()
  // The clock moves, and other tools arm faults and save states.
  setInterval(() => document.hidden || refresh(), 5000)
}

/** How long to wait before listening again, if the sandbox refused or has stopped. */
const AGAIN_MS = 2000

/** A stream that breaks off is opened again by the browser, from where it was. */
function listen(): void {
  const stream = new EventSource(urlOf('_sandbox/requests'))
  stream.addEventListener('request', ({ data }) => addSoon(JSON.parse(data)))
  // What happened before is read once nothing can be missed any more.
  stream.addEventListener('open', () => {
    trouble.value = undefined
    read<{ requests: Entry[] }>('_sandbox/requests?limit=200', ({ requests }) => add(requests))
  })
  stream.addEventListener('error', () => {
    if (stream.readyState !== EventSource.CLOSED) return
    trouble.value = 'The sandbox does not answer. Is it still running?'
    setTimeout(listen, AGAIN_MS)
  })
}

/** Reads an entry that the page does not have, because the address names it. */
export async function readEntry(id: string): Promise<void> {
  await read<Entry>(`_sandbox/requests/${id}`, (entry) => {
    if (!entries.value.some((each) => each.id === id)) entries.value = [...entries.value, entry]
  })
}

effect(() => {
  const unread = entries.value.filter(({ status }) => (status ?? 0) >= 400).length
  document.title = unread > 0 ? `farthing (${unread} refused)` : 'farthing'
})
