import type { IncomingHttpHeaders } from 'node:http'
import { canonicalJson, hiddenKey } from '../../src/base/secrets.js'
import { HIDDEN } from '../../src/base/text/redacted.js'
import type {
  CallOutcome,
  KeptMessages,
  RehearsedCall,
  RehearsedPayment,
  RunEnd,
  RunRecord,
} from '../../src/sandbox/rehearse/record.js'
import { bodyFields, bodyText, fieldAt, type Message, smallestUnits, textsIn, withoutFields } from './fields.js'
import { writtenMessage, writtenPath } from './messages.js'
import type { MatchedCall, ProfiledCall, ProxyProfile } from './profile.js'

/** A call while it happens. */
export interface ProxiedCall {
  readonly id: string
  readonly matched: MatchedCall
  readonly method: string
  readonly fault: string | undefined
  item: string
  payer: string | null
  identifiers: readonly string[]
  asked: bigint | undefined
  statesPrice: boolean
  shownPayments: readonly string[]
  outcome: CallOutcome
  status: number | null
  code: string | undefined
  isKeySpent: boolean
  contradicts: boolean
  request: string
  response: string
}

interface Payment extends RehearsedPayment {
  status: RehearsedPayment['status']
  /** Of the call that made it. */
  readonly identifiers: readonly string[]
  readonly hasId: boolean
}

type Ruling = 'paid' | 'pending' | 'held' | 'refused' | 'reversed'

/**
 * What went through a proxy in one run. Of the service's messages it keeps what the profile names: amounts and outcomes as
 * they are, all else as hashes.
 */
export class ProxyRecord {
  readonly #calls: ProxiedCall[] = []
  readonly #payments = new Map<string, Payment>()
  /** What earlier calls made, by the hash of its id: what they are about. */
  readonly #items = new Map<string, string>()
  /** What its callers sign with. It may be in no log. */
  readonly #secrets = new Set<string>()

  constructor(
    readonly profile: ProxyProfile,
    readonly keepMessages: boolean,
  ) {}

