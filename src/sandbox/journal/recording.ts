import type { Effect } from '../../base/journal.js'
import type {
  CardCharge,
  CardRefund,
  Cards,
  CardToSave,
  ChargeResult,
  RefundResult,
  SaveResult,
  TestPaymentMethod,
  Upstream,
  UpstreamRequest,
} from '../../base/ports.js'
import type { ServiceContext } from '../../http/context.js'
import type { Recording } from '../../http/recording.js'
import { RecordedTransaction } from '../../storage/recorded-transaction.js'
import { OutcomeUnknown, type Storage } from '../../storage/storage.js'
import { storageOver } from '../../storage/storage-over.js'
import { effectsOf } from './causes.js'
import type { Journal } from './journal.js'
import type { KeptEntry } from './kept-entry.js'

/** Fills an entry while its work runs. */
export class EntryRecording implements Recording {
  constructor(
    readonly entry: KeptEntry,
    readonly journal: Journal,
  ) {}

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

  /** Counts a transaction that has landed, or of which nobody knows. */
  protected keep(tx: RecordedTransaction, runs: number): void {
    this.entry.count(tx, runs)
    if (tx.puts.length > 0) for (const effect of effectsOf(tx.puts)) this.cause(effect)
  }

  noteFault(faultId: string): void {
    this.entry.fault = faultId
  }

  over(service: ServiceContext): ServiceContext {
    const { faults } = service
    const faulty = faults?.engine && faults.over((faultId) => this.noteFault(faultId))
    const { storage, upstream, cards } = faulty ?? service
    return {
      ...(faulty ? { ...service, ...faulty } : service),
      storage: this.#storageOver(storage),
      upstream: new RecordedUpstream(upstream, this),
      cards: cards && new RecordedCards(cards, this),
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

  #storageOver(storage: Storage): Storage {
    return storageOver(storage, {
      read: async (body) => {
        let runs = 0
        let reads = 0
        try {
          return await storage.read((tx) => {
            runs++
            reads = 0
            return body({
              get: (from, id) => {
                reads++
                return tx.get(from, id)
              },
              getMany: (from, ids) => {
                reads++
                return tx.getMany(from, ids)
              },
              find: (from, query) => {
                reads++
                return tx.find(from, query)
              },
            })
          })
        } finally {
          this.entry.count({ reads, writes: 0 }, runs)
        }
      },
      write: async (body) => {
        let runs = 0
        let last: RecordedTransaction | undefined
        const written = storage.write((tx) => {
          runs++
          last = new RecordedTransaction(tx)
          return body(last)
        })
        try {
          const value = await written
          if (last) this.keep(last, runs)
          return value
        } catch (error) {
          if (last && error instanceof OutcomeUnknown) this.keep(last, runs)
          throw error
        }
      },
    })
  }
}

// Classes, because each request makes one of each, and most call none.

class RecordedUpstream implements Upstream {
  constructor(
    readonly upstream: Upstream,
    readonly recording: EntryRecording,
  ) {}

  fetch(request: UpstreamRequest): Promise<Response> {
    this.recording.cause({ kind: 'upstream', id: `${request.method} ${request.shownUrl}` })
    return this.upstream.fetch(request)
  }
}

class RecordedCards implements Cards {
  declare readonly testMethods?: readonly TestPaymentMethod[]

  constructor(
    readonly cards: Cards,
    readonly recording: EntryRecording,
  ) {
    if (cards.testMethods) this.testMethods = cards.testMethods
  }

  save(card: CardToSave): Promise<SaveResult> {
    this.recording.cause({ kind: 'card', id: card.id })
    return this.cards.save(card)
  }

  charge(charge: CardCharge): Promise<ChargeResult> {
    return this.recording.charged(this.cards.charge(charge))
  }

  refund(refund: CardRefund): Promise<RefundResult> {
    return this.cards.refund(refund)
  }
}
