import type { Cards, Mailer, Push, Upstream } from '../../base/ports.js'
import { Problem } from '../../base/problem.js'
import type { NewSpan, Tracer, TraceSpan } from '../../base/tracer.js'
import { RecordedTransaction } from '../../storage/recorded-transaction.js'
import type { Row, Storage } from '../../storage/storage.js'
import { storageOver } from '../../storage/storage-over.js'
import type { ServiceContext } from '../context.js'

/** What a service calls, each call a span within `parent`. `onCommit` gets the rows that a write put. */
export class TracedPorts {
  /** Whether the parent has ended. A stream that goes on reads again and again, and nobody wants a span for each time. */
  isEnded = false

  constructor(
    readonly tracer: Tracer,
    readonly parent: TraceSpan,
    readonly onCommit: (puts: readonly (string | Row)[]) => void,
  ) {}

  over(service: ServiceContext): ServiceContext {
    const { storage, upstream, mailer, push, cards } = service
    return {
      ...service,
      storage: this.#storage(storage),
      upstream: this.#upstream(upstream),
      mailer: this.#mailer(mailer),
      push: this.#push(push),
      cards: cards && this.#cards(cards),
    }
  }

  #storage(storage: Storage): Storage {
    const attributes = { 'farthing.storage': storage.name }
    return storageOver(storage, {
      read: (body) =>
        this.isEnded
          ? storage.read(body)
          : this.#span({ name: 'storage read', kind: 'internal', attributes }, () => storage.read(body)),
      write: (body) =>
        this.#span({ name: 'storage write', kind: 'internal', attributes }, async (span) => {
          let runs = 0
          let last: RecordedTransaction | undefined
          try {
            const value = await storage.write((tx) => {
              runs++
              last = new RecordedTransaction(tx)
              return body(last)
            })
            if (last) this.onCommit(last.puts)
            return value
          } finally {
            span.set({ 'farthing.storage.runs': runs, 'farthing.storage.puts': (last?.puts.length ?? 0) / 2 })
          }
        }),
    })
  }

  /** Paths and queries of sellers may hold secrets, so only the host is shown. */
  #upstream(upstream: Upstream): Upstream {
    return {
      fetch: (request) => {
        const { protocol, hostname, port } = new URL(request.url)
        const attributes = {
          'http.request.method': request.method,
          'url.scheme': protocol.slice(0, -1),
          'server.address': hostname,
          'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
        }
        return this.#span(
          { name: request.method, kind: 'client', attributes },
          async (span) => {
            const response = await upstream.fetch(request)
            span.set({ 'http.response.status_code': response.status })
            return response
          },
          ({ status }) => (status >= 400 ? String(status) : undefined),
        )
      },
    }
  }

  #mailer(mailer: Mailer): Mailer {
    return { send: (mail) => this.#call('send mail', () => mailer.send(mail)) }
  }

  #push(push: Push): Push {
    return { send: (message) => this.#call('send push', () => push.send(message)) }
  }

  #cards(cards: Cards): Cards {
    return {
      ...(cards.testMethods && { testMethods: cards.testMethods }),
      charge: (charge) => this.#call('charge card', () => cards.charge(charge)),
      refund: (refund) => this.#call('refund card', () => cards.refund(refund)),
      save: (card) => this.#call('save card', () => cards.save(card)),
    }
  }

  #call<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.#span({ name, kind: 'client' }, work)
  }

  /** Does work in a span. `failureOf`: how a value counts as a failure too. */
  async #span<T>(
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

/** A refusal is no failure. Messages of errors may hold secrets, so only the type is shown. */
function endFailed(span: TraceSpan, error: unknown): void {
  if (!(error instanceof Problem)) return span.end(error instanceof Error ? error.name : 'error')
  span.set({ 'farthing.code': error.code })
  span.end(error.status >= 500 ? error.code : undefined)
}