  begin(matched: MatchedCall, method: string, fault: string | undefined): ProxiedCall {
    const call: ProxiedCall = {
      ...{ id: `call_${this.#calls.length + 1}`, matched, method, fault, item: matched.path, payer: null },
      ...{ identifiers: [], asked: undefined, statesPrice: true, shownPayments: [], outcome: 'unknown', status: null },
      ...{ code: undefined, isKeySpent: false, contradicts: false, request: '', response: '' },
    }
    if (this.#calls.length >= MOST_CALLS) return { ...call, matched: { ...matched, call: undefined } }
    this.#calls.push(call)
    return call
  }

  /** The whole request has arrived. */
  sent(call: ProxiedCall, message: Message, path: string): void {
    for (const secret of secretsIn(message.headers)) if (this.#secrets.size < MOST_CALLS) this.#secrets.add(secret)
    if (this.keepMessages) call.request = writtenMessage(`${call.method} ${writtenPath(path)}`, message)
    const { call: described, parts } = call.matched
    if (!described) return
    const fields = bodyFields(message)
    const read = placeReader({ message, fields, parts })
    const keys = Object.entries(described.keys ?? {})
    call.identifiers = keys.flatMap(([name, place]) => {
      const value = read(place)
      return value === undefined ? [] : [`${name}:${hiddenKey(value)}`]
    })
    const payer = firstOf(described.payer, read)
    call.payer = payer === undefined ? null : hiddenKey(payer)
    call.asked = this.#smallest(firstOf(described.amount, read))
    const made = described.of === undefined ? undefined : hiddenKey(parts[described.of] ?? '')
    call.item =
      made === undefined ? itemOf(call.matched, { message, fields, read, path }) : (this.#items.get(made) ?? made)
  }

  /** The service has answered, whether or not its caller sees it. Returns what tells what the caller sees. */
  answered(call: ProxiedCall, status: number, message: Message): () => void {
    const fields = bodyFields(message)
    const { call: described } = call.matched
    const ruling = described && rulingOf(described, status, fields)
    const id = described?.payment === undefined ? undefined : fieldAt(fields, described.payment)
    if (id !== undefined) this.#items.set(hiddenKey(id), call.item)
    const payment = described && ruling ? this.#noted(call, { ruling, id, described, fields }) : undefined
    return () => {
      const known = this.#payments.size > 0 ? textsIn(fields).map(hiddenKey) : []
      call.shownPayments = [...this.#payments.keys()].filter((each) => each === payment || known.includes(each))
      call.status = status
      call.outcome = this.#outcomeOf(status, ruling)
      call.code = ruling === 'paid' || ruling === 'refused' ? undefined : ruling
      const isRefused = call.outcome === 'refused'
      const { spent = [], replayed = '' } = this.profile
      const isReplay = (message.headers[replayed.toLowerCase()] ?? 'false') !== 'false'
      call.isKeySpent =
        (isRefused && isReplay) || spent.some(({ field, is }) => is.includes(fieldAt(fields, field) ?? ''))
      call.contradicts = isRefused && status < 300
      if (this.keepMessages) call.response = writtenMessage(String(status), message)
    }
  }

  /** The caller sees this status, which is not the service's. Null: they see no whole answer. `code`: why. */
  failed(call: ProxiedCall, status: number | null, code?: string): void {
    call.status = status
    call.code = code
  }

  #noted(
    call: ProxiedCall,
    {
      ruling,
      id,
      described,
      fields,
    }: { ruling: Ruling; id: string | undefined; described: ProfiledCall; fields: unknown },
  ): string | undefined {
    const said = described.charged === undefined ? undefined : this.#smallest(fieldAt(fields, described.charged))
    if (said !== undefined && call.asked !== undefined && said > call.asked) call.statesPrice = false
    const known = this.#known(call, id)
    const status = statuses[ruling]
    if (known) {
      // A refusal of a second try says nothing about the first.
      if (status === 'failed' && id === undefined) return undefined
      known.status = status
      return known.id
    }
    // A read tells of payments, and makes none.
    if (call.method === 'GET' || status === 'failed' || status === 'reversed') return undefined
    const made = id === undefined ? `payment:${this.#payments.size + 1}` : hiddenKey(id)
    this.#payments.set(made, {
      ...{ id: made, call: call.id, item: call.item, payer: call.payer, status, identifiers: call.identifiers },
      ...{ amount: String(said ?? call.asked ?? 0n), hasId: id !== undefined },
    })
    return made
  }

  /** The payment with this id. Where one of two answers has no id, the same key says that they tell of one payment. */
  #known({ identifiers }: ProxiedCall, id: string | undefined): Payment | undefined {
    const named = id === undefined ? undefined : this.#payments.get(hiddenKey(id))
    const sameKey = (each: Payment) => each.identifiers.some((key) => identifiers.includes(key))
    return named ?? [...this.#payments.values()].find((each) => (id === undefined || !each.hasId) && sameKey(each))
  }

  #outcomeOf(status: number, ruling: Ruling | undefined): CallOutcome {
    const { retry = [408, 425, 429] } = this.profile
    if (status >= 500 || retry.includes(status)) return 'unknown'
    if (ruling === 'pending') return 'pending'
    return ruling === 'refused' || status >= 400 ? 'refused' : 'done'
  }

