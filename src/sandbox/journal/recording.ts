import { LimitedMap } from '../../base/memo.js'
import { PAGE_CALL } from '../../base/page-call.js'
import { type Cards, milliseconds, type Upstream } from '../../base/ports.js'
import { digest } from '../../base/secrets.js'
import { principalName } from '../../http/caller.js'
import type { ServiceContext } from '../../http/context.js'
import type { Incoming, Origin } from '../../http/incoming.js'
import type { BackgroundWork, Recording, RequestRecording, WorkRecording } from '../../http/recorder.js'
import type { RenderedAnswer } from '../../http/rendered-answer.js'
import { ObservedStorage, type StorageObserver } from '../../storage/service-storage.js'
import type { Row } from '../../storage/storage.js'
import type { CommitRecord, RowChange } from '../../storage/transaction.js'
import { messageOf } from '../../storage/unknown.js'
import type { Effect } from '../onion/entry.js'
import { portsWithin } from '../onion/fault.js'
import type { Journal } from './journal.js'
import { type KeptEntry, KeptMessage } from './kept-entry.js'

/** Fills an entry while its work runs. */
export class EntryRecording implements Recording, StorageObserver {
  declare readonly observer: StorageObserver
  declare readonly entry: KeptEntry
  declare readonly journal: Journal

  constructor(entry: KeptEntry, journal: Journal) {
    this.observer = this
    this.entry = entry
    this.journal = journal
  }

  get id(): string {
    return this.entry.id
  }

  cause(effect: Effect): void {
    const { kind, id } = effect
    if (kind !== 'upstream' && this.entry.hasCaused(effect)) return
    this.entry.cause(effect)
    // Only these lead to entries of their own.
    if (kind === 'timer') this.journal.causes.note(`timer:${id}`, this.id)
    else if (kind !== 'movement' && kind !== 'event' && kind !== 'upstream' && kind !== 'entry')
      this.journal.causes.note(`delivery:${id}`, this.id)
  }

  hasRead(reads: number, retries: number): void {
    this.entry.count({ reads, writes: 0, retries })
  }

  hasWritten(commit: CommitRecord): void {
    this.entry.count(commit)
    if (commit.writes > 0) for (const effect of effectsOf(commit.rowChanges)) this.cause(effect)
  }

  noteFault(faultId: string): void {
    this.entry.fault = faultId
  }

  over(service: ServiceContext): ServiceContext {
    const { faults } = this.journal
    const faulty = faults?.engine && faults.over((faultId) => this.noteFault(faultId))
    const { upstream, cards } = faulty ?? service
    const recording = this
    return {
      ...service,
      ...faulty,
      storage: new ObservedStorage(service.storage, this),
      // Most requests call none.
      get upstream() {
        return recordedUpstream(upstream, recording)
      },
      get cards() {
        return cards && recordedCards(cards, recording)
      },
    }
  }

  /** Waits for a charge. The request that waits for it is answered by its fault too. */
  async charged<T>(charge: Promise<T>): Promise<T> {
    try {
      return await charge
    } finally {
      const { caused_by, fault } = this.entry
      const waiting = caused_by === undefined ? undefined : this.journal.entry(caused_by)
      if (fault !== undefined && waiting?.ms === null) waiting.fault ??= fault
    }
  }
}

/** Fills the entry of a request. */
export class RecordedRequest extends EntryRecording implements RequestRecording {
  declare private body: Uint8Array | string | undefined

  constructor(entry: KeptEntry, incoming: Incoming, journal: Journal) {
    super(entry, journal)
    this.body = undefined
    const { request, path, url, source, headers } = incoming
    entry.origin = originOf(incoming)
    if (incoming.clientAddress !== undefined) entry.client_address = incoming.clientAddress
    if (source.causedBy !== undefined) entry.caused_by = source.causedBy
    entry.method = request.method
    const query = url.indexOf('?')
    entry.sentPath = query < 0 ? path : path + url.slice(query).replace(/#.*/, '')
    const parent = headers.get('traceparent')
    const trace = parent === null ? undefined : TRACEPARENT.exec(parent)?.[1]
    if (trace !== undefined) entry.trace = trace
  }

  takeBody(body: Uint8Array | string): void {
    this.body = body
  }

  end(incoming: Incoming, answer: RenderedAnswer | undefined): void {
    const { entry } = this
    const { endpoint, headers, params, source } = incoming
    entry.route = endpoint?.route
    entry.operation_id = endpoint?.route.id ?? null
    if (params.token !== undefined) entry.tokenDigest = digest(params.token)
    if (params.delegate !== undefined && /^41[0-9a-f]{64}$/.test(params.delegate))
      entry.delegateInPath = params.delegate
    entry.principal = principalName(incoming.principal)
    // Who sent a `Request` may change its headers later.
    entry.sent = new KeptMessage(headers instanceof Headers ? Object.fromEntries(headers) : headers, this.body)
    if (answer) this.#keepAnswer(answer)
    if (source.causedBy !== undefined) this.journal.entry(source.causedBy)?.cause({ kind: 'entry', id: this.id })
    const key = headers.get('idempotency-key')
    if (key !== null) this.#linkRetry(key, incoming.path, answer)
    entry.stop(incoming.ms)
    this.journal.ended(entry)
  }

  #keepAnswer({ status, headers, body, facts }: RenderedAnswer): void {
    const { entry } = this
    entry.status = status
    if (facts) entry.keepFacts(facts)
    // Pages, files and streams are not kept.
    const isKept = headers['content-type']?.includes('json') ?? true
    entry.answered = new KeptMessage(headers, isKept ? body : null)
    if (status < 400 || typeof body !== 'string') return
    const [, code] = /"code":"(\w+)"/.exec(body) ?? []
    if (code !== undefined) entry.code = code
  }

