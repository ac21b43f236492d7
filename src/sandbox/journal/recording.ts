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
import type { Recording } from '../../http/recorder.js'
import { ObservedStorage, type StorageObserver } from '../../storage/service-storage.js'
import type { CommitRecord } from '../../storage/transaction.js'
import type { Effect } from '../onion/entry.js'
import { effectsOf } from './causes.js'
import type { Journal } from './journal.js'
import type { KeptEntry } from './kept-entry.js'

/** Fills an entry while its work runs. */
export class EntryRecording implements Recording, StorageObserver {
  declare readonly id: string
  declare readonly observer: StorageObserver
  declare readonly entry: KeptEntry
  declare readonly journal: Journal

  constructor(entry: KeptEntry, journal: Journal) {
    this.id = entry.id
    this.observer = this
    this.entry = entry
    this.journal = journal
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
        return new RecordedUpstream(upstream, recording)
      },
      get cards() {
        return cards && new RecordedCards(cards, recording)
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
