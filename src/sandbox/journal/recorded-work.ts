import { milliseconds } from '../../base/ports.js'
import type { ServiceContext } from '../../http/context.js'
import type { BackgroundWork, WorkRecording } from '../../http/recorder.js'
import { messageOf } from '../../storage/unknown.js'
import type { Effect } from '../onion/entry.js'
import type { Journal } from './journal.js'
import type { KeptEntry } from './kept-entry.js'
import { KeptMessage } from './kept-message.js'
import { EntryRecording } from './recording.js'

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
    const { mailer, push, cards, upstream } = own
    const called = <T>(answer: Promise<T>): Promise<T> => {
      work.onPort?.()
      return answer
    }
    return {
      ...own,
      mailer: { send: (mail) => called(mailer.send(mail)) },
      push: { send: (message) => called(push.send(message)) },
      upstream: { fetch: (request) => called(upstream.fetch(request)) },
      cards: cards && {
        ...(cards.testMethods && { testMethods: cards.testMethods }),
        save: (card) => cards.save(card),
        charge: (charge) => called(cards.charge(charge)),
        refund: (refund) => called(cards.refund(refund)),
      },
    }
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
      entry.answered = new KeptMessage('', messageOf(failure))
    }
    entry.stop(milliseconds() - this.#began)
    this.journal.ended(entry)
  }
}

/** Kinds of effects that are no rows of the outbox. */
const OTHER_ROWS: ReadonlySet<Effect['kind']> = new Set(['movement', 'event', 'timer', 'upstream', 'entry'])
