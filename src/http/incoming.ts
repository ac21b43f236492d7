import type { Evidence } from '../base/evidence.js'
import type { BodySource } from './fields/body.js'
import type { RequestRecording } from './recorder.js'
import type { Principal, Route, Version } from './route.js'

/** A route under one of its version prefixes. */
export interface Endpoint {
  readonly route: Route
  readonly version: Version | undefined
  readonly path: string
  readonly evidence: Evidence
  /** Its id and version: `createPayment v4`. Only the id without a version. */
  readonly name: string
  /** Whether strict mode checks its grade. */
  readonly isGraded: boolean
  /** Whether its callers may have a session. */
  readonly takesSession: boolean
  /** Whether its body may hold an access token (RFC 6750 section 2.2). */
  readonly takesFormToken: boolean
}

/** The headers of a request. */
export interface RequestHeaders extends Pick<Headers, 'get' | 'has'> {
  keys(): Iterable<string>
}

/** Where work comes from. */
export type Origin = 'http' | 'in_process' | 'worker' | 'msw' | 'timer' | 'delivery' | 'page' | 'mcp'

/** What a runtime knows about a request in addition to the `Request`. */
export interface FetchSource extends BodySource {
  /** The address of the connection's other end. Empty: unknown. Absent: the request did not come over a network. */
  readonly peerAddress?: string | undefined
  /** Whether callers can send a body with GET. In strict modes they must, where the interface shows it. */
  readonly takesGetBody?: boolean
  /** The class of the answers. Default: the global `Response`. */
  readonly Response?: typeof Response
  /** Where the request comes from. Default: `http` or `in_process`. */
  readonly origin?: Origin
  /** The `X-Request-ID` of the answer to the request that this one repeats. */
  readonly causedBy?: string
  /** Fires when the runtime wants to end, so that endless streams end. */
  readonly ending?: AbortSignal
  /** The URL of the call below the service's base URL, if the request has a URL that stands for it. */
  readonly url?: string
  /** All headers, if the `Request` hides some. Browsers hide Cookie and Origin from scripts. */
  readonly headers?: RequestHeaders
}

/** A source whose caller may abort the request: a streamed answer ends with the reason. */
export interface AbortableSource extends FetchSource {
  readonly signal?: AbortSignal
}

/** A request in progress. The router sets `params`, and authentication sets the session. */
export interface Incoming {
  /** The method for routing: GET for a HEAD request. */
  readonly method: string
  /** The URL without the path of the service's base URL. */
  readonly url: string
  readonly path: string
  readonly request: Request
  readonly headers: RequestHeaders
  readonly source: AbortableSource
  /** The address that called. Undefined: unknown, or not from a network. */
  readonly clientAddress: string | undefined
  params: Record<string, string>
  /** With its question mark. Empty if there is none. */
  readonly query: string
  endpoint: Endpoint | undefined
  /** Who calls. Undefined before authentication. */
  principal: Principal | undefined
  /** Learns of this request. Undefined if nobody wants to know. */
  recording: RequestRecording | undefined
  /** The session id that the answer repeats. Null signs the caller out. */
  session: string | null | undefined
  issued: boolean
  /** Whether the session follows from the request and nothing belongs to it yet. A refusal does not name it. */
  isWithheld: boolean
  /** The user who signed in by a code in this browser, if its cookie names their session. */
  provenUser: number | undefined
  /** Whether its Idempotency-Key is used. */
  isKeyed: boolean
  /** The weakest grade of fields that this call may send and see. */
  leastEvidence: Evidence
  /** When it began, in milliseconds of a clock that only goes forward. 0 if nobody measures it. */
  began: number
  /** How long it took, in milliseconds, once it has ended. 0 if nobody measures it. */
  ms: number
}
