import { withoutUndefined } from '../../base/json.js'
import { ownCopy } from '../../base/memo.js'
import type { SchemaPlace } from '../../http/fields/marks.js'
import type { Origin, RequestHeaders } from '../../http/incoming.js'
import type { Route } from '../../http/route.js'
import type { Effect, EffectKind, Entry, JournalMessage, StorageCalls } from '../onion/entry.js'
import { answerPlace, bodyPlace, queryPlace } from './marked-names.js'
import { redact, redactHeader } from './redact.js'

/** Roughly what an entry needs besides its texts. */
const ENTRY_BYTES = 600
const NOTHING: JournalMessage = { headers: {}, body: null }
const NO_EFFECTS: (EffectKind | Effect['id'])[] = []

/**
 * An entry of the journal, which fills while its work runs. A journal has thousands, so each is few objects: what is
 * shown is made when it is read.
 */
export class KeptEntry implements Entry {
  // Declared, because fields with a value of their own cost each entry a call more.
  /** What its id begins with. The id is made when it is read, so that it stays in no memory. */
  declare private readonly prefix: string
  /** It grows by one with each entry. */
  declare readonly number: number
  /** The last commit when it began. */
  declare readonly before: number | undefined
  declare private readonly atMs: number
  declare private transactions: number
  declare private reads: number
  declare private writes: number
  declare private retries: number
  /** The kind and the id of each effect, in turn. */
  declare private effects: (EffectKind | Effect['id'])[]
  declare ms: number | null
  declare origin: Origin
  declare operation_id: string | null
  declare method: string
  declare status: number | null
  declare code?: string
  declare principal: string | null
  declare client_address?: string
  declare route: Route | undefined
  declare sent: KeptMessage | undefined
  declare answered: KeptMessage | undefined
  declare caused_by?: string
  declare trace?: string
  declare fault?: string
  /** The digest of the token in the path, by which the state knows what it names. Never shown. */
  declare tokenDigest?: string
  /** The hash of a delegate in the path. Never shown. */
  declare delegateInPath?: string
  /** The path as it was sent. Undefined once its secrets are hidden. */
  declare sentPath: string | undefined
  declare private shownPath: string
  /** What decided about a refusal, as JSON. */
  declare private factsText: string | undefined
  declare bytes: number
  /** The last commit when it ended. Undefined while it runs, and without a history. */
  declare after: number | undefined

  constructor(prefix: string, number: number, atMs: number, before: number | undefined) {
    this.prefix = prefix
    this.number = number
    this.before = before
    this.atMs = atMs
    this.transactions = 0
    this.reads = 0
    this.writes = 0
    this.retries = 0
    this.effects = NO_EFFECTS
    this.ms = null
    this.origin = 'in_process'
    this.operation_id = null
    this.method = ''
    this.status = null
    this.principal = null
    this.route = undefined
    this.sent = undefined
    this.answered = undefined
    this.sentPath = undefined
    this.shownPath = ''
    this.factsText = undefined
    this.bytes = 0
    this.after = undefined
  }

  get id(): string {
    return this.prefix + String(this.number).padStart(7, '0')
  }

  get at(): string {
    return new Date(this.atMs).toISOString()
  }

  /** The path and the query without their secrets, which are hidden when they are first read. */
  get path(): string {
    if (this.sentPath !== undefined) this.shownPath = redact(this.sentPath, queryPlace(this.route))
    this.sentPath = undefined
    return this.shownPath
  }

  get request(): JournalMessage {
    return this.sent?.show(bodyPlace(this.route)) ?? NOTHING
  }

  get response(): JournalMessage {
    return this.answered?.show(answerPlace(this.route, this.status)) ?? NOTHING
  }

  /** The delegate that the path or a field names. Never shown: whoever knows it may spend. */
  get delegate(): string | undefined {
    return this.delegateInPath ?? (this.request && this.sent?.delegate)
  }

  keepFacts(facts: object): void {
    this.factsText = JSON.stringify(facts)
  }

  /** What decided about a refusal, without its secrets, for its explanation. */
  get facts(): Readonly<Record<string, unknown>> {
    return JSON.parse(redact(this.factsText ?? '{}'))
  }

  get storage(): StorageCalls {
    return { transactions: this.transactions, reads: this.reads, writes: this.writes, retries: this.retries }
  }

  get caused(): readonly Effect[] {
    const effects: Effect[] = []
    // Kinds are at even places.
    for (let at = 0; at < this.effects.length; at += 2)
      effects.push({ kind: this.effects[at] as EffectKind, id: this.effects[at + 1] ?? '' })
    return effects
  }

  hasCaused({ kind, id }: Effect): boolean {
    for (let at = 0; at < this.effects.length; at += 2)
      if (this.effects[at] === kind && this.effects[at + 1] === id) return true
    return false
  }

  cause({ kind, id }: Effect): void {
    if (this.effects === NO_EFFECTS) this.effects = [kind, id]
    else this.effects.push(kind, id)
  }

