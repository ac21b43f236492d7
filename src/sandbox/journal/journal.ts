import { withoutUndefined } from '../../base/json.js'
import type { ServiceContext } from '../../http/context.js'
import type { Incoming } from '../../http/incoming.js'
import { isProbe } from '../../http/probes/paths.js'
import type { BackgroundWork, LaterMessage, Recorder, RequestRecording, WorkRecording } from '../../http/recorder.js'
import type { History } from '../../storage/history/history.js'
import type { Entry } from '../onion/entry.js'
import type { Faults } from '../onion/fault.js'
import { KeptEntry } from './kept-entry.js'
import { CauseIndex, EntryRecording, RecordedRequest, RecordedWork } from './recording.js'

/** How much the journal keeps. */
export interface JournalLimits {
  /** Default: 10,000. */
  readonly entries: number
  /** Default: 64 MB. */
  readonly bytes: number
}

const DEFAULT_LIMITS: JournalLimits = { entries: 10_000, bytes: 64_000_000 }

/** How many entries may have begun since an event, at most, when it is handed to webhooks. */
const MOST_BEHIND = 1000

/** Which entries to return. */
export interface EntryFilter {
  readonly operation_id?: string | undefined
  readonly status?: number | undefined
  readonly principal?: string | undefined
  /** A text in the path, the bodies, the code or the id. */
  readonly q?: string | undefined
  /** A W3C trace id. */
  readonly trace?: string | undefined
}

/** What runs the journal. */
interface JournalService extends Pick<ServiceContext, 'clock' | 'instance'> {
  readonly history: Pick<History, 'last' | 'forgetBefore'> | undefined
  /** They happen to the ports of what it records. */
  readonly faults?: Faults
}

/**
 * The journal of a sandbox: an entry for each request, timer and delivery. It is kept in this process, is no part of the
 * state, and forgets the oldest entries first.
 */
export class Journal implements Recorder {
  readonly limits: JournalLimits
  readonly causes: CauseIndex
  readonly faults: Faults | undefined
  readonly #service: JournalService
  readonly #prefix: string
  /** In the order in which they began, which is that of their numbers. Places before `#first` are empty. */
  #kept: (KeptEntry | undefined)[] = []
  #first = 0
  #bytes = 0
  #last = 0
  #dropped = 0
  readonly #listeners = new Set<(entry: KeptEntry) => void>()

  constructor(service: JournalService, limits: Partial<JournalLimits> = {}) {
    this.#service = service
    this.#prefix = `req_${service.instance}_`
    this.faults = service.faults
    this.limits = { ...DEFAULT_LIMITS, ...withoutUndefined(limits) }
    this.causes = new CauseIndex(this.limits.entries)
  }

