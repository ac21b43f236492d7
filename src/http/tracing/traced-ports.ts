import type { Upstream, UpstreamRequest } from '../../base/ports.js'
import { Problem } from '../../base/problem.js'
import type { NewSpan, SpanAttributes, Tracer, TraceSpan } from '../../base/tracer.js'
import { bothObservers, OverStorage, type ServiceStorage, type StorageObserver } from '../../storage/service-storage.js'
import type { Reader } from '../../storage/storage.js'
import type { RowChange, Transaction } from '../../storage/transaction.js'
import type { ServiceContext } from '../context.js'

/** What a service calls, each call a span within `parent`. `onCommit` gets what a write changed. */
export class TracedPorts {
  /** Whether the parent has ended. A stream that goes on reads again and again, and nobody wants a span for each time. */
  isEnded = false

  constructor(
    readonly tracer: Tracer,
    readonly parent: TraceSpan,
    readonly onCommit: (changes: readonly RowChange[]) => void,
  ) {}

  over(service: ServiceContext): ServiceContext {
    const { storage, upstream, mailer, push, cards } = service
    return {
      ...service,
      storage: new TracedStorage(storage, this),
      upstream: { fetch: (request) => this.#fetch(upstream, request) },
      mailer: { send: (mail) => this.#call('send mail', () => mailer.send(mail)) },
      push: { send: (message) => this.#call('send push', () => push.send(message)) },
      cards: cards && {
        ...(cards.testMethods && { testMethods: cards.testMethods }),
        charge: (charge) => this.#call('charge card', () => cards.charge(charge)),
        refund: (refund) => this.#call('refund card', () => cards.refund(refund)),
        save: (card) => this.#call('save card', () => cards.save(card)),
      },
    }
  }

  /** Paths and queries of sellers may hold secrets, so only the host is shown. */
  #fetch(upstream: Upstream, request: UpstreamRequest): Promise<Response> {
    const { method, url } = request
    return this.span(
      {
        name: method,
        kind: 'client',
        attributes: { 'http.request.method': method, ...originAttributes(new URL(url)) },
      },
      async (span) => {
        const response = await upstream.fetch(request)
        span.set({ 'http.response.status_code': response.status })
        return response
      },
      ({ status }) => (status >= 400 ? String(status) : undefined),
    )
  }

  #call<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.span({ name, kind: 'client' }, work)
  }

  /** Does work in a span. `failureOf`: how a value counts as a failure too. */
  async span<T>(
    span: Omit<NewSpan, 'parent'>,
    work: (span: TraceSpan) => Promise<T>,
    failureOf: (value: T) => string | undefined = () => undefined,
  ): Promise<T> {
    const begun = this.tracer.start({ ...span, parent: this.parent })
    try {
      const value = await begun.run(() => work(begun))
      begun.end(failureOf(value))
      return value
    } catch (error) {
      endFailed(begun, error)
      throw error
    }
  }
}

export const originAttributes = ({ protocol, hostname, port }: URL): SpanAttributes => ({
  'url.scheme': protocol.slice(0, -1),
  'server.address': hostname,
  'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
})

/** A refusal is no failure. Messages of errors may hold secrets, so only the type is shown. */
function endFailed(span: TraceSpan, error: unknown): void {
  if (!(error instanceof Problem)) return span.end(error instanceof Error ? error.name : 'error')
  span.set({ 'farthing.code': error.code })
  span.end(error.status >= 500 ? error.code : undefined)
}

class TracedStorage extends OverStorage implements ServiceStorage {
  declare protected readonly storage: ServiceStorage

  constructor(
    storage: ServiceStorage,
    readonly ports: TracedPorts,
  ) {
    super(storage, {})
  }

  override read<T>(body: (tx: Reader) => Promise<T>, observer?: StorageObserver): Promise<T> {
    const run = () => this.storage.read(body, observer)
    return this.ports.isEnded ? run() : this.ports.span(this.#named('storage read'), run)
  }

  override write<T>(body: (tx: Transaction) => Promise<T>, observer?: StorageObserver): Promise<T> {
    return this.ports.span(this.#named('storage write'), async (span) => {
      let runs = 0
      let puts: readonly RowChange[] = []
      const own: StorageObserver = { hasWritten: (commit) => void (puts = commit.rowChanges.filter(({ is }) => is)) }
      const counted = (tx: Transaction) => {
        runs++
        return body(tx)
      }
      try {
        const value = await this.storage.write(counted, observer ? bothObservers(observer, own) : own)
        this.ports.onCommit(puts)
        return value
      } finally {
        span.set({ 'farthing.storage.runs': runs, 'farthing.storage.puts': puts.length })
      }
    })
  }

  #named(name: string) {
    return { name, kind: 'internal', attributes: { 'farthing.storage': this.name } } as const
  }
}