  /** Its work has ended, after so many milliseconds. What stays in memory is as small as it can be: a list that grew has spare places. */
  stop(ms: number): void {
    if (this.effects.length > 2) this.effects = this.effects.slice()
    this.ms = Math.round(ms * 1000) / 1000
  }

  count({ reads, writes, retries }: Omit<StorageCalls, 'transactions'>): void {
    this.transactions++
    this.reads += reads
    this.writes += writes
    this.retries += retries
  }

  measure(): number {
    const { sent, answered, method, principal, client_address, code, caused_by, effects } = this
    let characters = (this.sentPath ?? this.shownPath).length + (sent?.length ?? 0) + (answered?.length ?? 0)
    characters += (this.factsText?.length ?? 0) + method.length + (principal?.length ?? 0)
    characters += (client_address?.length ?? 0) + (code?.length ?? 0) + (caused_by?.length ?? 0)
    this.bytes = ENTRY_BYTES + 2 * characters + 16 * effects.length
    return this.bytes
  }
}

/** An entry as it is shown: plain JSON. */
export function showEntry(entry: Entry): Entry {
  const { id, at, ms, origin, operation_id, method, path, status, code, principal, client_address } = entry
  const { request, response, storage, caused, caused_by, trace, fault } = entry
  const call = { id, at, ms, origin, operation_id, method, path, status, code, principal, client_address }
  return withoutUndefined({ ...call, request, response, storage, caused, caused_by, trace, fault })
}

/** The longest text of a body that is kept, in characters. */
const LONGEST_BODY = 16_384

/** A body as it was sent or answered. */
export type SentBody = string | Uint8Array | ReadableStream<Uint8Array> | null | undefined

/** Headers that nobody changes any more. */
type SentHeaders = RequestHeaders | Readonly<Record<string, string>>

/**
 * One side of an exchange, as it was. Few are ever looked at, so they are written down, and their secrets hidden, when they
 * are. Fields are declared, because each request makes two, and fields with a value of their own cost a call more.
 */
export class KeptMessage {
  /** How many characters it has. */
  declare readonly length: number
  declare private headers: SentHeaders
  /** One character more than it may have, if it was cut. */
  declare private text: string | null
  declare private shown: JournalMessage | undefined
  /** The delegate that its body names, which is a secret. Known when it was shown. */
  declare delegate: string | undefined

  constructor(headers: SentHeaders, body: SentBody) {
    const text = typeof body === 'string' ? body || null : body ? bodyText(body) : null
    this.text = text !== null && text.length > LONGEST_BODY ? ownCopy(text.slice(0, LONGEST_BODY + 1)) : text
    this.headers = headers
    this.length = lengthOf(headers) + (this.text?.length ?? 0)
    this.shown = undefined
    this.delegate = undefined
  }

  /** Without its secrets, which its schemas mark. From the first time on, only this is kept. */
  show(place: SchemaPlace = []): JournalMessage {
    if (!this.shown) {
      const { headers, text } = this
      this.delegate = DELEGATE.exec(text ?? '')?.[1]
      this.shown = { headers: shownHeaders(headers), ...shownBody(text, place) }
      this.headers = {}
      this.text = null
    }
    return this.shown
  }
}

const DELEGATE = /"persona_delegate"\s*:\s*"(41[0-9a-f]{64})"/

function shownBody(text: string | null, place: SchemaPlace): Pick<JournalMessage, 'body' | 'cut'> {
  if (text === null) return { body: null }
  if (text.length <= LONGEST_BODY) return { body: redact(text, place) }
  return { body: redact(wholePart(text.slice(0, LONGEST_BODY)), place), cut: true }
}

/** A text that was cut, without its last part: a secret that the cut divides would not be recognized. */
function wholePart(text: string): string {
  let end = text.length
  while (end > 0 && !',{[&;"'.includes(text[end - 1] ?? '')) end--
  return text.slice(0, end)
}

const isReader = (headers: SentHeaders): headers is RequestHeaders => typeof headers.get === 'function'

function lengthOf(headers: SentHeaders): number {
  let length = 0
  if (isReader(headers)) for (const name of headers.keys()) length += name.length + (headers.get(name)?.length ?? 0)
  else for (const name in headers) length += name.length + (headers[name]?.length ?? 0)
  return length
}

function shownHeaders(headers: SentHeaders): JournalMessage['headers'] {
  const shown: Record<string, string> = {}
  for (const name of isReader(headers) ? headers.keys() : Object.keys(headers)) {
    const value = isReader(headers) ? headers.get(name) : headers[name]
    if (typeof value === 'string') shown[name] = redactHeader(name, value)
  }
  return shown
}

const utf8 = new TextDecoder()

/** Streams and empty bodies have none. */
function bodyText(body: Uint8Array | ReadableStream): string | null {
  if (body instanceof ReadableStream || body.length === 0) return null
  return utf8.decode(body.subarray(0, LONGEST_BODY * 4 + 4))
}
