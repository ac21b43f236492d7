import { milliseconds } from '../../base/ports.js'
import type { Origin } from '../../http/incoming.js'
import type { Route } from '../../http/route.js'
import type { Effect, EffectKind, Entry, JournalMessage, StorageCalls } from '../onion/entry.js'
import type { KeptMessage } from './kept-message.js'
import { answerPlace, bodyPlace, queryPlace } from './places.js'
import { redact } from './redact.js'

/** Roughly what an entry needs besides its texts. */
const ENTRY_BYTES = 600

const NOTHING: JournalMessage = { headers: {}, body: null }

/**
 * An entry of the journal, which fills while its work runs. A journal has thousands, so each is few objects: what is
 * shown is made when it is read.
 */
export class KeptEntry implements Entry {
  readonly #atMs: number
  readonly #began = milliseconds()
  #transactions = 0
  #reads = 0
  #writes = 0
  #retries = 0
  /** The kind and the id of each effect, in turn. */
  #effects: (EffectKind | Effect['id'])[] = []
  ms: number | null = null
  origin: Origin = 'in_process'
  operation_id: string | null = null
  method = ''
  status: number | null = null
  code?: string
  principal: string | null = null
  client_address?: string
  /** The operation that it called. */
  route: Route | undefined
  sent: KeptMessage | undefined
  answered: KeptMessage | undefined
  caused_by?: string
  trace?: string
  fault?: string
  /** The digest of the token in the path, by which the state knows what it names. Never shown. */
  tokenDigest?: string
  /** The hash of a delegate in the path. Never shown. */
  delegateInPath?: string
  /** The path as it was sent. Undefined once its secrets are hidden. */
  #sentPath: string | undefined
  #path = ''
  /** What decided about a refusal, as JSON. */
  #facts: string | undefined
  bytes = 0
  /** The last commit when it ended. Undefined while it runs, and without a history. */
  after: number | undefined

  constructor(
    readonly id: string,
    /** It grows by one with each entry. */
    readonly number: number,
    atMs: number,
    /** The last commit when it began. */
    readonly before: number | undefined,
  ) {
    this.#atMs = atMs
  }

  get at(): string {
    return new Date(this.#atMs).toISOString()
  }

  /** The path and the query without their secrets, which are hidden when they are first read. */
  get path(): string {
    if (this.#sentPath !== undefined) this.#path = redact(this.#sentPath, queryPlace(this.route))
    this.#sentPath = undefined
    return this.#path
  }

  set path(sent: string) {
    this.#sentPath = sent
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
    this.#facts = JSON.stringify(facts)
  }

  /** What decided about a refusal, without its secrets, for its explanation. */
  get facts(): Readonly<Record<string, unknown>> {
    return JSON.parse(redact(this.#facts ?? '{}'))
  }

  get storage(): StorageCalls {
    return { transactions: this.#transactions, reads: this.#reads, writes: this.#writes, retries: this.#retries }
  }

  get caused(): readonly Effect[] {
    const effects: Effect[] = []
    // Kinds are at even places.
    for (let at = 0; at < this.#effects.length; at += 2)
      effects.push({ kind: this.#effects[at] as EffectKind, id: this.#effects[at + 1] ?? '' })
    return effects
  }

  hasCaused({ kind, id }: Effect): boolean {
    for (let at = 0; at < this.#effects.length; at += 2)
      if (this.#effects[at] === kind && this.#effects[at + 1] === id) return true
    return false
  }

  cause({ kind, id }: Effect): void {
    this.#effects.push(kind, id)
  }

  /** Its work has ended. What stays in memory is as small as it can be: a list that grew has spare places. */
  stop(): void {
    this.#effects = this.#effects.slice()
    this.ms = Math.round((milliseconds() - this.#began) * 1000) / 1000
  }

  /** Counts a transaction. */
  count({ reads, writes, retries }: Omit<StorageCalls, 'transactions'>): void {
    this.#transactions++
    this.#reads += reads
    this.#writes += writes
    this.#retries += retries
  }

  /** Its size in bytes, roughly, now that it has ended. */
  measure(): number {
    const named = [this.method, this.principal, this.client_address, this.code, this.caused_by]
    let characters = (this.#sentPath ?? this.#path).length + (this.sent?.length ?? 0) + (this.answered?.length ?? 0)
    characters += this.#facts?.length ?? 0
    for (const text of named) characters += text?.length ?? 0
    this.bytes = ENTRY_BYTES + 2 * characters + 16 * this.#effects.length
    return this.bytes
  }
}

/** An entry as it is shown: plain JSON. */
export const showEntry = (entry: Entry): Entry => ({
  id: entry.id,
  at: entry.at,
  ms: entry.ms,
  origin: entry.origin,
  operation_id: entry.operation_id,
  method: entry.method,
  path: entry.path,
  status: entry.status,
  ...(entry.code !== undefined && { code: entry.code }),
  principal: entry.principal,
  ...(entry.client_address !== undefined && { client_address: entry.client_address }),
  request: entry.request,
  response: entry.response,
  storage: { ...entry.storage },
  caused: [...entry.caused],
  ...(entry.caused_by !== undefined && { caused_by: entry.caused_by }),
  ...(entry.trace !== undefined && { trace: entry.trace }),
  ...(entry.fault !== undefined && { fault: entry.fault }),
})