  #smallest(text: string | undefined): bigint | undefined {
    return text === undefined ? undefined : smallestUnits(text, this.profile.decimals ?? 0)
  }

  /** What the judge reads. A secret of the service in the output becomes a mark, and is kept nowhere. */
  result({ ended, output }: { readonly ended: RunEnd; readonly output: string }): RunRecord {
    const leaked = [...this.#secrets].filter((secret) => output.includes(secret))
    const hide = (text: string) => withoutTexts(text, leaked)
    const calls = this.#calls.map(asCall).map((call) => withoutSecrets(call, this.#secrets))
    this.#secrets.clear()
    return {
      calls,
      payments: [...this.#payments.values()].map(asPayment),
      deliveries: [],
      ended: ended.result === undefined ? ended : { ...ended, result: hide(ended.result) },
      output: hide(output),
      secrets: leaked.length > 0 ? [HIDDEN] : [],
    }
  }

  /** How a call went, as a run of its own. */
  shown(call: ProxiedCall): Pick<RunRecord, 'calls' | 'payments'> {
    const made = [...this.#payments.values()].filter((each) => each.call === call.id)
    return { calls: [asCall(call)], payments: made.map(asPayment) }
  }
}

/** As many calls as a judge reads. Later ones are passed on, and not recorded. */
const MOST_CALLS = 10_000

const statuses: Readonly<Record<Ruling, RehearsedPayment['status']>> = {
  ...{ paid: 'posted', pending: 'pending', held: 'held', refused: 'failed', reversed: 'reversed' },
}

function asCall({ matched, asked: _, request, response, ...call }: ProxiedCall): RehearsedCall {
  const { operation, path } = matched
  const messages: KeptMessages | undefined = request === '' ? undefined : { request, response }
  return { ...call, operation, path, isSigned: false, shownPrices: {}, ...(messages && { messages }) }
}

const asPayment = ({ identifiers: _, hasId: __, ...payment }: Payment): RehearsedPayment => ({ ...payment })

const withoutTexts = (text: string, hidden: Iterable<string>): string =>
  [...hidden].reduce((shown, each) => shown.replaceAll(each, HIDDEN), text)

/** A service may repeat in its answer what signed the request. */
function withoutSecrets({ messages, ...call }: RehearsedCall, secrets: Iterable<string>): RehearsedCall {
  if (!messages) return call
  const { request, response } = messages
  return { ...call, messages: { request: withoutTexts(request, secrets), response: withoutTexts(response, secrets) } }
}

type ReadPlace = (place: string) => string | undefined

interface Readable {
  readonly message: Message
  readonly fields: unknown
  readonly parts: MatchedCall['parts']
}

function placeReader({ message, fields, parts }: Readable): ReadPlace {
  return (place) => {
    const [, kind, name = ''] = /^(header|path):(.*)$/.exec(place) ?? []
    if (kind === 'path') return parts[name]
    if (kind !== 'header') return fieldAt(fields, place)
    const value = message.headers[name.toLowerCase()]
    return value === undefined ? undefined : String(value)
  }
}

function firstOf(places: readonly string[] | undefined, read: ReadPlace): string | undefined {
  for (const place of places ?? []) {
    const value = read(place)
    if (value !== undefined) return value
  }
  return undefined
}

interface Described {
  readonly message: Message
  readonly fields: unknown
  readonly read: ReadPlace
  readonly path: string
}

/** Where a profile does not name what is bought, all but keys and amounts does. */
function itemOf({ call, path: shown }: MatchedCall, { message, fields, read, path }: Described): string {
  if (call?.item) return hiddenKey(canonicalJson([shown, ...call.item.map((place) => read(place) ?? null)]))
  const aside = [...Object.values(call?.keys ?? {}), ...(call?.amount ?? [])].filter((place) => place.startsWith('/'))
  return hiddenKey(canonicalJson([path, fields === undefined ? textOf(message) : withoutFields(fields, aside)]))
}

/** The text of a body of which nothing is known, but for the boundary of a form with files, which each try has anew. */
function textOf(message: Message): string {
  const [, boundary = '\n'] = /;\s*boundary="?([^\s";]+)/i.exec(message.headers['content-type'] ?? '') ?? []
  return (bodyText(message) ?? message.body?.toString('latin1') ?? '').replaceAll(boundary, '\n')
}

/** What the answer says about a payment. Without rules, an answer that worked is one. */
function rulingOf({ outcome, payment }: ProfiledCall, status: number, fields: unknown): Ruling | undefined {
  if (!outcome) return payment !== undefined && status < 300 ? 'paid' : undefined
  for (const { field, ...rule } of outcome) {
    const value = fieldAt(fields, field)
    if (value === undefined) continue
    for (const ruling of ['paid', 'pending', 'held', 'refused', 'reversed'] as const)
      if (rule[ruling]?.includes(value)) return ruling
  }
  return undefined
}

/** A shorter text may be in any output. */
const SHORTEST_SECRET = 12

function secretsIn(headers: IncomingHttpHeaders): string[] {
  const { authorization = '', cookie = '', 'x-api-key': key = '' } = headers
  const [, scheme = ''] = /^([\w-]+) /.exec(authorization) ?? []
  const credential = authorization.slice(scheme.length).trim()
  const inBasic = /^basic$/i.test(scheme) ? Buffer.from(credential, 'base64').toString().split(':') : []
  const cookies = cookie.split('; ').map((each) => each.replace(/^[^=]*=/, ''))
  return [credential, ...inBasic, ...cookies, key].flat().filter(({ length }) => length >= SHORTEST_SECRET)
}