  get size(): JournalLimits {
    return { entries: this.#kept.length - this.#first, bytes: this.#bytes }
  }

  /** How many entries it has forgotten because of its limits. */
  get dropped(): number {
    return this.#dropped
  }

  beginRequest(incoming: Incoming): RequestRecording | undefined {
    return isLeftOut(incoming) ? undefined : new RecordedRequest(this.#begin(), incoming, this)
  }

  beginWork(work: BackgroundWork): WorkRecording {
    return new RecordedWork(this.#begin(), work, this)
  }

  noteMessage(eventId: number, message: LaterMessage): void {
    const entry = this.#kept
      .slice(Math.max(this.#first, this.#kept.length - MOST_BEHIND))
      .findLast((each) => each?.hasCaused({ kind: 'event', id: eventId }))
    if (entry) new EntryRecording(entry, this).cause(message)
  }

  #begin(): KeptEntry {
    const { clock, history } = this.#service
    const entry = new KeptEntry(this.#prefix, ++this.#last, clock.now(), history?.last)
    this.#kept.push(entry)
    if (this.#kept.length - this.#first === 1) this.#forgetStates()
    this.#shrink()
    return entry
  }

  ended(entry: KeptEntry): void {
    entry.after = this.#service.history?.last
    if (this.#kept[this.#placeOfNumber(entry.number)] === entry) {
      this.#bytes += entry.measure()
      this.#shrink()
    }
    for (const listener of this.#listeners) listener(entry)
  }

  #shrink(): void {
    const { entries, bytes } = this.limits
    const first = this.#first
    for (let count = this.#kept.length - first; count > entries || (this.#bytes > bytes && count > 1); count--) {
      this.#bytes -= this.#kept[this.#first]?.bytes ?? 0
      this.#kept[this.#first++] = undefined
      this.#dropped++
    }
    if (this.#first === first) return
    this.#forgetStates()
    if (this.#first < 1024 || this.#first * 2 < this.#kept.length) return
    this.#kept = this.#kept.slice(this.#first)
    this.#first = 0
  }

  /** Nobody can return to a state before the first entry. */
  #forgetStates(): void {
    const before = this.#kept[this.#first]?.before
    if (before !== undefined) this.#service.history?.forgetBefore(before)
  }

  entry(id: string): KeptEntry | undefined {
    const place = this.#placeOf(id)
    return place === undefined ? undefined : this.#kept[place]
  }

  /** Entries that match, newest first, before the entry `after`. Undefined if that entry is gone. */
  find(filter: EntryFilter, { after, limit }: { after?: string | undefined; limit: number }): KeptEntry[] | undefined {
    const start = after === undefined ? this.#kept.length : this.#placeOf(after)
    if (start === undefined) return undefined
    const matches = matcher(filter)
    const found: KeptEntry[] = []
    for (let place = start - 1; place >= this.#first && found.length < limit; place--) {
      const entry = this.#kept[place]
      if (entry && matches(entry)) found.push(entry)
    }
    return found
  }

  /** Entries from one to another, both included, oldest first. Undefined if one of them is gone. */
  range(from: string, to: string): KeptEntry[] | undefined {
    const [start, end] = [this.#placeOf(from), this.#placeOf(to)]
    if (start === undefined || end === undefined) return undefined
    return this.#kept.slice(start, end + 1).filter((entry) => entry !== undefined)
  }

  /** Entries that began after this one and have ended, oldest first. All of them, if this one is gone. */
  since(id: string): KeptEntry[] {
    const kept = this.#kept.slice((this.#placeOf(id) ?? this.#first - 1) + 1)
    return kept.filter((entry) => entry !== undefined).filter(({ ms }) => ms !== null)
  }

  #placeOf(id: string): number | undefined {
    const place = this.#placeOfNumber(Number(id.slice(id.lastIndexOf('_') + 1)))
    return this.#kept[place]?.id === id ? place : undefined
  }

  #placeOfNumber = (number: number): number => this.#kept.length - 1 - (this.#last - number)

  /** Finds the newest entry before this one that fits. */
  findBefore(id: string): (fits: (entry: Entry) => boolean) => KeptEntry | undefined {
    const end = this.#placeOf(id) ?? this.#first
    return (fits) => this.#kept.slice(this.#first, end).findLast((entry) => entry !== undefined && fits(entry))
  }

  clear(): void {
    this.#kept = []
    this.#first = 0
    this.#bytes = 0
  }

  /** Calls back with each entry that ends. Returns a function that stops it. */
  listen(listener: (entry: KeptEntry) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

/** The journal of a service. Undefined if it keeps none. */
export const findJournal = ({ recorder }: Pick<ServiceContext, 'recorder'>): Journal | undefined =>
  (recorder?.all ?? [recorder]).find((each) => each instanceof Journal)

/** Who only looks would fill it: at the journal, rehearsals, whether the service is well, and tools such as the workbench at all else. */
const isLeftOut = ({ path, method, headers }: Incoming): boolean =>
  !path.startsWith('/v') &&
  (isProbe(path) ||
    (path.startsWith('/_sandbox/') &&
      (/^\/_sandbox\/(requests|rehearsals|health)(\/|$)/.test(path) ||
        (method === 'GET' && headers.has('x-farthing-tool')))))

export function matcher({ operation_id, status, principal, q, trace }: EntryFilter): (entry: Entry) => boolean {
  const text = q?.toLowerCase()
  return (entry) =>
    (operation_id === undefined || entry.operation_id === operation_id) &&
    (status === undefined || entry.status === status) &&
    (principal === undefined || entry.principal === principal) &&
    (trace === undefined || entry.trace === trace) &&
    (text === undefined || holds(entry, text))
}

function holds({ id, path, code, request, response, operation_id }: Entry, text: string): boolean {
  const parts = [id, path, code, operation_id, request.body, response.body]
  return parts.some((part) => part?.toLowerCase().includes(text))
}