  /** The answer that a key repeats comes from an earlier entry. */
  #linkRetry(key: string, path: string, answer: RenderedAnswer | undefined): void {
    const { causes } = this.journal
    const given = `${this.entry.principal}:${this.entry.method}:${path}:${key}`
    // Its parts are as long as a caller likes, and outside the bytes of the journal.
    const thing = `key:${given.length > LONGEST_CAUSE ? digest(given) : given}`
    const first = causes.of(thing)
    if (first === undefined) causes.note(thing, this.id)
    else if (answer?.headers['idempotent-replayed'] !== undefined) this.entry.caused_by = first
  }
}

const LONGEST_CAUSE = 256
const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/

function originOf({ source, path, headers }: Incoming): Origin {
  if (headers.has(PAGE_CALL)) return 'page'
  if (path.includes('/mcp') && /^(\/_sandbox)?\/mcp(\/|$)/.test(path)) return 'mcp'
  return source.origin ?? (source.peerAddress === undefined ? 'in_process' : 'http')
}

/** Fills the entry of a timer or a delivery. */
export class RecordedWork extends EntryRecording implements WorkRecording {
  readonly #began = milliseconds()

  constructor(
    entry: KeptEntry,
    readonly work: BackgroundWork,
    journal: Journal,
  ) {
    super(entry, journal)
    const { origin, kind, id } = work
    entry.origin = origin
    entry.operation_id = kind
    entry.method = origin === 'timer' ? 'RUN' : 'SEND'
    entry.sentPath = `${origin === 'timer' ? 'timers' : 'outbox'}/${id}`
    const cause = journal.causes.of(`${origin}:${id}`)
    if (cause === undefined) return
    entry.caused_by = cause
    journal.entry(cause)?.cause({ kind: 'entry', id: entry.id })
  }

  override over(service: ServiceContext): ServiceContext {
    const own = super.over(service)
    const { work } = this
    if (!work.onPort) return own
    const { cards, upstream } = own
    const called = <T>(run: () => Promise<T>): Promise<T> => {
      const answer = run()
      work.onPort?.()
      return answer
    }
    const ports = portsWithin(
      own,
      (_port, run) => called(run),
      (request) => called(() => upstream.fetch(request)),
    )
    return { ...own, ...ports, cards: ports.cards && cards && { ...ports.cards, save: (card) => cards.save(card) } }
  }

  /** The message that it delivers is no effect of it, though its row changes. */
  override cause(effect: Effect): void {
    const isOwn = this.work.origin === 'delivery' && effect.id === this.work.id && !OTHER_ROWS.has(effect.kind)
    if (!isOwn) super.cause(effect)
  }

  end({ written, failure }: Parameters<WorkRecording['end']>[0]): void {
    const { entry } = this
    if (written && failure === undefined) this.hasWritten(written)
    if (failure !== undefined) {
      entry.code = 'failed'
      entry.answered = new KeptMessage({}, messageOf(failure))
    }
    entry.stop(milliseconds() - this.#began)
    this.journal.ended(entry)
  }
}

/** Kinds of effects that are no rows of the outbox. */
const OTHER_ROWS: ReadonlySet<Effect['kind']> = new Set(['movement', 'event', 'timer', 'upstream', 'entry'])

/** Which entry set a timer, put a message into the outbox, or used an Idempotency-Key first. */
export class CauseIndex {
  readonly #entries: LimitedMap<string, string>

  constructor(most: number) {
    this.#entries = new LimitedMap(most)
  }

  /** Remembers the entry that caused something. After a reset, ids begin again, so the last one counts. */
  note = (thing: string, entryId: string): void => void this.#entries.set(thing, entryId)
  of = (thing: string): string | undefined => this.#entries.get(thing)
}

const messageKinds: Readonly<Record<string, Effect['kind']>> = {
  mail: 'mail',
  push: 'push',
  card: 'card',
  refund: 'card',
  webhook: 'webhook',
}

/** Collections whose new rows are effects, with the kind of each row. */
const effectOf: Readonly<Record<string, Effect['kind'] | ((row: Row) => Effect['kind'] | undefined)>> = {
  movements: 'movement',
  events: 'event',
  timers: 'timer',
  outbox: (row) => ('kind' in row ? messageKinds[String(row.kind)] : undefined),
}

/** What these changes of a transaction caused. */
export function effectsOf(changes: readonly RowChange[]): Effect[] {
  const effects: Effect[] = []
  for (const { collection, id, is } of changes) {
    if (!is) continue
    const effect = effectOf[collection.name]
    const kind = typeof effect === 'function' ? effect(is) : effect
    if (kind) effects.push({ kind, id })
  }
  return effects
}

const recordedUpstream = (upstream: Upstream, recording: EntryRecording): Upstream => ({
  fetch(request) {
    recording.cause({ kind: 'upstream', id: `${request.method} ${request.shownUrl}` })
    return upstream.fetch(request)
  },
})

const recordedCards = (cards: Cards, recording: EntryRecording): Cards => ({
  ...(cards.testMethods && { testMethods: cards.testMethods }),
  save(card) {
    recording.cause({ kind: 'card', id: card.id })
    return cards.save(card)
  },
  charge: (charge) => recording.charged(cards.charge(charge)),
  refund: (refund) => cards.refund(refund),
})
