import { Problem, problem } from '../base/problem.js'
import { OutcomeUnknown, StorageUnavailable } from '../storage/storage.js'
import { repeatedSession } from './caller.js'
import type { ServiceContext } from './context.js'
import { setCorsHeaders } from './cors.js'
import type { Endpoint, Incoming } from './incoming.js'
import { isForeign, sessionCookieHeader } from './origin.js'
import { Reply } from './reply.js'

/** An answer ready to send. */
export interface RenderedAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null
}

/** A handler's value as an answer. */
export function render({ route }: Endpoint, handled: unknown, incoming: Incoming): RenderedAnswer {
  if (handled instanceof Reply && handled.session !== undefined) {
    incoming.session = handled.session
    incoming.issued = true
  }
  const own = handled instanceof Reply ? handled : undefined
  const body = own?.body === undefined ? JSON.stringify(own ? own.value : handled) : own.body
  const headers: Record<string, string> = { 'cache-control': route.shareable ? 'no-cache' : 'private, no-store' }
  if (body !== null) headers['content-type'] = 'application/json'
  if (own) Object.assign(headers, own.headers)
  return { status: own?.status ?? route.status ?? 200, headers, body }
}

/**
 * What a caller is told where something may have been done, and the answer to that is lost. `meanwhile` is what the call would have
 * answered by what it knew.
 */
export function unknownOutcome({ isKeyed }: Pick<Incoming, 'isKeyed'>, cause: unknown, meanwhile?: unknown): Problem {
  const detail = isKeyed
    ? 'Retry with the same Idempotency-Key: what was done is not done twice.'
    : 'No Idempotency-Key was sent: before you send this again, look at what it would have made, or at GET /v4/events.'
  const { fields = {}, headers: known = {} } = meanwhile instanceof Problem ? meanwhile : {}
  return problem('outcome_unknown', { detail, fields, headers: known, cause })
}

/** What was done is known: nothing, by a transaction that was undone. */
const failureOf = (error: unknown, route: Endpoint['route'] | undefined): Problem =>
  problem(error instanceof StorageUnavailable ? 'storage_unavailable' : (route?.failure ?? 'internal_error'), {
    cause: error,
  })

/** A problem as an answer; anything else is a defect or a broken port: logged, and shown without its cause. */
export function renderProblem(
  error: unknown,
  incoming: Pick<Incoming, 'endpoint' | 'headers' | 'isKeyed'>,
  { log }: Pick<ServiceContext, 'log'>,
): RenderedAnswer {
  const { endpoint, headers } = incoming
  const route = endpoint?.route
  if (!(error instanceof Problem)) log.error('a request failed', error)
  const isUnknown = error instanceof OutcomeUnknown
  const refused =
    error instanceof Problem ? error : isUnknown ? unknownOutcome(incoming, error) : failureOf(error, route)
  const shown = route?.refused?.(refused, headers)
  return {
    status: shown?.status ?? refused.status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'private, no-store',
      ...refused.headers,
      ...shown?.headers,
    },
    body: shown?.body ?? JSON.stringify(shown ? shown.value : refused.body),
  }
}

/** The one place where responses are made: it adds what every answer carries. */
export function toResponse(
  outcome: RenderedAnswer,
  incoming: Incoming,
  service: Pick<ServiceContext, 'baseUrl' | 'sandbox'>,
): Response {
  const { baseUrl } = service
  const { source, endpoint } = incoming
  const session = incoming.session === undefined ? repeatedSession(incoming, baseUrl) : incoming.session
  const { headers } = outcome
  setCorsHeaders(headers, incoming, service)
  headers['x-content-type-options'] = 'nosniff'
  if (endpoint) headers['x-evidence'] = endpoint.evidence
  if (session) headers['x-session-id'] = session
  // A page of another origin must not set what it may not read: it would sign its visitor in as somebody else.
  if (session !== undefined && incoming.issued && !isForeign(incoming, baseUrl))
    headers['set-cookie'] = sessionCookieHeader(session, baseUrl)
  const body = incoming.request.method === 'HEAD' ? dropBody(outcome.body) : outcome.body
  const ResponseClass = source.Response ?? Response
  return new ResponseClass(body, { status: outcome.status, headers })
}

function dropBody(body: RenderedAnswer['body']): null {
  if (body instanceof ReadableStream) void body.cancel()
  return null
}
