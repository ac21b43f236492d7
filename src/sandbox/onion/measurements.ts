import type { Incoming } from '../../http/incoming.js'
import type { RenderedAnswer } from '../../http/rendered-answer.js'
import type { CommitRecord } from '../../storage/transaction.js'

/** The longest duration that each bucket counts, in seconds. One more bucket counts what takes longer. */
export const DURATIONS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** What the requests of one operation came to. */
export interface MeasuredOperation {
  /** How many were answered with each status. 0 stands for an answer that a fault dropped. */
  readonly statuses: Map<number, number>
  /** How many took as long as each bucket counts. */
  readonly buckets: number[]
  seconds: number
  streams: number
}

/** The result of an audit of the ledger. */
export interface MeasuredAudit {
  readonly ok: boolean
  readonly movements: number
  /** When it ended, in Unix milliseconds of the real clock. */
  readonly at: number
  /** How long it took, in milliseconds. */
  readonly ms: number
}

/** What a sandbox counts in this process since its start. `GET /metrics` shows it. */
export class Measurements {
  /** By operation id. `none` stands for requests that reach no operation. */
  readonly operations = new Map<string, MeasuredOperation>()
  commits = 0
  /** How often the body of a write ran again. */
  reruns = 0
  /** The last audit of the ledger. Undefined before the first one. */
  audit: MeasuredAudit | undefined

  /** `startedAt`: in Unix milliseconds of the real clock. */
  constructor(readonly startedAt: number) {}

  /** Counts a request that has ended. Returns its answer. If that is an event stream, it counts as open until it ends. */
  count<A extends RenderedAnswer | undefined>({ endpoint, ms }: Pick<Incoming, 'endpoint' | 'ms'>, answer: A): A {
    const id = endpoint?.route.id ?? 'none'
    const status = answer?.status ?? DROPPED
    let measured = this.operations.get(id)
    if (!measured) {
      measured = { statuses: new Map(), buckets: Array(DURATIONS.length + 1).fill(0), seconds: 0, streams: 0 }
      this.operations.set(id, measured)
    }
    const seconds = ms / 1000
    let bucket = 0
    while (seconds > (DURATIONS[bucket] ?? Number.POSITIVE_INFINITY)) bucket++
    measured.statuses.set(status, (measured.statuses.get(status) ?? 0) + 1)
    measured.buckets[bucket] = (measured.buckets[bucket] ?? 0) + 1
    measured.seconds += seconds
    const isEventStream =
      answer?.body instanceof ReadableStream && answer.headers['content-type']?.startsWith('text/event-stream')
    return isEventStream ? { ...answer, body: followed(answer.body, measured) } : answer
  }

  countWrite({ writes, retries }: CommitRecord): void {
    if (writes > 0) this.commits++
    this.reruns += retries
  }
}

const DROPPED = 0

/** A stream that counts as open until it ends, fails or is cancelled. Reads only on demand. */
function followed(body: ReadableStream<Uint8Array>, measured: MeasuredOperation): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let isOpen = true
  const end = () => {
    if (isOpen) measured.streams--
    isOpen = false
  }
  measured.streams++
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!isOpen) return
          if (!done) return controller.enqueue(value)
          end()
          controller.close()
        } catch (error) {
          end()
          throw error
        }
      },
      cancel(reason) {
        end()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
