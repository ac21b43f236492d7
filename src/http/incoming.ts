import type { Evidence } from '../base/evidence.js'
import type { BodySource } from './fields/body.js'
import type { Route, Version } from './route.js'

/** A route under one of its version prefixes. */
export interface Endpoint {
  readonly route: Route
  readonly version: Version | undefined
  readonly path: string
  readonly evidence: Evidence
}

/** Headers as they are looked up. */
export interface RequestHeaders extends Pick<Headers, 'get' | 'has'> {
  keys(): Iterable<string>
}

/** What a runtime tells of a request beside the request itself. */
export interface FetchSource extends BodySource {
  /** Of the connection's other end: empty where it is unknown, absent where the request came over no network. */
  readonly peerAddress?: string | undefined
  /** The class that answers are made of; the global one where absent. */
  readonly Response?: typeof Response
  /** Fires when the runtime wants to end: answers that would go on for ever come to an end then. */
  readonly ending?: AbortSignal
  /** The service's own address of what is asked for, where the request names another that stands for it. */
  readonly url?: string
  /** All headers, where the request hides some: to a script, a browser shows neither Cookie nor Origin. */
  readonly headers?: RequestHeaders
}

/** A request on its way: itty-router sets `params` and `query`, authentication the session. */
export interface Incoming {
  /** As it is routed: a HEAD is a GET. */
  readonly method: string
  /** Without the path of the service's base. */
  readonly url: string
  readonly path: string
  readonly request: Request
  readonly headers: RequestHeaders
  readonly source: FetchSource
  params: Record<string, string>
  query: Record<string, string | string[]>
  endpoint: Endpoint | undefined
  /** The session that the answer repeats; null ends it. */
  session: string | null | undefined
  issued: boolean
  /** It came with an Idempotency-Key that counts. */
  isKeyed: boolean
}
