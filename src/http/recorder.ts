import type { StorageObserver } from '../storage/service-storage.js'
import type { CommitRecord } from '../storage/transaction.js'
import type { ServiceContext } from './context.js'
import type { Incoming, Origin } from './incoming.js'
import type { RenderedAnswer } from './rendered-answer.js'

/** Work without a request. */
export interface BackgroundWork {
  readonly origin: Extract<Origin, 'timer' | 'delivery'>
  /** The kind of the timer or message. */
  readonly kind: string
  /** The id of the timer or message. */
  readonly id: number
  /** Called when it calls a port, which takes its own time. */
  onPort?(): void
}

/** Learns of requests, timers and deliveries: see `tracing/`, and a sandbox. */
export interface Recorder {
  /** The recorders of which it consists. Absent if it is one alone. */
  readonly all?: readonly Recorder[]
  /** Begins to record a request. Undefined for requests that it leaves out. */
  beginRequest(incoming: Incoming): RequestRecording | undefined
  /** Undefined for work that it leaves out. */
  beginWork(work: BackgroundWork): WorkRecording | undefined
  /** Notes a message that was written later because of an event: what caused the event caused it. */
  noteMessage(eventId: number, message: LaterMessage): void
}

/** A message to deliver. */
export interface LaterMessage {
  readonly kind: 'webhook'
  readonly id: number
}

/** What all recordings do. */
export interface Recording {
  /** What the answer calls the request. Undefined if nobody names it. */
  readonly id: string | undefined
  /** Records a read or a write of the storage as `over` would. Undefined: only `over` records it. */
  readonly observer?: StorageObserver | undefined
  /** The service as the recorded work uses it, so that its calls of the storage and of ports are recorded too. */
  over(service: ServiceContext): ServiceContext
  /** Notes a fault that happened to it. The last one counts. */
  noteFault(faultId: string): void
}

export interface RequestRecording extends Recording {
  /** Takes the request's body. */
  takeBody(body: Uint8Array | string): void
  /** `answer`: undefined if it was dropped. */
  end(incoming: Incoming, answer: RenderedAnswer | undefined): void
}

export interface WorkRecording extends Recording {
  /** `written`: the transaction that landed. `failure`: why the work failed. */
  end(outcome: { readonly written?: CommitRecord | undefined; readonly failure?: unknown }): void
}
