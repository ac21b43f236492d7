import type { Caller } from './caller.js'
import type { ServiceContext } from './context.js'
import type { Endpoint, Incoming } from './incoming.js'
import type { RenderedAnswer } from './rendered-answer.js'

/** What is around the requests of a service. A problem that it throws is the answer. */
export interface AroundRequests {
  /** Runs first. `started` waits for the start of the service. Resolves when it is to answer, or with an answer from elsewhere. */
  enter(
    incoming: Incoming,
    service: ServiceContext,
    started: (() => Promise<void>) | undefined,
  ): Promise<Response | undefined> | undefined
  /** The operation is known. */
  reach(endpoint: Endpoint): void
  /** Checks whether the caller may reach the operation at all. */
  guard(endpoint: Endpoint, incoming: Incoming): void
  /** Runs a decoded request, once or twice. Throws `AnswerDropped`. */
  run<R extends DecodedRequest>(request: R, run: (request: R) => Promise<RenderedAnswer>): Promise<RenderedAnswer>
  /** Takes the answer, and returns what to send. Undefined: it was dropped. */
  leave<A extends RenderedAnswer | undefined>(incoming: Incoming, answer: A): A
  /** Whether pages of this origin may read the answer (CORS). */
  mayRead(origin: string, incoming: Incoming): boolean
}

/** A request that is ready to run. */
export interface DecodedRequest {
  readonly endpoint: Endpoint
  readonly incoming: Incoming
  /** The fields of its body, as they were sent. */
  readonly body: Readonly<Record<string, unknown>>
  /** Authenticates it. */
  findCaller(): Promise<Caller>
}

/** The caller gets no answer, like from a connection that closes. */
export class AnswerDropped extends TypeError {
  override name = 'AnswerDropped'

  constructor(faultId: string) {
    super(`The fault "${faultId}" of this sandbox closed the connection.`)
  }
}
